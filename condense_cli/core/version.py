"""Version of the program, for reports and caches."""

__version__ = "0.2.0"
