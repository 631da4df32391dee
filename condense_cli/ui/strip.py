"""The conversation as a strip: a column for each message, or for a few in a row, as high as its tokens."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from msgspec import Struct

KEPT: Final = " ▁▂▃▄▅▆▇█"
"""A cell by how many eighths of it are kept."""
CUT, PARTLY, CURSOR = "░", "▒", "▲"


class Column(Struct, frozen=True):
    """A column of the strip: tokens before and after of its messages, and whether the cursor is on one of them."""

    before: int
    after: int
    is_current: bool


def columns(sizes: Sequence[tuple[int, int]], width: int, current: int) -> list[Column]:
    """The messages, given by their tokens before and after, in at most so many columns, which share them evenly."""
    number = min(len(sizes), max(1, width))
    edges = [len(sizes) * place // number for place in range(number + 1)] if number else []
    found = []
    for start, end in pairwise(edges):
        before, after = (sum(size[side] for size in sizes[start:end]) for side in (0, 1))
        found.append(Column(before, after, start <= current < end))
    return found


def strip_lines(found: Sequence[Column], height: int) -> list[str]:
    """Lines of `height` rows and one for the cursor: what stays is solid, what goes is shaded."""
    largest = max((max(column.before, column.after) for column in found), default=0) or 1
    share = largest / height
    lines = ["".join(_cell(column, row * share, share) for column in found) for row in reversed(range(height))]
    return [*lines, "".join(CURSOR if column.is_current else " " for column in found)]


def _cell(column: Column, least: float, share: float) -> str:
    """The cell of a column from so many tokens on, for a share of them. In the lowest row anything shows."""
    kept, before = (_eighths(tokens - least, share) for tokens in (column.after, column.before))
    if not least:
        kept, before = max(kept, int(column.after > 0)), max(before, int(column.before > 0))
    if before > kept:
        return PARTLY if kept else CUT
    return KEPT[kept]


def _eighths(tokens: float, share: float) -> int:
    return min(8, max(0, round(8 * tokens / share)))
