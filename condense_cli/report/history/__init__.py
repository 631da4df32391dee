"""The contents of a transcript by size, and the search for a block."""
