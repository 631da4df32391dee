"""Sessions of opencode, exported and as events."""
