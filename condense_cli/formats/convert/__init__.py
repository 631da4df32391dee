"""A conversation of any format as messages of an API."""
