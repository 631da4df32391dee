"""Sessions of pi, which form a tree."""
