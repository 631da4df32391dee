"""What the tools of the known agents do, and calls that are written as text."""
