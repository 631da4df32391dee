"""What the tools of the known agents do and how it ended, and calls that are written as text."""
