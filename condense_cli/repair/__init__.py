"""Mend a broken session with the least change, and tell each one."""
