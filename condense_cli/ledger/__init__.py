"""What was done in a stretch of conversation, taken from its tool calls mechanically."""
