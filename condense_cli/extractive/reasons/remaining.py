"""Which lines of a text are still in what a cut left of it."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from ...core.markers import ELLIPSIS, Gap
from ..units import Units


def lines_of(units: Units) -> list[str]:
    """The lines of a text as its units make them up, without markers; of one that was cut inside, what is left."""
    return ["".join(units.texts[start:stop]) for start, stop in _bounds(units)]


def unit_lines(units: Units) -> list[int]:
    """For every unit the number of its line among `lines_of`."""
    return [number for number, (start, stop) in enumerate(_bounds(units)) for _ in range(start, stop)]


def which_remain(before: Units, after: Units) -> list[bool] | None:
    """For every line of a text whether it is in what was left of it, in whole or in part.

    None where that is no cut version of the text.
    """
    old, bare = lines_of(before), lines_of(replace(before, texts=before.bodies))
    remain = [False] * len(old)
    position = 0
    for (start, _), line in zip(_bounds(after), lines_of(after), strict=True):
        if not before.gaps:  # Equal lines are told apart by how many are missing before them.
            position += after.gaps.get(start, Gap("")).lines
        while position < len(old) and not (_is_rest_of(line, old[position]) or line == bare[position]):
            position += 1
        if position >= len(old):
            return None
        remain[position] = True
        position += 1
    return remain


def _bounds(units: Units) -> Iterator[tuple[int, int]]:
    start = 0
    while start < len(units.texts):
        stop = max(units.stops[start], start + 1)
        yield start, stop
        start = stop


def _is_rest_of(line: str, old: str) -> bool:
    """Whether a line is the older one, or its two ends with a gap between them."""
    if line == old:
        return True
    head, found, _ = line.partition(ELLIPSIS)
    return bool(found) and old.startswith(head) and old.endswith(line.rpartition(ELLIPSIS)[2])
