"""How likely it is that later work needs a fact, or has to match a line: two logistic models.

Their weights are in `weights`. `benchmarks/train_extraction.py` fits them to conversations that went on after a cut.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import exp, fsum
from operator import mul
from typing import Final

from msgspec import Struct

from .weights import FACTS, LINES


class Model(Struct, frozen=True):
    """Weights of the features of facts and of lines, in their order.

    `line` is what a line that an edit has to match is worth of a fact that is needed: work needs many facts and few
    lines, and an edit fails without one.
    """

    facts: tuple[float, ...]
    lines: tuple[float, ...]
    line: float = 2.5


MODEL: Final = Model(tuple(FACTS.values()), tuple(LINES.values()))


def likelihoods(features: Iterable[Sequence[float]], weights: Sequence[float]) -> list[float]:
    """A number from 0 to 1 for each row of features; the rows have as many as there are weights."""
    return [of_products(map(mul, row, weights)) for row in features]


def of_products(products: Iterable[float]) -> float:
    """The number for one row, of which each feature is multiplied by its weight."""
    # Not `sum`: it rounds otherwise from Python 3.12 on, and equal numbers are ordered by age.
    return 1.0 / (1.0 + exp(-fsum(products)))
