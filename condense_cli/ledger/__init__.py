"""Ledgers: what was done in a stretch of conversation, from its tool calls; and the recap written from them."""
