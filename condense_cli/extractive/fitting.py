"""Choosing as much as a budget allows by exact count, which only the texts as they are written have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from .choice import REST, SHARE, Choice

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
