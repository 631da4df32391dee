"""Choose units by what they add for their tokens, one after the other, until a budget is spent.

In a summary a text is under a heading that says whose it is. All texts of a call share one, and it has the path or
the command of the call. So the first unit of a text costs more than itself, and brings what the others then cost less:
a text is opened for what the best of them add together.

What a unit adds is the value of its keys that no chosen unit covers yet, and a value of its own. What it costs are its
tokens and the change in markers: a unit beside a chosen one needs none, one that closes a gap saves one. So the choice
grows in spans. Values only shrink as others are chosen and costs only shrink beside what is chosen, so a queue with
values that are looked at again when they come up finds the best unit in logarithmic time. Texts of which nothing is
chosen, and which leave no marker, wait in it as a whole (`opening`).

Of a long conversation there are hundreds of thousands of units, so what is known of each is in arrays, and is kept
up to date beside each choice: a unit is looked at far more often than one is chosen.
"""

from __future__ import annotations

import heapq
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from math import inf
from typing import Final

from msgspec import Struct

AGAIN: Final = 0.02
"""What a second mention is worth of a first; a third this much of that."""
_OF_FIRST: Final = (1.0, AGAIN, AGAIN**2)
_HEARD: Final = len(_OF_FIRST)
"""What is said so often adds nothing any more."""


class Coverage:
    """By key how often it is `said`, and what one more mention `gains`; `weights` are what a first one is worth."""

    def __init__(self, weights: array[float], said: array[int], gains: array[float]) -> None:
        self.weights, self.said, self.gains = weights, said, gains

    @classmethod
    def of(cls, weights: Iterable[float]) -> Coverage:
        """Nothing is said yet."""
        weights = array("d", weights)
        return cls(weights, array("I", bytes(4 * len(weights))), weights[:])

    def copy(self) -> Coverage:
        """The same, to be added to for itself."""
        return Coverage(self.weights, self.said[:], self.gains[:])

    def add(self, keys: Sequence[int]) -> None:
        """Say what a unit says."""
        said, gains, weights = self.said, self.gains, self.weights
        for key in keys:
            said[key] = times = said[key] + 1
            gains[key] = weights[key] * _OF_FIRST[times] if times < _HEARD else 0.0

    def take_back(self, keys: Sequence[int]) -> None:
        """Say no longer what a unit said."""
        said, gains, weights = self.said, self.gains, self.weights
        for key in keys:
            said[key] = times = said[key] - 1
            gains[key] = weights[key] * _OF_FIRST[times] if times < _HEARD else 0.0


UNLIMITED: Final = 1 << 60

UNSIGNED: Final = "I"
"""The type of an array of numbers of units, or of tokens: four bytes each."""


class Opening(Struct, frozen=True):
    """Costs of a text besides its units once one is chosen; without any it leaves no marker.

    `tokens` are its own, such as those of a label; `heading` is the number of the heading above it, maybe
    with others. The only unit of a text that `is_title` is in the heading.
    """

    tokens: int = 0
    heading: int | None = None
    is_title: bool = False


class Stretch(Struct):
    """The units of one text as they are chosen from.

    `start` is the number of its first unit among all units; `gaps` are the units, counted from there, before which
    something is missing already, or the end; one with an `opening` leaves no marker while nothing of it is chosen.
    """

    start: int
    stop: int
    gaps: Collection[int] = ()
    opening: Opening | None = None


