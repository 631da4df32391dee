"""Coming close to a target from below, where only trying tells how large the result of a budget is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ..receipts import Receipt
from ..sheet import Step

_ROUNDS: Final = 8
_CLOSE: Final = 200
"""So often another budget is tried, until what is free of the target is at most this part of it."""


def approach(target: int, attempt: Callable[[int], int], budget: int, most: int) -> int:
    """Try budgets, beginning with `budget`, and leave the best of them as it is; what is then free of the target.

    `attempt` undoes what it did before, works with a budget, and gives the tokens that are free of the target, below 0
    where it is missed. More than `most` changes nothing more.
    """
    fits: int | None = None
    too_much = most + 1
    budget = max(0, min(budget, most))
    tried, left, misses = budget, 0, 0
    for _ in range(_ROUNDS):
        tried, left = budget, attempt(budget)
        if left >= 0:
            fits = budget
        else:
            too_much = budget
            misses += 1
        if 0 <= left <= target // _CLOSE or budget == (0 if left < 0 else most):
            return left
        least = -1 if fits is None else fits
        # A miss by a little may come again and again: each further one counts twice as much.
        budget = max(0, min(budget + (left if left > 0 else left << (misses - 1)), most))
        if not least < budget < too_much:
            budget = (least + too_much) // 2
        if budget in (least, too_much):
            break
    best = fits if fits is not None else 0
    return left if tried == best else attempt(best)


def fitted(step: Step, target: int, run: Callable[[int], list[Receipt]]) -> list[Receipt]:
    """Run something on the sheet with as much room as fits into the target, and give its receipts."""
    sheet = step.sheet
    before = sheet.saved()
    receipts: list[Receipt] = []

    def left_with(room: int) -> int:
        sheet.restore(before)
        receipts[:] = run(room)
        return step.sheet.free(target)

    approach(target, left_with, target, sheet.measured())
    return receipts
