"""How often the keys of a conversation are said, and what one more mention of each adds."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from math import fsum
from typing import Final

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

    def worth(self) -> float:
        """The weights of all that is said, each once."""
        # Not `sum`: it rounds otherwise from Python 3.12 on, and worths are compared.
        return fsum(weight for weight, times in zip(self.weights, self.said, strict=True) if times)
