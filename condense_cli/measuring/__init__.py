"""Configurations on many transcripts: what they would save, what they keep of what later work needs, side by side."""
