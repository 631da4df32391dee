"""The conversation as a strip: a column for each message, or for a few in a row, as high as its tokens."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from msgspec import Struct

FULL, CUT, CURSOR = "█", "░", "▲"


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
    lines = []
    for row in range(height, 0, -1):
        least = largest * (row - 1) / height
        lines.append("".join(_cell(column, least, row == 1) for column in found))
    return [*lines, "".join(CURSOR if column.is_current else " " for column in found)]


def _cell(column: Column, least: float, is_lowest: bool) -> str:
    """What a column shows from so many tokens on. In the lowest row anything that is there shows."""
    if column.after > least or (is_lowest and column.after):
        return FULL
    return CUT if column.before > least else " "
