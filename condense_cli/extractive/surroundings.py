"""What of a line depends on the conversation around it: how likely its facts are needed, and those of lines near it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from itertools import chain
from typing import Final

from .likelihood import Features
from .neighbours import highest, means

_NEAR: Final = 4
_AROUND: Final = 12
"""So many lines before and after a line are near it, and around it: an edit matches several lines that stand
together."""


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
