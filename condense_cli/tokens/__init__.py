"""Count tokens, estimate those of a model from ours, and read models' names."""