class Candidates(Struct):
    """All units to choose from: tokens, values and keys by unit. `headings` are the tokens of those above stretches.

    `pieces` are the first unit of its line, and the one behind its last, by each unit that is a piece of one. Units
    that are `fixed` are chosen whatever the budget; of a line in pieces all are.
    """

    tokens: array[int]
    values: array[float]
    keys: Sequence[tuple[int, ...]]
    stretches: Sequence[Stretch]
    marker: int
    pieces: Mapping[int, tuple[int, int]] = {}
    fixed: Sequence[int] = ()
    lines: int = UNLIMITED
    headings: Sequence[int] = ()


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
    """Return the value that the best units together add per token, and the one to begin with; 0 if none adds any.

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


REST: Final = 3
SHARE: Final = 1_000
"""So many tokens, and such a part of the budget, are not worth looking for what fits into them."""

_SMALL_GAP: Final = 4
_BESIDE_LINES: Final = 2
_BESIDE_ROWS: Final = 4
_ROW: Final = 5
"""Gaps of so many units are closed where they cost no more than a marker. Edits take lines in a row, so with a budget
it may be more beside a line that one may have to match: so many markers, and so many where so many are in a row."""

_CLOSING: Final = 3
"""A unit behind a row that says nothing, as a bracket does, comes with it where it takes no more tokens: edits end on
such lines."""

_SAME: Final = 0.999
_SAME_TEXT: Final = 0.98
"""A unit whose value shrank by less than this is taken as it comes, and so is the best of a closed text."""

_EDGE, _MISSING_BEFORE, _MISSING_BEHIND = 1, 2, 4
"""What is at the left of a unit: the beginning of its stretch; lines that are missing there already; such at the end
of the stretch before."""


class Choice:
    """The units chosen so far. `spent` are their tokens, the markers that are needed included.

    `covered` is at first what is said by what is not chosen from; choosing adds to it. Units of which a token is worth
    less than `least` are left, whatever is free.
    """

    def __init__(self, candidates: Candidates, covered: Coverage, least: float = 0.0) -> None:
        self.all = candidates
        size = len(candidates.tokens)
        self.kept = bytearray(size)
        self.spent = 0
        self.covered = covered
        self.density = inf
        """The value that the newest choice added per token; infinite before the first."""
        self._least = least
        self._left = bytearray(size)
        """What is at the left of each unit, and of the end."""
        self._left.append(_EDGE)
        self._costs = array("i", map(candidates.marker.__add__, candidates.tokens))
        """Tokens of each unit, with a marker more or less for what is beside it."""
        self._stretch_of = array(UNSIGNED)
        self._first = [0] * len(candidates.stretches)
        """What a unit costs besides that is the first to be chosen of its stretch; 0 once one is."""
        for number, stretch in enumerate(candidates.stretches):
            self._stretch_of.extend(repeat(number, stretch.stop - stretch.start))
            self._bound(stretch)
            if stretch.opening is None:
                self.spent += candidates.marker
        self._taken: list[tuple[Sequence[int], int]] = []
        self._too_large: list[int] = []
        self._ratios = ratios = array("d", map(self._ratio, range(size)))
        """What each unit added for each token at first, in an open text."""
        self._again: list[tuple[float, int]] = []
        """Units that came up before and, behind all units, stretches of which nothing was chosen at first."""
        self._texts = Texts(candidates)
        self._first = self._texts.costs
        # All are sorted once, which takes a tenth of the memory of a heap; those that come back are in a heap.
        open_units: list[int] = []
        for number, stretch in enumerate(candidates.stretches):
            units = range(stretch.start, stretch.stop)
            if stretch.opening is None:
                # What adds nothing, such as a blank line, is chosen only to close a gap. Pieces of a line cost less
                # once its ends are chosen, so they wait whatever a token of them is worth.
                open_units += (
                    unit
                    for unit in units
                    if ratios[unit] > 0 and (ratios[unit] >= self._least or unit in candidates.pieces)
                )
            else:
                worth_it = sorted((unit for unit in units if ratios[unit] > 0), key=ratios.__getitem__, reverse=True)
                self._texts.order(number, array(UNSIGNED, worth_it))
                self._push_text(number)
        self._sorted = array(UNSIGNED, sorted(open_units, key=ratios.__getitem__))
        for unit in candidates.fixed:
            self._take((unit,), self._cost((unit,)))
        self._taken.clear()  # So that nothing takes them back.

    def _bound(self, stretch: Stretch) -> None:
        """Note where a stretch begins and ends, and what is missing in it already."""
        start, stop, left, costs, marker = stretch.start, stretch.stop, self._left, self._costs, self.all.marker
        left[start] |= _EDGE
        if start == stop:
            return
        costs[start] -= marker
        costs[stop - 1] -= marker
        for gap in stretch.gaps:
            if gap == 0:
                costs[start] += marker
            if start + gap == stop:
                costs[stop - 1] += marker
                left[stop] |= _MISSING_BEHIND
            else:
                left[start + gap] |= _MISSING_BEFORE

    def fill(self, budget: int | None) -> None:
        """Choose the best units that fit, until the budget of tokens is spent but for a rest or none is left that fits.

        Without a budget all fit.
        """
        budget = UNLIMITED if budget is None else budget
        rest, least = max(REST, budget // SHARE), self._least
        for number in {number for unit in self._too_large if self._texts.is_closed(number := self._stretch_of[unit])}:
            self._push_text(number)
        for unit in self._too_large:
            self._push(self._ratio(unit), unit)
        self._too_large = []
        # What each unit is asked for, and again each time it comes up, is looked up here as far as possible.
        queue, again, ratios, kept, pieces = self._sorted, self._again, self._ratios, self.kept, self.all.pieces
        values, keys, gains, costs = self.all.values, self.all.keys, self.covered.gains, self._costs
        first, stretch_of, size = self._first, self._stretch_of, len(kept)
        while budget - self.spent > rest:
            if queue:
                unit = queue[-1]
                before = ratios[unit]
                if again and again[0] < (-before, -unit):
                    before, unit = heapq.heappop(again)
                    before, unit = -before, -unit
                else:
                    queue.pop()
            elif again:
                before, unit = heapq.heappop(again)
                before, unit = -before, -unit
            else:
                return
            is_best = unit >= size
            if is_best:
                best = self._best_of(unit - size, before)
                if best is None:
                    continue
                unit = best
            elif kept[unit]:
                continue
            value = values[unit]
            for key in keys[unit]:
                value += gains[key]
            if value <= 0:
                continue
            added: Sequence[int] = (unit,)
            if unit in pieces:
                added = self._with_ends(unit)
                cost = self._cost(added)
            else:
                cost = costs[unit] + first[stretch_of[unit]]
            ratio = value / cost if cost > 1 else value
            if ratio < least and not is_best:
                continue
            if ratio < before * _SAME and not is_best:
                heapq.heappush(again, (-ratio, -unit))
            elif self.spent + cost > budget:
                self._too_large.append(unit)
                if is_best:  # Another may be smaller.
                    for other in self._texts.rest(stretch_of[unit]):
                        self._push(self._ratio(other), other)
            else:
                self.density = before
                self._take(added, cost)
                self._close_gaps(added, budget)

    def undo(self, tokens: int) -> bool:
        """Take back the newest choices until so many tokens are free again; whether there was anything to take back.

        Nothing more may be chosen after that.
        """
        target = self.spent - tokens
        had_any = bool(self._taken)
        while self._taken and self.spent > target:
            added, cost = self._taken.pop()
            self.spent -= cost
            for unit in added:
                self.kept[unit] = 0
                self.covered.take_back(self.all.keys[unit])
        return had_any

    def _push_text(self, number: int) -> None:
        """Let a closed stretch wait for what its best units add together."""
        share, _ = self._together(number)
        if share > self._least:
            self._push(share, len(self.kept) + number)

    def _best_of(self, number: int, before: float) -> int | None:
        """The unit to begin with of a closed stretch that comes up; None where none is chosen now.

        Of an open one the next unit begins to wait.
        """
        if not self._texts.is_closed(number):
            self._push_next(number)
            return None
        share, unit = self._together(number)
        if share >= before * _SAME_TEXT:
            return unit
        self._push_text(number)
        return None

    def _push_next(self, number: int) -> None:
        """Let the next unit wait of a stretch that was closed, and behind it the stretch."""
        following, last = self._texts.next(number)
        if following is not None:
            self._push(self._ratios[following], following)
        if last is not None:
            self._push(self._ratios[last], len(self.kept) + number)

    def _together(self, number: int) -> tuple[float, int]:
        """Return the value that the best units of a closed stretch add per token, and the one to begin with."""
        first, title = self._first[number], self._texts.title_above(number)
        units = self._texts.best(number, self._value)
        found = [(self._value(unit), self._costs[unit], unit) for unit in units]
        comes_along = 0.0 if title is None else self._value(self.all.stretches[title].start)
        return best_together(found, comes_along, first, self.all.marker)

    def _value(self, unit: int) -> float:
        """Return the value that the unit adds."""
        gains, value = self.covered.gains, self.all.values[unit]
        # Not `sum`: it rounds otherwise from Python 3.12 on, and ratios are compared.
        for key in self.all.keys[unit]:
            value += gains[key]
        return value

    def _ratio(self, unit: int) -> float:
        """Return the value that the unit adds per token."""
        value = self._value(unit)
        if not value:
            return 0.0
        if unit in self.all.pieces:
            cost = self._cost(self._with_ends(unit))
        else:  # As `_cost` has it, without the way there: this is asked most of all.
            cost = self._costs[unit] + self._first[self._stretch_of[unit]]
        return value / cost if cost > 1 else value

    def _with_ends(self, unit: int) -> Sequence[int]:
        """The unit, and of a line in pieces its two ends."""
        line = self.all.pieces.get(unit)
        if line is None:
            return (unit,)
        return sorted({end for end in (line[0], unit, line[1] - 1) if not self.kept[end]})

    def _cost(self, added: Sequence[int]) -> int:
        """Tokens of units of one stretch, in order, and of the markers that come and go with them."""
        cost = self._first[self._stretch_of[added[0]]]
        before = -1
        for unit in added:
            cost += self._costs[unit]
            if unit == before + 1 and not self._left[unit]:
                cost -= self.all.marker
            before = unit
        return cost

    def _take(self, added: Sequence[int], cost: int) -> None:
        kept, left, costs, marker = self.kept, self._left, self._costs, self.all.marker
        self.spent += cost
        self._taken.append((added, cost))
        number = self._stretch_of[added[0]]
        if self._texts.is_closed(number):
            for other in self._texts.open(number):
                self._push_text(other)
            self._push_next(number)
        for unit in added:
            kept[unit] = 1
            if not left[unit]:
                costs[unit - 1] -= marker
            if not left[unit + 1]:
                costs[unit + 1] -= marker
            self.covered.add(self.all.keys[unit])
        for unit in self._cheaper_now(added):
            if not kept[unit] and (ratio := self._ratio(unit)) > 0 and ratio >= self._least:
                self._push(ratio, unit)

    def _cheaper_now(self, added: Sequence[int]) -> Iterator[int]:
        """Yield the units beside those that were just chosen, and all pieces of a line of which an end costs less."""
        pieces = self.all.pieces
        ends = {end for unit in (added[0], added[-1]) if (line := pieces.get(unit)) for end in (line[0], line[1] - 1)}
        if not ends.isdisjoint(added):
            yield from range(*pieces[added[0]])
        for beside in (added[0] - 1, added[-1] + 1):
            start, stop = pieces.get(beside, (beside, beside + 1))
            if beside in (start, stop - 1):
                yield from range(max(0, start), min(stop, len(self.kept)))
            else:
                yield beside

    def _push(self, ratio: float, unit: int) -> None:
        heapq.heappush(self._again, (-ratio, -unit))

    def _close_gaps(self, added: Sequence[int], budget: int) -> None:
        """Close small gaps beside what was chosen."""
        kept, left, tokens, marker = self.kept, self._left, self.all.tokens, self.all.marker
        for end in dict.fromkeys((added[0], added[-1])):
            most, is_in_row = marker, False
            if self.all.keys[end][-1:] >= (self.all.lines,):
                is_in_row = self._is_in_row(end)
                most *= _BESIDE_ROWS if is_in_row else _BESIDE_LINES
            # Mostly the next unit alone is too large for that, or is chosen.
            if not left[end] and not kept[end - 1] and tokens[end - 1] <= most:
                self._close_gap(end, -1, min(most, budget - self.spent + marker))
            if not left[end + 1] and not kept[end + 1] and tokens[end + 1] <= most:
                self._close_gap(end, 1, min(most, budget - self.spent + marker))
            behind = end + 1
            if is_in_row and not left[behind] and not kept[behind] and not self.all.keys[behind]:
                cost = self._cost((behind,))
                if tokens[behind] <= _CLOSING and self.spent + cost <= budget:
                    self._take((behind,), cost)

    def _is_in_row(self, unit: int) -> bool:
        """Whether so many units are chosen in a row with one that it is a row."""
        kept, left = self.kept, self._left
        first, last = unit, unit + 1
        while last - first < _ROW and not left[first] and kept[first - 1]:
            first -= 1
        while last - first < _ROW and not left[last] and kept[last]:
            last += 1
        return last - first == _ROW

    def _close_gap(self, unit: int, direction: int, most: int) -> None:
        """Choose the few units between a chosen one and the next, or an end, that take at most so many tokens."""
        kept, left, all_tokens, marker = self.kept, self._left, self.all.tokens, self.all.marker
        behind = max(direction, 0)
        missing = _MISSING_BEHIND if behind else _MISSING_BEFORE
        found: list[int] = []
        tokens = 0
        while True:
            between = left[unit + behind]
            if between & missing:
                return
            if between & _EDGE:
                break
            if between:
                return
            unit += direction
            if kept[unit]:
                break
            found.append(unit)
            tokens += all_tokens[unit]
            if tokens > most or len(found) > _SMALL_GAP:
                return
        if found:
            self._take(sorted(found), tokens - marker)


_ROUNDS: Final = 6
"""So often more is chosen once the exact count of what was chosen is known."""


def fit(choice: Choice, budget: int, measure: Callable[[], int]) -> None:
    """Choose as much as the budget allows by exact count: `measure` counts the texts as chosen at that moment.

    The tokens of single lines add up to a little more than those of the text, so what is left over is spent again.
    """
    limit, excess = budget, 0
    for _ in range(_ROUNDS):
        before = choice.spent
        choice.fill(limit)
        excess = measure() - budget
        if excess > 0 or (choice.spent == before and limit != budget) or -excess <= max(REST, budget // SHARE):
            break
        limit = choice.spent - excess
    while excess > 0 and choice.undo(excess):
        excess = measure() - budget
