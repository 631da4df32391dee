"""Measure a conversation against its model's context window, and decide whether to condense it."""
