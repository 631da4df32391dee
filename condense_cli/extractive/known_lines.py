"""Every line of a conversation once: what it says is read a single time, however many texts have it."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable
from itertools import count as count_up

from ..core.facts import facts_of
from .choice import UNSIGNED
from .kinds import kind_of


class KnownLines:
    """Lines without the numbers of listings. Each has a number, by which `facts` has the numbers of its facts, and
    `kinds` its kind; `names` are the facts themselves, with their numbers.

    What was read `before` of a line, in another state of the conversation, is not read again.
    """

    def __init__(self, before: KnownLines | None = None) -> None:
        self.numbers: dict[str, int] = {}
        self.names: dict[str, int] = defaultdict(count_up().__next__)
        self.facts: list[tuple[int, ...]] = []
        self.kinds = bytearray()
        self._before = before
        self._names_before = [] if before is None else [*before.names]

    def read(self, bodies: Iterable[str]) -> array[int]:
        """The numbers of lines; those that are new get theirs."""
        found, numbers = array(UNSIGNED), self.numbers
        for body in bodies:
            number = numbers.get(body)
            if number is None:
                number = numbers[body] = len(self.facts)
                self._add(body)
            found.append(number)
        return found

    def forget_before(self) -> None:
        """Hold no longer what was read before, once all is read."""
        self._before, self._names_before = None, []

    def _add(self, body: str) -> None:
        before = self._before
        number = before.numbers.get(body) if before else None
        if before is None or number is None:
            names: Iterable[str] = facts_of(body)
            self.kinds.append(kind_of(body))
        else:
            names = map(self._names_before.__getitem__, before.facts[number])
            self.kinds.append(before.kinds[number])
        self.facts.append(tuple(dict.fromkeys(map(self.names.__getitem__, names))))
