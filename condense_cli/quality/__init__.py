"""Measure how much of what a conversation later needs is still there after condensing."""
