"""Sessions of Copilot CLI."""
