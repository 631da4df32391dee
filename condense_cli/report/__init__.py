"""Reports: facts once, then as JSON or on a terminal; and the difference between two transcripts."""
