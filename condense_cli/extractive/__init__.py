"""Summaries without a model: which lines of a conversation later work needs, and the rest left out."""
