"""The difference between two transcripts."""
