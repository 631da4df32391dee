"""Texts of which nothing is chosen yet: what it costs to open one, and what the best of its units add for that.

In a summary a text stands under a heading that says whose it is. All texts of a call share one, and it has the path or
the command of the call. So the first unit of a text costs more than itself, and brings what the others then cost less:
a text is opened for what the best of them add together.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from .candidates import Candidates

_TOGETHER: Final = 32
"""So many units of a text are looked at when it may be opened."""


class Texts:
    """All texts by their numbers: those that are closed, and what choosing a unit of each `costs` besides the unit."""

    def __init__(self, candidates: Candidates) -> None:
        self._openings = [stretch.opening for stretch in candidates.stretches]
        self._headings = candidates.headings
        self._closed: set[int] = set()
        self._under: dict[int, list[int]] = {}
        self._titles: dict[int, int] = {}
        self._orders: dict[int, array[int]] = {}
        self._passed: dict[int, int] = {}
        self.costs = [0] * len(self._openings)
        for number, opening in enumerate(self._openings):
            if opening is None:
                continue
            self._closed.add(number)
            self.costs[number] = opening.tokens + candidates.marker
            if opening.heading is not None:
                self.costs[number] += candidates.headings[opening.heading]
                self._under.setdefault(opening.heading, []).append(number)
                if opening.is_title:
                    self.costs[number] -= candidates.tokens[candidates.stretches[number].start]
                    self._titles[opening.heading] = number

    def is_closed(self, number: int) -> bool:
        return number in self._closed

    def order(self, number: int, units: array[int]) -> None:
        """Note the units of a text that begins closed, best first."""
        self._orders[number] = units
        self._passed[number] = 0

    def best(self, number: int, adds: Callable[[int], float]) -> Sequence[int]:
        """Units of a closed text that may be best: those that come first, without those at the front that add nothing.

        What a unit adds never grows, so nobody looks at those again.
        """
        order, passed = self._orders[number], self._passed[number]
        while passed < len(order) and adds(order[passed]) <= 0:
            passed += 1
        self._passed[number] = passed
        return order[passed : passed + _TOGETHER]

    def next(self, number: int) -> tuple[int | None, int | None]:
        """The next unit of an open text that began closed, and the one behind it."""
        passed = self._passed[number]
        self._passed[number] = passed + 1
        unit, following, *_ = *self._orders[number][passed : passed + 2], None, None
        return unit, following

    def rest(self, number: int) -> array[int]:
        """The units of a text that began closed which have not come up yet, best first."""
        return self._orders[number][self._passed[number] :]

    def title_above(self, number: int) -> int | None:
        """The text whose only unit comes with the heading of a closed text, where it is not there yet."""
        opening = self._openings[number]
        if opening is None or opening.heading not in self._under or opening.is_title:
            return None
        return self._titles.get(opening.heading)

    def open(self, number: int) -> list[int]:
        """Open a text that is closed; the others that cost less now, because their heading is there."""
        self._closed.remove(number)
        self.costs[number] = 0
        opening = self._openings[number]
        if opening is None or opening.heading is None:
            return []
        others = [other for other in self._under.pop(opening.heading, ()) if other in self._closed]
        for other in others:
            self.costs[other] -= self._headings[opening.heading]
        return others


def best_together(units: Iterable[tuple[float, int, int]], added: float, cost: int, marker: int) -> tuple[float, int]:
    """What units add for each token, the best of them taken together, and the one to begin with; 0 if none adds any.

    Of each unit what it adds, its tokens with those of a marker more, and its number; beside another it needs none.
    `added` and `cost` are what comes with the first.
    """
    taken: set[int] = set()
    ordered = sorted(((value / max(1, tokens), value, tokens, unit) for value, tokens, unit in units), reverse=True)
    best, first = 0.0, ordered[0][3] if ordered else -1
    for _, value, tokens, unit in ordered:
        added += value
        cost += tokens - marker * ((unit - 1 in taken) + (unit + 1 in taken))
        taken.add(unit)
        if added <= best * max(1, cost):
            break
        best = added / max(1, cost)
    return best, first
