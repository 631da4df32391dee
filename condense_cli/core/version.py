"""The version of the program, which reports and caches name."""

__version__ = "0.2.0"
