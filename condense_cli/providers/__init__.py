"""Providers: named strategies, each of which turns its configuration into a run of the pipeline."""
