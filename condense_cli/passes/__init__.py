"""Passes: which blocks may change (selection), what happens to them (operations), in which order (pipeline)."""
