"""Every line and every text of a conversation once: what it says is read a single time, however many texts have it."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count as count_up
from typing import Final
from weakref import WeakKeyDictionary

from msgspec import Struct

from ..core.facts import facts_of
from ..core.lazy_text import Text
from ..core.markers import Gap
from ..core.tokens import Counter
from .choice import UNSIGNED
from .kinds import kind_of
from .units import Units


class ReadText(Struct):
    """A text: the numbers of its units' lines, what is missing in it already, its facts, and its characters.

    Once somebody has asked for them, `tokens` are those of its units, and `pieces` the first unit of its line, and the
    one behind its last, by each unit that is a piece of one.
    """

    bodies: array[int]
    gaps: Mapping[int, Gap]
    said: Sequence[int]
    size: int
    tokens: array[int] | None = None
    pieces: Mapping[int, tuple[int, int]] = {}


class KnownLines:
    """Lines without the numbers of listings. Each has a number, by which `facts` has the numbers of its facts, and
    `kinds` its kind; `names` are the facts themselves, with their numbers.

    Several states of one conversation may share what is known: what was read of one is not read again in the next.
    """

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self.names: dict[str, int] = defaultdict(count_up().__next__)
        self.facts: list[tuple[int, ...]] = []
        self.kinds = bytearray()
        self._texts: dict[tuple[Text, bool], ReadText] = {}

    def text(self, content: Text, *, by_sentence: bool) -> ReadText | None:
        """What is known of a text, if it was read."""
        return self._texts.get((content, by_sentence))

    def read(self, content: Text, units: Units, size: int, *, by_sentence: bool) -> ReadText:
        """Read a text of so many characters, by its units."""
        bodies, facts_in = self._lines(units.bodies), self.facts
        said = facts_in[bodies[0]] if len(bodies) == 1 else tuple(set().union(*map(facts_in.__getitem__, bodies)))
        read = self._texts[content, by_sentence] = ReadText(bodies, units.gaps, said, size)
        return read

    def _lines(self, bodies: Iterable[str]) -> array[int]:
        """The numbers of lines; those that are new get theirs."""
        found, numbers = array(UNSIGNED), self.numbers
        for body in bodies:
            number = numbers.get(body)
            if number is None:
                number = numbers[body] = len(self.facts)
                self.kinds.append(kind_of(body))
                self.facts.append(tuple(dict.fromkeys(map(self.names.__getitem__, facts_of(body)))))
            found.append(number)
        return found


_SHARED: Final[WeakKeyDictionary[Counter, KnownLines]] = WeakKeyDictionary()


@contextmanager
def sharing_lines(count: Counter) -> Iterator[None]:
    """Meanwhile all surveys with this counter share what they read: for who condenses one conversation several ways."""
    _SHARED[count] = KnownLines()
    try:
        yield
    finally:
        del _SHARED[count]


def known_to(count: Counter) -> KnownLines:
    """What the surveys with this counter share; nothing yet where they do not."""
    return _SHARED.get(count) or KnownLines()
