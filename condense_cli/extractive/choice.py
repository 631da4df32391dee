"""Choosing units by what they add for their tokens, one after the other, until a budget is spent.

What a unit adds is the value of its keys that no chosen unit covers yet, and a value of its own. What it costs are its
tokens and the change in markers: a unit beside a chosen one needs none, one that closes a gap saves one. So the choice
grows in spans. Values only shrink as others are chosen and costs only shrink beside what is chosen, so a queue with
values that are looked at again when they come up finds the best unit in logarithmic time.

Of a long conversation there are hundreds of thousands of units, so what is known of each stands in arrays.
"""

from __future__ import annotations

import heapq
from array import array
from collections.abc import Callable, Container, Iterable, Sequence
from itertools import repeat
from typing import Final

from msgspec import Struct

AGAIN: Final = 0.02
"""What a second mention is worth of a first; a third this much of that."""

_UNLIMITED: Final = 1 << 60

_REST: Final = 3
_SHARE: Final = 1_000
"""So many tokens, and such a part of the budget, are not worth looking for what fits into them."""

_SMALL_GAP: Final = 4
"""Gaps of so many units are closed where a marker costs as much as they do."""


_ROUNDS: Final = 6
"""So often more is chosen once the exact count of what was chosen is known."""

_SAME: Final = 0.999
"""A unit whose value shrank by less than this is taken as it comes."""

UNSIGNED: Final = "I"
"""The type of an array of numbers of units, or of tokens: four bytes each."""


class Stretch(Struct):
    """The units of one text as they are chosen from.

    `start` is the number of its first unit among all units; `gaps` are the units, counted from there, before which
    something is missing already, or the end; a stretch that `vanishes` leaves no marker while nothing of it is chosen;
    `opening` are the tokens that its first chosen unit costs besides.
    """

    start: int
    stop: int
    gaps: Container[int] = ()
    opening: int = 0
    vanishes: bool = False


class Candidates(Struct):
    """All units to choose from: tokens, values and keys by unit, weights by key, and the lines in pieces.

    Units that are `fixed` are chosen whatever the budget; of a line in pieces all are.
    """

    tokens: array[int]
    values: array[float]
    keys: list[tuple[int, ...]]
    weights: list[float]
    starts: array[int]
    stops: array[int]
    stretches: Sequence[Stretch]
    marker: int
    fixed: Sequence[int] = ()


class _Queue:
    """Units by their ratios, the best first, of equal ones the newest.

    All are sorted once, which takes a tenth of the memory of a heap; those that come back are in a heap.
    """

    def __init__(self, ratios: Iterable[float]) -> None:
        self._ratios = array("d", ratios)
        self._sorted = array(UNSIGNED, sorted(range(len(self._ratios)), key=self._ratios.__getitem__))
        self._again: list[tuple[float, int]] = []

    def push(self, ratio: float, unit: int) -> None:
        heapq.heappush(self._again, (-ratio, -unit))

    def pop(self) -> tuple[float, int] | None:
        """The best ratio with its unit; None at the end."""
        if self._sorted:
            unit = self._sorted[-1]
            ratio = self._ratios[unit]
            if not self._again or self._again[0] >= (-ratio, -unit):
                return ratio, self._sorted.pop()
        elif not self._again:
            return None
        negative, number = heapq.heappop(self._again)
        return -negative, -number


