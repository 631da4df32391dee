"""A run as one HTML page that needs nothing else: its data, template, style and script. Imported only with --html."""
