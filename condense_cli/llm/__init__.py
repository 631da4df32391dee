"""Summaries written by a model: prompts, calls, budget, cache, redaction."""