class Choice:
    """The units chosen so far. `spent` are their tokens, the markers that are needed included.

    `covered` counts for every key how often it is said, at first by what is not chosen from; choosing adds to it.
    """

    def __init__(self, candidates: Candidates, covered: list[int]) -> None:
        self.all = candidates
        size = len(candidates.tokens)
        self.kept = bytearray(size)
        self.spent = 0
        self._stretch_of = array(UNSIGNED)
        self._chosen_in = [0] * len(candidates.stretches)
        self.covered = covered
        self._taken: list[tuple[Sequence[int], int]] = []
        # Asked for at every look at a unit.
        self._values, self._keys, self._weights = candidates.values, candidates.keys, candidates.weights
        self._starts, self._stops = candidates.starts, candidates.stops
        for number, stretch in enumerate(candidates.stretches):
            self._stretch_of.extend(repeat(number, stretch.stop - stretch.start))
            if not stretch.vanishes:
                self.spent += candidates.marker
        self._queue = _Queue(map(self._ratio, range(size)))
        self._too_large: list[int] = []
        for unit in candidates.fixed:
            self._take((unit,), self._cost_of_one(unit, 0))
        self._taken.clear()  # So that nothing takes them back.

    def fill(self, budget: int | None, least: float = 0.0) -> None:
        """Choose the best units that fit, until the budget is spent but for a rest or none is left that fits.

        Those of which a token is worth less than `least` are left, whatever is free. Without a budget all others fit.
        """
        budget = _UNLIMITED if budget is None else budget
        queue, rest = self._queue, max(_REST, budget // _SHARE)
        for unit in self._too_large:
            queue.push(self._ratio(unit), unit)
        self._too_large = []
        while budget - self.spent > rest and (found := queue.pop()) is not None:
            before, unit = found
            if before <= 0:
                break  # What adds nothing, such as a blank line, is chosen only to close a gap; so is all that follows.
            if self.kept[unit]:
                continue
            value, cost = self._looked_at(unit)
            ratio = value / cost if cost > 1 else value
            if ratio < least or not ratio:
                continue
            if ratio < before * _SAME:
                queue.push(ratio, unit)
                continue
            if self.spent + cost > budget:
                self._too_large.append(unit)
                continue
            added = self._with_ends(unit)
            self._take(added, cost)
            for end in added if len(added) == 1 else (added[0], added[-1]):
                self._close_gap(end, -1)
                self._close_gap(end, 1)

    def undo(self, tokens: int) -> bool:
        """Take back the newest choices until so many tokens are free again; whether there was anything to take back."""
        target = self.spent - tokens
        had_any = bool(self._taken)
        while self._taken and self.spent > target:
            added, cost = self._taken.pop()
            self.spent -= cost
            for unit in added:
                self.kept[unit] = 0
                self._chosen_in[self._stretch_of[unit]] -= 1
                self._too_large.append(unit)
                for key in self.all.keys[unit]:
                    self.covered[key] -= 1
        return had_any

    def _ratio(self, unit: int) -> float:
        """What the unit adds for each token."""
        value, cost = self._looked_at(unit)
        return value / cost if cost > 1 else value

    def _looked_at(self, unit: int) -> tuple[float, int]:
        """What the unit adds, and its tokens with those of its line's ends; what adds nothing costs nothing."""
        value, weights, covered = self._values[unit], self._weights, self.covered
        for key in self._keys[unit]:
            times = covered[key]
            if not times:
                value += weights[key]
            elif times < 3:
                value += weights[key] * AGAIN**times
        if not value:
            return 0.0, 0
        is_whole_line = self._stops[unit] - self._starts[unit] == 1
        return value, self._cost_of_one(unit, 0) if is_whole_line else self._cost(self._with_ends(unit))

    def _with_ends(self, unit: int) -> Sequence[int]:
        """The unit, and of a line in pieces its two ends."""
        start, stop = self._starts[unit], self._stops[unit]
        if stop - start == 1:
            return (unit,)
        return sorted({end for end in (start, unit, stop - 1) if not self.kept[end]})

    def _cost(self, added: Sequence[int]) -> int:
        """Tokens of the units, and of the markers that come and go with them."""
        if len(added) == 1:
            return self._cost_of_one(added[0], 0)
        cost = 0
        for number, unit in enumerate(added):
            cost += self._cost_of_one(unit, number)
            self.kept[unit] = 1
        for unit in added:
            self.kept[unit] = 0
        return cost

    def _cost_of_one(self, unit: int, others: int) -> int:
        number = self._stretch_of[unit]
        stretch = self.all.stretches[number]
        kept, start = self.kept, stretch.start
        is_after_gap = unit > start and not kept[unit - 1]
        is_before_gap = unit + 1 < stretch.stop and not kept[unit + 1]
        if gaps := stretch.gaps:
            is_after_gap = is_after_gap or unit - start in gaps
            is_before_gap = is_before_gap or unit - start + 1 in gaps
        markers = is_after_gap + is_before_gap
        cost = self.all.tokens[unit]
        if stretch.vanishes and not self._chosen_in[number] and not others:
            return cost + stretch.opening + markers * self.all.marker
        return cost + (markers - 1) * self.all.marker

    def _take(self, added: Sequence[int], cost: int) -> None:
        self.spent += cost
        self._taken.append((added, cost))
        for unit in added:
            self.kept[unit] = 1
            self._chosen_in[self._stretch_of[unit]] += 1
            for key in self.all.keys[unit]:
                self.covered[key] += 1
        for unit in (added[0] - 1, added[-1] + 1):
            if 0 <= unit < len(self.kept) and not self.kept[unit]:
                self._queue.push(self._ratio(unit), unit)

    def _close_gap(self, unit: int, direction: int) -> None:
        """Choose the few units between a chosen one and the next, or an end, where they cost no more than a marker."""
        stretch = self.all.stretches[self._stretch_of[unit]]
        found: list[int] = []
        tokens = 0
        while True:
            if (unit if direction < 0 else unit + 1) - stretch.start in stretch.gaps:
                return
            unit += direction
            if not stretch.start <= unit < stretch.stop or self.kept[unit]:
                break
            found.append(unit)
            tokens += self.all.tokens[unit]
            if tokens > self.all.marker or len(found) > _SMALL_GAP:
                return
        if found:
            self._take(sorted(found), tokens - self.all.marker)


def fit(choice: Choice, budget: int, measure: Callable[[], int]) -> None:
    """Choose as much as the budget allows by exact count: `measure` counts the texts as chosen at that moment.

    The tokens of single lines add up to a little more than those of the text, so what is left over is spent again.
    """
    limit, excess = budget, 0
    for _ in range(_ROUNDS):
        before = choice.spent
        choice.fill(limit)
        excess = measure() - budget
        if excess > 0 or (choice.spent == before and limit != budget) or -excess <= max(_REST, budget // _SHARE):
            break
        limit = choice.spent - excess
    while excess > 0 and choice.undo(excess):
        excess = measure() - budget
