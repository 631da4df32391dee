"""Numbers of a row seen with their neighbours: means and greatest ones, at a cost that the reach hardly changes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate


def means(numbers: Sequence[float], reach: int) -> list[float]:
    """For every number the mean of those at most so many places away, itself included."""
    sums = [0.0, *accumulate(numbers)]
    size, width = len(numbers), 2 * reach + 1
    if size < width:
        return [_mean(sums, max(0, place - reach), min(size, place + reach + 1)) for place in range(size)]
    return [
        *(_mean(sums, 0, stop) for stop in range(reach + 1, width)),
        *[(after - before) / width for before, after in zip(sums, sums[width:], strict=False)],
        *(_mean(sums, start, size) for start in range(size - width + 1, size - reach)),
    ]


def _mean(sums: Sequence[float], start: int, stop: int) -> float:
    return (sums[stop] - sums[start]) / (stop - start)


def highest(numbers: Sequence[float], reach: int) -> list[float]:
    """For every number the greatest of those at most so many places away, itself included."""
    # Windows of places beyond both ends count too: they reach into the row.
    reach = min(reach, len(numbers))
    beyond = [float("-inf")] * reach
    found = [*beyond, *numbers, *beyond]
    done = 0
    # Windows double: the greatest of two that overlap, or touch, is that of both together.
    while done < reach:
        step = min(reach - done, 2 * done + 1)
        padded = [*[float("-inf")] * step, *found, *[float("-inf")] * step]
        found = list(map(max, padded, found, padded[2 * step :]))
        done += step
    return found[reach : reach + len(numbers)]
