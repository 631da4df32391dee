"""Chats of Gemini CLI, as one object and as a log."""
