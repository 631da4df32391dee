"""One `condense run`: its options, what they come to, where it writes, and what it tells."""
