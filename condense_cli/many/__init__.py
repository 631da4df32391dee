"""Many transcripts in one run: which files, where each is written, and what an earlier run did already."""
