"""Counts with their nouns: 1 file, 1,204 files."""

from __future__ import annotations


def plural(number: int, noun: str, several: str = "") -> str:
    """The number with its noun; `several` is the noun's plural where that is not made with an s."""
    return f"{number:,} {noun if number == 1 else several or noun + 's'}"
