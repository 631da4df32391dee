"""The loops of a choice of units (`extractive/choice.py` tells what is chosen, and why).

Units are numbered through all texts. What is known of each is in arrays, kept up to date beside each choice: a unit is
looked at far more often than one is chosen.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Mapping, Sequence
from heapq import heappop, heappush
from math import inf
from typing import Any

IS_COMPILED = not __file__.endswith(".py")

_TOGETHER = 32
"""So many units of a text are looked at when it may be opened."""
_SMALL_GAP = 4
_BESIDE_LINES, _BESIDE_ROWS = 2, 4
_ROW = 5
"""Gaps of so many units are closed where they cost no more than a marker. Edits take lines in a row, so with a budget
it may be more beside a line that one may have to match: so many markers, and so many where so many are in a row."""
_CLOSING = 3
"""A unit behind a row that says nothing, as a bracket does, comes with it where it takes no more tokens: edits end on
such lines."""
_SAME, _SAME_TEXT = 0.999, 0.98
"""A unit whose value shrank by less than this is taken as it comes, and so is the best of a closed text."""
_EDGE, _MISSING_BEFORE, _MISSING_BEHIND = 1, 2, 4
"""What is at the left of a unit: the beginning of its stretch; lines that are missing there already; such at the end
of the stretch before."""


class WaitingUnits:
    """Units by what they add per token: the best first and, of equals, the last."""

    def __init__(self) -> None:
        self.items: list[tuple[float, int]] = []
        self.ratios, self.units = array("d", bytes(8)), array("q", bytes(8))
        self.size = 0

    def push(self, ratio: float, unit: int) -> None:
        if not IS_COMPILED:
            heappush(self.items, (-ratio, -unit))
            self.size += 1
            return
        if self.size == len(self.units):
            self.grow()
        at = self.size
        self.size += 1
        while at > 0:
            above = (at - 1) >> 1
            if self.ratios[above] > ratio or (self.ratios[above] == ratio and self.units[above] >= unit):
                break
            self.ratios[at] = self.ratios[above]
            self.units[at] = self.units[above]
            at = above
        self.ratios[at] = ratio
        self.units[at] = unit

    def grow(self) -> None:
        ratios, units = array("d", self.ratios), array("q", self.units)
        ratios.extend(ratios)
        units.extend(units)
        self.ratios, self.units = ratios, units

    def is_before(self, ratio: float, unit: int) -> bool:
        """Return whether the best comes before another unit."""
        if not self.size:
            return False
        if not IS_COMPILED:
            return self.items[0] < (-ratio, -unit)
        return self.ratios[0] > ratio or (self.ratios[0] == ratio and self.units[0] > unit)

    def best(self) -> float:
        """Return what the best adds per token."""
        return self.ratios[0] if IS_COMPILED else -self.items[0][0]

    def pop(self) -> int:
        """Take the best."""
        self.size -= 1
        if not IS_COMPILED:
            return -heappop(self.items)[1]
        found = self.units[0]
        ratio, unit, at = self.ratios[self.size], self.units[self.size], 0
        while True:
            below = 2 * at + 1
            if below >= self.size:
                break
            if below + 1 < self.size and (
                self.ratios[below + 1] > self.ratios[below]
                or (self.ratios[below + 1] == self.ratios[below] and self.units[below + 1] > self.units[below])
            ):
                below += 1
            if ratio > self.ratios[below] or (ratio == self.ratios[below] and unit >= self.units[below]):
                break
            self.ratios[at] = self.ratios[below]
            self.units[at] = self.units[below]
            at = below
        self.ratios[at] = ratio
        self.units[at] = unit
        return found


class Loops:
    """The units chosen so far. `spent` are their tokens, the markers that are needed included.

    `said`, `gains` and `weights` are the arrays of what is covered; choosing adds to them. Units of which a token is
    worth less than `least` are left, whatever is free. `shares` are what a first mention is worth, a second, and so on.
    A gap of a few units is closed where they take at most `most` tokens.
    `stretches` have `start`, `stop`, `gaps` and `opening`, an opening `tokens`, `heading` and `is_title`.
    """

    def __init__(
        self,
        tokens: array[int],
        values: array[float],
        starts: array[int],
        keys: array[int],
        covered: tuple[array[int], array[float], array[float]],
        shares: array[float],
        marker: int,
        pieces: Mapping[int, tuple[int, int]],
        lines: int,
        least: float,
        most: int,
        sections: Mapping[int, int],
        groups: dict[int, Sequence[int]],
    ) -> None:
        self.tokens, self.values, self.starts, self.keys = tokens, values, starts, keys
        self.said, self.gains, self.weights = covered
        self.shares, self.heard = shares, len(shares)
        self.marker, self.lines, self.least, self.most = marker, lines, least, most
        self.size = size = len(tokens)
        self.kept = self.marks = bytearray(size)
        self.spent = 0
        self.density = inf
        self.left = bytearray(size + 1)
        self.left[size] = _EDGE
        self.costs = array("i", map(marker.__add__, tokens))
        self.has_pieces = bool(pieces)
        none = array("i", (-1,)) * (size if pieces else 0)
        self.firsts, self.behinds = none, none[:]
        for unit, (start, stop) in pieces.items():
            self.firsts[unit] = start
            self.behinds[unit] = stop
        self.has_groups, self.groups, self.grouped = bool(groups), groups, bytearray(size if groups else 0)
        for unit in groups:
            self.grouped[unit] = 1
        # By unit: the heading of the section that it is in; by heading: whether something of its section was chosen.
        self.above = array("i", (-1,)) * (size if groups else 0)
        self.begun = bytearray(size if groups else 0)
        for title in sorted(sections) if groups else ():
            for unit in range(title + 1, sections[title]):
                self.above[unit] = title
        self.taken: list[tuple[Sequence[int], int]] = []
        self.too_large: list[int] = []
        self.again = WaitingUnits()
        self.beside = bytearray(size + 2)
        self.best_values, self.best_ratios = array("d", bytes(8 * _TOGETHER)), array("d", bytes(8 * _TOGETHER))
        self.best_costs, self.best_units = array("q", bytes(8 * _TOGETHER)), array("q", bytes(8 * _TOGETHER))

    def begin(self, stretches: Sequence[Any], headings: Sequence[int], fixed: Iterable[int]) -> None:
        """Look at all units once."""
        number = len(stretches)
        self.openings: list[Any] = [stretch.opening for stretch in stretches]
        self.headings = headings
        self.under: dict[int, list[int]] = {}
        self.titles: dict[int, int] = {}
        self.closed = bytearray(number)
        self.first, openings = array("q", bytes(8 * number)), array("q", bytes(8 * number))
        self.stretch_of = array("I", bytes(4 * self.size))
        self.begins, self.ends = array("q", bytes(8 * number)), array("q", bytes(8 * number))
        for at, stretch in enumerate(stretches):
            self.bound(at, stretch.start, stretch.stop, stretch.gaps)
            opening = stretch.opening
            if opening is None:
                self.spent += self.marker
                continue
            self.closed[at] = 1
            cost = opening.tokens + self.marker
            if opening.heading is not None:
                cost += headings[opening.heading]
                self.under.setdefault(opening.heading, []).append(at)
                if opening.is_title:
                    cost -= self.tokens[stretch.start]
                    self.titles[opening.heading] = stretch.start
            openings[at] = cost
        # What each unit adds per token in an open text.
        self.ratios = array("d", bytes(8 * self.size))
        for unit in range(self.size):
            self.ratios[unit] = self.ratio(unit)
        self.first = openings
        # All are sorted once, which takes a tenth of the memory of a heap; those that come back are in a heap.
        ratios = array("d", self.ratios)
        waiting, order = array("I"), array("I")
        orders: list[tuple[int, int]] = []
        for at, stretch in enumerate(stretches):
            units = [unit for unit in range(stretch.start, stretch.stop) if ratios[unit] > 0]
            if self.closed[at]:
                units.sort(key=ratios.__getitem__, reverse=True)
                orders.append((len(order), len(order) + len(units)))
                order.extend(units)
            else:
                # What adds nothing, such as a blank line, is chosen only to close a gap. Pieces of a line cost less
                # once its ends are chosen, so they wait whatever a token of them is worth.
                waiting.extend(unit for unit in units if ratios[unit] >= self.least or self.is_piece(unit))
                orders.append((0, 0))
        self.order = order
        for at in range(number):
            self.begins[at], self.ends[at] = orders[at]
        self.queue = array("I", sorted(waiting, key=ratios.__getitem__))
        self.queued = len(waiting)
        for at in range(number):
            if self.closed[at]:
                self.push_text(at)
        for unit in fixed:
            self.take([unit], self.cost([unit]))
        self.taken.clear()  # So that nothing takes them back.

    def bound(self, number: int, start: int, stop: int, gaps: Collection[int]) -> None:
        """Note where a stretch begins and ends, and what is missing in it already."""
        for unit in range(start, stop):
            self.stretch_of[unit] = number
        self.left[start] |= _EDGE
        if start == stop:
            return
        self.costs[start] -= self.marker
        self.costs[stop - 1] -= self.marker
        for gap in gaps:
            if gap == 0:
                self.costs[start] += self.marker
            if start + gap == stop:
                self.costs[stop - 1] += self.marker
                self.left[stop] |= _MISSING_BEHIND
            else:
                self.left[start + gap] |= _MISSING_BEFORE

    def is_piece(self, unit: int) -> bool:
        return self.has_pieces and self.firsts[unit] >= 0

    def fill_to(self, budget: int, rest: int) -> None:
        """Choose the best units that fit, until the budget is spent but for a rest or none is left that fits."""
        for number in sorted({self.stretch_of[unit] for unit in self.too_large}):
            if self.closed[number]:
                self.push_text(number)
        for unit in self.too_large:
            self.again.push(self.ratio(unit), unit)
        self.too_large = []
        size, again, least = self.size, self.again, self.least
        queue, ratios, marks = self.queue, self.ratios, self.marks
        while budget - self.spent > rest:
            if self.queued:
                unit = queue[self.queued - 1]
                before = ratios[unit]
                if again.is_before(before, unit):
                    before = again.best()
                    unit = again.pop()
                else:
                    self.queued -= 1
            elif again.size:
                before = again.best()
                unit = again.pop()
            else:
                return
            is_best = unit >= size
            if is_best:
                unit = self.best_of(unit - size, before)
                if unit < 0:
                    continue
            elif marks[unit]:
                continue
            value = self.value(unit)
            if value <= 0:
                continue
            if self.has_pieces and self.firsts[unit] >= 0:
                added = self.with_ends(unit)
                cost = self.cost(added)
            elif self.has_groups and self.grouped[unit]:
                added = self.group(unit)
                cost = self.cost(added)
                value = self.value_of(added)
            else:
                added = [unit]
                cost = self.costs[unit] + self.first[self.stretch_of[unit]]
            ratio = value / cost if cost > 1 else value
            if ratio < least and not is_best:
                continue
            if ratio < before * _SAME and not is_best:
                again.push(ratio, unit)
            elif self.spent + cost > budget:
                self.too_large.append(unit)
                if is_best:  # Another may be smaller.
                    number = self.stretch_of[unit]
                    for at in range(self.begins[number], self.ends[number]):
                        again.push(self.ratio(self.order[at]), self.order[at])
            else:
                self.density = before
                self.take(added, cost)
                self.close_gaps(added[0], budget)
                if len(added) > 1:
                    self.close_gaps(added[len(added) - 1], budget)

    def undo(self, tokens: int) -> bool:
        """Take back the newest choices until so many tokens are free again; whether there was anything to take back.

        Nothing more may be chosen after that.
        """
        target = self.spent - tokens
        had_any = bool(self.taken)
        while self.taken and self.spent > target:
            added, cost = self.taken.pop()
            self.spent -= cost
            for unit in added:
                self.marks[unit] = 0
                self.say(unit, -1)
        return had_any

    def say(self, unit: int, times: int) -> None:
        """Say what a unit says, or say it no longer."""
        for at in range(self.starts[unit], self.starts[unit + 1]):
            key = self.keys[at]
            said = self.said[key] + times
            self.said[key] = said
            self.gains[key] = self.weights[key] * self.shares[said] if said < self.heard else 0.0

    def value(self, unit: int) -> float:
        """Return the value that the unit adds."""
        value, stop = self.values[unit], self.starts[unit + 1]
        # Not `sum`: it rounds otherwise from Python 3.12 on, and ratios are compared.
        for at in range(self.starts[unit], stop):
            value += self.gains[self.keys[at]]
        return value

    def value_of(self, added: Sequence[int]) -> float:
        """Return the value that units add, each for itself."""
        value = 0.0
        for unit in added:
            value += self.value(unit)
        return value

    def ratio(self, unit: int) -> float:
        """Return the value that the unit adds per token."""
        value = self.value(unit)
        if value == 0:
            return 0.0
        if self.has_pieces and self.firsts[unit] >= 0:
            added = self.with_ends(unit)
            cost = self.cost(added) if added else 1
        elif self.has_groups and self.grouped[unit]:
            added = self.group(unit)
            cost = self.cost(added) if added else 1
            value = self.value_of(added)
        else:  # As `cost` has it, without the way there: this is asked most of all.
            cost = self.costs[unit] + self.first[self.stretch_of[unit]]
        return value / cost if cost > 1 else value

    def with_ends(self, unit: int) -> list[int]:
        """Return the unit of a line in pieces with the line's two ends, in order, without those that are chosen."""
        return sorted({end for end in (self.firsts[unit], unit, self.behinds[unit] - 1) if not self.marks[end]})

    def group(self, unit: int) -> list[int]:
        """Return the unit with those that come with it, in order, without those that are chosen.

        Nothing has to come with a heading if something of its section is chosen.
        """
        if self.begun[unit]:
            return [unit]
        return [other for other in self.groups[unit] if not self.marks[other]]

    def cost(self, added: Sequence[int]) -> int:
        """Return the tokens of units of one stretch, in order, and of the markers that come and go with them."""
        cost = self.first[self.stretch_of[added[0]]]
        before = -1
        for unit in added:
            cost += self.costs[unit]
            if unit == before + 1 and not self.left[unit]:
                cost -= self.marker
            before = unit
        return cost

    def take(self, added: Sequence[int], cost: int) -> None:
        """Choose units of one stretch, in order, that cost so many tokens."""
        self.spent += cost
        self.taken.append((added, cost))
        number = self.stretch_of[added[0]]
        if self.closed[number]:
            self.open(number)
            self.push_next(number)
        for unit in added:
            self.marks[unit] = 1
            if not self.left[unit]:
                self.costs[unit - 1] -= self.marker
            if not self.left[unit + 1]:
                self.costs[unit + 1] -= self.marker
            self.say(unit, 1)
        self.push_cheaper(added, added[0], added[len(added) - 1])

    def push_cheaper(self, added: Sequence[int], first: int, last: int) -> None:
        """Let the units wait that cost less now: those beside the ones just chosen, pieces of a line, headings."""
        if self.has_pieces:
            for unit in (first, last):
                if self.firsts[unit] >= 0 and (self.firsts[unit] in added or self.behinds[unit] - 1 in added):
                    for piece in range(self.firsts[first], self.behinds[first]):
                        self.push_worth(piece)
                    break
        for beside in (first - 1, last + 1):
            if 0 <= beside < self.size:
                if not self.has_pieces or self.firsts[beside] < 0:
                    self.push_worth(beside)
                elif beside == self.firsts[beside] or beside == self.behinds[beside] - 1:
                    for piece in range(self.firsts[beside], self.behinds[beside]):
                        self.push_worth(piece)
                else:
                    self.push_worth(beside)
        if self.has_groups:
            self.push_of_groups(added, first, last)

    def push_of_groups(self, added: Sequence[int], first: int, last: int) -> None:
        """Let the units wait that cost less because of what comes with them."""
        for unit in added:
            title = self.above[unit]
            while title >= 0 and not self.begun[title]:
                self.begun[title] = 1
                self.push_worth(title)
                title = self.above[title]
        for unit in range(first + 1, last):  # Between a heading and the first line below it.
            self.push_worth(unit)
        for beside in (first - 1, last + 1):
            if 0 <= beside < self.size:
                title = self.above[beside]
                while title >= 0 and not self.begun[title]:
                    self.push_worth(title)
                    title = self.above[title]
                if self.grouped[beside]:
                    for unit in self.groups[beside]:
                        self.push_worth(unit)

    def push_worth(self, unit: int) -> None:
        if not self.marks[unit]:
            ratio = self.ratio(unit)
            if ratio > 0 and ratio >= self.least:
                self.again.push(ratio, unit)

    def open(self, number: int) -> None:
        """Open a text that is closed; the others cost less now, because their heading is there."""
        self.closed[number] = 0
        self.first[number] = 0
        heading = self.openings[number].heading
        if heading is None:
            return
        others = [other for other in self.under.pop(heading, ()) if self.closed[other]]
        for other in others:
            self.first[other] -= self.headings[heading]
        for other in others:
            self.push_text(other)

    def push_text(self, number: int) -> None:
        """Let a closed stretch wait for what its best units add together."""
        share = self.together(number)
        if share > self.least:
            self.again.push(share, self.size + number)

    def best_of(self, number: int, before: float) -> int:
        """Return the unit to begin with of a closed stretch that comes up; -1 where none is chosen now.

        Of an open one the next unit begins to wait.
        """
        if not self.closed[number]:
            self.push_next(number)
            return -1
        share = self.together(number)
        if share >= before * _SAME_TEXT:
            return self.best_units[0]
        self.push_text(number)
        return -1

    def push_next(self, number: int) -> None:
        """Let the next unit wait of a stretch that was closed, and behind it the stretch."""
        at = self.begins[number]
        self.begins[number] = at + 1
        if at < self.ends[number]:
            self.again.push(self.ratios[self.order[at]], self.order[at])
        if at + 1 < self.ends[number]:
            self.again.push(self.ratios[self.order[at + 1]], self.size + number)

    def together(self, number: int) -> float:
        """Return the value that the best units of a closed stretch add per token; the best one is `best_units[0]`.

        What a unit adds never grows, so nobody looks again at those at the front that add nothing.
        """
        added = 0.0
        opening = self.openings[number]
        if not opening.is_title and opening.heading in self.titles and opening.heading in self.under:
            added = self.value(self.titles[opening.heading])
        at, end = self.begins[number], self.ends[number]
        while at < end and self.value(self.order[at]) <= 0:
            at += 1
        self.begins[number] = at
        size = 0
        ratios, order, beside = self.best_ratios, self.order, self.beside
        self.best_units[0] = -1
        for place in range(at, min(end, at + _TOGETHER)):
            unit = order[place]
            value, cost = self.value(unit), self.costs[unit]
            ratio = value / cost if cost > 1 else value
            # Mostly they come in order.
            free = size
            while free > 0 and (
                ratio > ratios[free - 1] or (ratio == ratios[free - 1] and self.is_better(value, cost, unit, free - 1))
            ):
                ratios[free] = ratios[free - 1]
                self.best_values[free] = self.best_values[free - 1]
                self.best_costs[free] = self.best_costs[free - 1]
                self.best_units[free] = self.best_units[free - 1]
                free -= 1
            ratios[free], self.best_values[free] = ratio, value
            self.best_costs[free], self.best_units[free] = cost, unit
            size += 1
        best = 0.0
        spent = self.first[number]
        place = 0
        while place < size:
            unit = self.best_units[place]
            added += self.best_values[place]
            spent += self.best_costs[place] - self.marker * (beside[unit] + beside[unit + 2])
            least = spent if spent > 1 else 1
            if added <= best * least:
                break
            best = added / least
            beside[unit + 1] = 1
            place += 1
        while place > 0:
            place -= 1
            beside[self.best_units[place] + 1] = 0
        return best

    def is_better(self, value: float, cost: int, unit: int, place: int) -> bool:
        """Return whether a unit comes before the one in a place that adds as much per token."""
        if value != self.best_values[place]:
            return value > self.best_values[place]
        if cost != self.best_costs[place]:
            return cost > self.best_costs[place]
        return unit > self.best_units[place]

    def close_gaps(self, end: int, budget: int) -> None:
        """Close small gaps beside one that was chosen."""
        most = self.most
        is_in_row = False
        last = self.starts[end + 1]
        if last > self.starts[end] and self.keys[last - 1] >= self.lines:
            is_in_row = self.is_in_row(end)
            most = max(most, self.marker * (_BESIDE_ROWS if is_in_row else _BESIDE_LINES))
        # Mostly the next unit alone is too large for that, or is chosen.
        if not self.left[end] and not self.marks[end - 1] and self.tokens[end - 1] <= most:
            self.close_gap(end, -1, min(most, budget - self.spent + self.marker))
        behind = end + 1
        if not self.left[behind] and not self.marks[behind] and self.tokens[behind] <= most:
            self.close_gap(end, 1, min(most, budget - self.spent + self.marker))
        # The end of all units has something at its left.
        if not is_in_row or self.left[behind] or self.marks[behind] or self.tokens[behind] > _CLOSING:
            return
        if self.starts[behind] == self.starts[behind + 1]:
            cost = self.cost([behind])
            if self.spent + cost <= budget:
                self.take([behind], cost)

    def is_in_row(self, unit: int) -> bool:
        """Return whether so many units are chosen in a row with one that it is a row."""
        first, last = unit, unit + 1
        while last - first < _ROW and not self.left[first] and self.marks[first - 1]:
            first -= 1
        while last - first < _ROW and not self.left[last] and self.marks[last]:
            last += 1
        return last - first == _ROW

    def close_gap(self, unit: int, direction: int, most: int) -> None:
        """Choose the few units between a chosen one and the next, or an end, that take at most so many tokens."""
        behind = 1 if direction > 0 else 0
        missing = _MISSING_BEHIND if behind else _MISSING_BEFORE
        found = tokens = 0
        while True:
            between = self.left[unit + behind]
            if between & missing:
                return
            if between & _EDGE:
                break
            if between:
                return
            unit += direction
            if self.marks[unit]:
                unit -= direction
                break
            found += 1
            tokens += self.tokens[unit]
            if tokens > most or found > _SMALL_GAP:
                return
        if found:
            first = unit if direction < 0 else unit - found + 1
            self.take(list(range(first, first + found)), tokens - self.marker)
