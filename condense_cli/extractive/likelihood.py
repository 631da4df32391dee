"""How likely it is that later work needs a fact, or has to match a line: two logistic models.

Their weights are in `weights`. `benchmarks/train_extraction.py` fits them to conversations that went on after a cut.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from math import exp, fsum
from operator import mul
from typing import Any, Final, Generic, TypeVar

from msgspec import Struct

from .weights import FACTS, LINES

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
