"""How likely it is that later work needs a fact, or has to match a line: two logistic models.

Their weights are in `weights`. `benchmarks/train_extraction.py` fits them to conversations that went on after a cut.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import exp
from operator import mul


def likelihoods(features: Iterable[Sequence[float]], weights: Sequence[float]) -> list[float]:
    """A number from 0 to 1 for each row of features; the rows have as many as there are weights."""
    return [1.0 / (1.0 + exp(-sum(map(mul, row, weights)))) for row in features]
