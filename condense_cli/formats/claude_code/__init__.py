"""Sessions of Claude Code: which records the client sends, and how a file is written that it resumes."""
