"""Row sets: files of many conversations, each a row of its own (see docs/rows.md)."""
