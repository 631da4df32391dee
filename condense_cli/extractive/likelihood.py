"""Estimate how likely later work needs a fact or has to match a line: two logistic models and their features.

Their weights are in `weights`. `benchmarks/train_extraction.py` fits them to conversations that went on after a cut.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from itertools import accumulate, chain, compress, islice
from math import exp, fsum, log2
from operator import mul
from typing import Any, Final, Generic, TypeVar

from msgspec import Struct

from ..core.lazy_pattern import lazy_pattern
from .weights import FACTS, LINES


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


Features = tuple[float, ...]
Row = TypeVar("Row", Features, float)
"""What is made of features: themselves, or the sum of their products with weights. Those of parts of a row add up to
that of the row."""


class Model(Struct, frozen=True):
    """Weights of the features of facts and of lines, in their order.

    `line` is what a line that an edit has to match is worth of a fact that is needed: work needs many facts and few
    lines, and an edit fails without one.
    """

    facts: tuple[float, ...]
    lines: tuple[float, ...]
    line: float = 2.5


MODEL: Final = Model(tuple(FACTS.values()), tuple(LINES.values()))


class RowParts(dict[Any, Row], Generic[Row]):
    """Parts of rows by what they depend on, which many rows share: each is made as it is first met."""

    def __init__(self, make: Callable[[Any], Features], taken: Callable[[Features], Row]) -> None:
        self._made: Callable[[Any], Row] = lambda known: taken(make(known))

    def __missing__(self, known: Any) -> Row:
        part = self[known] = self._made(known)
        return part


Taking = Callable[[int], Callable[[Features], Row]]
"""For so many of the features that are left, in their order, what is made of them."""


def as_they_are(size: int) -> Callable[[Features], Features]:
    """The features themselves, to fit weights to."""
    return tuple


def odds(weights: Iterable[float]) -> Taking[float]:
    """The logarithm of the odds that something is needed: products with the weights, added up."""
    left = iter(weights)

    def taken(size: int) -> Callable[[Features], float]:
        own = [*islice(left, size)]
        # Not `sum`: it rounds otherwise from Python 3.12 on, and equal numbers are ordered by age.
        return lambda features: fsum(map(mul, features, own))

    return taken


def probability(odds: float) -> float:
    """The number from 0 to 1 for the logarithm of odds."""
    return 1.0 / (1.0 + exp(-odds))


def likelihoods(rows: Iterable[Sequence[float]], weights: Sequence[float]) -> list[float]:
    """A number from 0 to 1 for each row of features; the rows have as many as there are weights."""
    of_row = odds(weights)(len(weights))
    return [probability(of_row(tuple(row))) for row in rows]


_NEAR: Final = 4
_AROUND: Final = 12
"""So many lines before and after a line are near it, and around it: an edit matches several lines in a row."""


class Surroundings:
    """The surroundings of the lines of some texts, by their numbers; of lines in several texts those in the last.

    `facts` are those of each line, `weights` tell how likely each fact is needed, `named` which lines name a fact that
    the assistant wrote; the newest request names those that are `requested`.
    """

    def __init__(
        self,
        texts: Sequence[Sequence[int]],
        facts: Sequence[tuple[int, ...]],
        weights: Sequence[float],
        named: Sequence[int],
        requested: Set[int],
    ) -> None:
        self._facts, self._weights, self._named, self._requested = facts, weights, named, requested
        self._likeliest = {number: self._likeliest_in(facts[number]) for number in set(chain.from_iterable(texts))}
        self._near: dict[int, tuple[float, float, float]] = {}
        for numbers in texts:
            likeliest = [*map(self._likeliest.__getitem__, numbers)]
            shares = means([*map(named.__getitem__, numbers)], _NEAR)
            near = zip(shares, highest(likeliest, _NEAR), means(likeliest, _AROUND), strict=True)
            self._near.update(zip(numbers, near, strict=True))

    def _likeliest_in(self, facts: Iterable[int]) -> float:
        return max(map(self._weights.__getitem__, facts), default=0.0)

    def of(self, line: int) -> Features:
        """The features of a line that come from its surroundings."""
        facts = self._facts[line]
        return (
            self._likeliest[line],
            sum(map(self._weights.__getitem__, facts)),
            self._named[line],
            not self._requested.isdisjoint(facts),
            *self._near[line],
        )


FEATURES: Final = (
    "one", "written", "times written", "said", "an argument", "in an edit", "requested", "in the newest request",
    "in an error", "shown", "beside a written one", "age", "age if written", "age of the first mention", "mentions",
    "facts beside", "length", "path", "number", "name", "file name", "hash", "conversation",
)  # fmt: skip
"""Names of the features of a fact, in their order."""

_HASH: Final = lazy_pattern(r"[0-9a-f]{6,}")
_SHORTEST_HASH: Final = 6

TOKEN: Final = 4
"""Characters of a token, about."""


def doublings(characters: float) -> float:
    """How often ten tokens have to double to be so many characters, about."""
    return log2(1 + characters / (10 * TOKEN))


SAID, ARGUMENT, IN_EDIT, REQUESTED, IN_NEWEST_REQUEST, IN_ERROR, SHOWN, BESIDE_WRITTEN = (1 << bit for bit in range(8))
"""What is true of a fact once it is true of one mention; `SHOWN`: by anything but the output of a command."""

_TRUE: Final = tuple(tuple(float(flags >> bit & 1) for bit in range(8)) for flags in range(256))
"""1 for each of these that is in flags, in their order, which is that of the features."""


class Mentions:
    """Knowledge of facts while a conversation is read: a number for each, and by it an entry of every list.

    Positions are in characters; `texts` and `written` are numbers of texts, `beside` is that of the facts on the
    shortest line that holds this one, `flags` is what is true of it.
    """

    def __init__(self) -> None:
        self.first: list[int] = []
        self.last: list[int] = []
        self.texts: list[int] = []
        self.written: list[int] = []
        self.beside: list[int] = []
        self.flags = bytearray()

    def grow(self, size: int) -> None:
        """Make room for the facts up to a number."""
        new = size - len(self.first)
        if not new:
            return
        for column in (self.first, self.last, self.texts, self.written):
            column += [0] * new
        self.beside += [1_000] * new
        self.flags += bytes(new)

    def tell(self, numbers: Iterable[int], position: int, flags: int, *, is_written: bool) -> None:
        """Take in the facts of one text, each once; whether the assistant wrote it."""
        first, last, texts, written, known = self.first, self.last, self.texts, self.written, self.flags
        for number in numbers:
            if not texts[number]:
                first[number] = position
            last[number] = position
            texts[number] += 1
            known[number] |= flags
            if is_written:
                written[number] += 1

    def stand_together(self, numbers: Sequence[int], flags: int) -> bool:
        """Take in the facts of one line, once all texts are told; whether the assistant wrote any of them."""
        beside, known, size = self.beside, self.flags, len(numbers)
        if size == 1:
            beside[numbers[0]] = 1
            known[numbers[0]] |= flags
            return self.written[numbers[0]] > 0
        written = [number for number in numbers if self.written[number]]
        if len(written) > 1:
            flags |= BESIDE_WRITTEN
        for number in numbers:
            if size < beside[number]:
                beside[number] = size
            known[number] |= flags
        if len(written) == 1:
            for number in numbers:
                if number != written[0]:
                    known[number] |= BESIDE_WRITTEN
        return bool(written)

    def in_newest_request(self) -> frozenset[int]:
        """The facts that the newest request names."""
        return frozenset(number for number, flags in enumerate(self.flags) if flags & IN_NEWEST_REQUEST)

    def mentioned(self) -> Iterator[int]:
        """The numbers of the facts that are mentioned."""
        return compress(range(len(self.texts)), self.texts)

    def rows(self, forms: Iterable[Form], end: int, taking: Taking[Row]) -> Iterator[Row]:
        """The features of each fact that is mentioned, at the end of a conversation of so many characters.

        `forms` are those of all facts, and maybe of more that another conversation mentions.
        """

        def parts(size: int, make: Callable[[Any], Features]) -> RowParts[Row]:
            return RowParts(make, taking(size))

        # In the order of the features: what all facts of one number, one place or one form have in common.
        counted = parts(3, lambda written: (1.0, written > 0, log2(1 + written)))
        flagged = parts(8, _TRUE.__getitem__)
        aged = parts(2, lambda last: (age := doublings(end - last[0]), age if last[1] else 0.0))
        begun = parts(1, lambda first: (doublings(end - first),))
        often = parts(1, lambda texts: (log2(texts),))
        among = parts(1, lambda beside: (log2(beside),))
        formed = parts(6, lambda form: (log2(1 + form[0]), *form[1:]))
        of_all = parts(1, lambda end: (doublings(end),))[end]
        columns = zip(forms, self.texts, self.written, self.flags, self.last, self.first, self.beside, strict=False)
        for form, texts, written, flags, last, first, beside in columns:
            if texts:
                yield (
                    counted[written] + flagged[flags] + aged[last, written > 0] + begun[first] + often[texts]
                    + among[beside] + formed[form] + of_all
                )  # fmt: skip


Form = tuple[int, bool, bool, bool, bool, bool]
"""What features take of the fact itself: its length, and whether it is a path, number, name, file name, hash."""


def form_of(fact: str) -> Form:
    has_slash = "/" in fact or "\\" in fact
    first = fact[:1]
    is_hash = len(fact) >= _SHORTEST_HASH and not fact.isdigit() and _HASH.fullmatch(fact) is not None
    return len(fact), has_slash, first.isdigit(), first.isupper(), not has_slash and "." in fact, is_hash
