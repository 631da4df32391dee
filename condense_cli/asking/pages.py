"""Long texts in answers of a bounded length."""

from __future__ import annotations

from typing import Final

MOST: Final = 12_000
"""Characters of an answer: some 3,000 tokens, of which no client takes anything away."""
LONGEST_LINE: Final = 2_000


def page(text: str, first_line: int = 1) -> str:
    """As many lines as fit, from one on, counted from 1; what is missing is said, and how to ask for it."""
    lines = text.split("\n")
    start = min(max(first_line, 1), len(lines)) - 1
    kept: list[str] = []
    size = 0
    for line in lines[start:]:
        shown = cut(line, LONGEST_LINE)
        size += len(shown) + 1
        if kept and size > MOST:
            break
        kept.append(shown)
    end = start + len(kept)
    missing = f"[lines {start + 1:,} to {end:,} of {len(lines):,}"
    if end < len(lines):
        return "\n".join([*kept, f"{missing}; continue with first_line={end + 1}]"])
    return "\n".join([*kept, f"{missing}]"]) if start else "\n".join(kept)


def cut(line: str, longest: int) -> str:
    return line if len(line) <= longest else f"{line[:longest]}… ({len(line):,} characters)"
