"""Data sets: one conversation per row (docs/rows.md)."""
