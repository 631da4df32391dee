"""Every line and every text of a conversation once: what it says is read a single time, however many texts have it."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count as count_up
from itertools import islice
from typing import Any, Final
from weakref import WeakKeyDictionary

from msgspec import Struct

from ..core.facts import facts_of
from ..core.markers import Gap
from ..core.tokens import Counter
from ..core.values import Text
from .candidates import UNSIGNED
from .editable import Shape, shape_of
from .kinds import kinds_of
from .mentions import Form, form_of
from .pasted import Without
from .units import Units
from .versions import SHORTEST_LINE


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
    `kinds` its kind; `tells` is 0 for lines that are too short to be a reason for anything. `names` are the facts
    themselves, with their numbers.

    Several states of one conversation may share what is known: what was read of one is not read again in the next.
    """

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self.names: dict[str, int] = defaultdict(count_up().__next__)
        self.facts: list[tuple[int, ...]] = []
        self.kinds = bytearray()
        self.tells = bytearray()
        self.without: Without = {}
        """What `own_units` notes."""
        self._forms: list[Form] = []
        self._shapes: dict[int, Shape] = {}
        self._once: dict[tuple[object, ...], Any] = {}
        """Each form and each shape once: there are few, and facts and lines by the thousand."""
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

    def forms(self) -> Sequence[Form]:
        """The forms of all facts, by their numbers."""
        for form in map(form_of, islice(self.names, len(self._forms), None)):
            self._forms.append(self._once.setdefault(form, form))
        return self._forms

    def shapes(self, lines: Iterable[int]) -> Iterator[Shape]:
        """The shapes of some lines."""
        bodies, shapes, once = [*self.numbers], self._shapes, self._once
        for line in lines:
            shape = shapes.get(line)
            if shape is None:
                shape = shape_of(bodies[line])
                shape = shapes[line] = once.setdefault(shape, shape)
            yield shape

    def _lines(self, bodies: Sequence[str]) -> array[int]:
        """The numbers of lines; those that are new get theirs."""
        numbers, names = self.numbers, self.names
        new = [*dict.fromkeys(body for body in bodies if body not in numbers)]
        self.kinds += bytes(kinds_of(new))
        self.tells += bytes([len(body.strip()) >= SHORTEST_LINE for body in new])
        for body in new:
            numbers[body] = len(self.facts)
            self.facts.append(tuple(dict.fromkeys(map(names.__getitem__, facts_of(body)))))
        return array(UNSIGNED, map(numbers.__getitem__, bodies))


_SHARED: Final[WeakKeyDictionary[Counter, KnownLines]] = WeakKeyDictionary()


@contextmanager
def sharing_lines(count: Counter) -> Iterator[None]:
    """Meanwhile all surveys with this counter share what they read: for who condenses one conversation repeatedly."""
    if count in _SHARED:
        yield
        return
    _SHARED[count] = KnownLines()
    try:
        yield
    finally:
        del _SHARED[count]


def known_to(count: Counter) -> KnownLines:
    """What the surveys with this counter share; nothing yet where they do not."""
    return _SHARED.get(count) or KnownLines()
