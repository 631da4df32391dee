"""Survey a conversation: its lines and facts, how likely each is needed again, and lines to match.

How likely that is comes from two models that were fitted to real conversations, cut in two; see `likelihood`.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from functools import cached_property
from itertools import count as count_up
from itertools import islice
from typing import Any, Final
from weakref import WeakKeyDictionary

from msgspec import Struct

from ..core.facts import facts_of
from ..core.markers import Gap
from ..core.tokens import Counter
from ..core.transcript import Block, Message
from ..core.values import Text
from ..lossless.lines import Listing
from ..toolcalls.tools import command_lines, writes_a_file
from . import likelihood
from .answers import Address, own_units, sharing_words
from .choice import UNSIGNED, Coverage
from .likelihood import (
    ARGUMENT,
    IN_EDIT,
    IN_ERROR,
    IN_NEWEST_REQUEST,
    REQUESTED,
    SAID,
    SHOWN,
    TOKEN,
    Features,
    Form,
    Mentions,
    Model,
    Row,
    RowParts,
    Surroundings,
    Taking,
    as_they_are,
    form_of,
    odds,
    probability,
)
from .parts import Headings, Key, Part, parts_of, restated_units
from .units import Units, put_together, split
from .versions import (
    OF_SHAPE,
    OF_SURROUNDINGS,
    OF_TEXT,
    SHORTEST_LINE,
    EditableText,
    Kind,
    Line,
    Shape,
    editable_lines,
    failed_calls,
    kinds_of,
    of_shape,
    of_text,
    shape_of,
)
from .weights import OVERSTATED


class ReadText(Struct):
    """A text: the numbers of its units' lines, what is missing in it already, its facts, and its characters.

    `hash`, `has_final_break` and `listings` are those of its units. Once somebody has asked for them, `tokens` are
    those of its units, and `pieces` the first unit of its line, and the one behind its last, by each unit that is a
    piece of one.
    """

    bodies: array[int]
    gaps: Mapping[int, Gap]
    said: Sequence[int]
    size: int
    hash: str
    has_final_break: bool
    listings: Sequence[Listing] | None
    tokens: array[int] | None = None
    pieces: Mapping[int, tuple[int, int]] = {}


class KnownLines:
    """Lines without the numbers of listings. Each has a number, by which `facts` has the numbers of its facts, and
    `kinds` its kind; `tells` is 0 for lines that are too short to be a reason for anything. `names` are the facts
    themselves, with their numbers.

    Several states of one conversation may share what is known: what was read of one is not read again in the next.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.numbers: dict[str, int] = {}
        self.names: dict[str, int] = defaultdict(count_up().__next__)
        self.facts: list[tuple[int, ...]] = []
        self.kinds = bytearray()
        self.tells = bytearray()
        self.restated: dict[tuple[bool, tuple[Text, ...]], Sequence[Sequence[int]]] = {}
        """By the texts that the assistant says, and whether people only talk, what it says again later of each."""
        self._forms: list[Form] = []
        self._shapes: dict[int, Shape] = {}
        self._once: dict[tuple[object, ...], Any] = {}
        """Each form and each shape once: there are few, and facts and lines by the thousand."""
        self._texts: dict[tuple[Text, bool], ReadText] = {}

    def text(self, content: Text, *, by_sentence: bool) -> ReadText | None:
        """Return the knowledge of a text, if it was read."""
        return self._texts.get((content, by_sentence))

    def read(self, content: Text, units: Units, size: int, *, by_sentence: bool) -> ReadText:
        """Read a text of so many characters, by its units."""
        bodies, facts_in = self._lines(units.bodies), self.facts
        said = facts_in[bodies[0]] if len(bodies) == 1 else tuple(set().union(*map(facts_in.__getitem__, bodies)))
        read = self._texts[content, by_sentence] = ReadText(
            bodies, units.gaps, said, size, units.hash, units.has_final_break, units.listings
        )
        return read

    def units(self, read: ReadText, content: Text, *, by_sentence: bool) -> Units:
        """The units of a text that was read; it is split again only where its lines do not tell them."""
        if read.listings is None:
            return split(str(content), by_sentence=by_sentence)
        bodies = [*map(self.lines.__getitem__, read.bodies)]
        return put_together(bodies, read.hash, read.listings, has_final_break=read.has_final_break)

    def forms(self) -> Sequence[Form]:
        """The forms of all facts, by their numbers."""
        for form in map(form_of, islice(self.names, len(self._forms), None)):
            self._forms.append(self._once.setdefault(form, form))
        return self._forms

    def shapes(self, lines: Iterable[int]) -> Iterator[Shape]:
        """The shapes of some lines."""
        shapes, once = self._shapes, self._once
        for line in lines:
            shape = shapes.get(line)
            if shape is None:
                shape = shape_of(self.lines[line])
                shape = shapes[line] = once.setdefault(shape, shape)
            yield shape

    def _lines(self, bodies: Sequence[str]) -> array[int]:
        """The numbers of lines; those that are new get theirs."""
        numbers, names = self.numbers, self.names
        new = [*dict.fromkeys(body for body in bodies if body not in numbers)]
        self.kinds += bytes(kinds_of(new))
        self.tells += bytes([len(body.strip()) >= SHORTEST_LINE for body in new])
        self.lines += new
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
        with sharing_words(count):
            yield
    finally:
        del _SHARED[count]


def known_to(count: Counter) -> KnownLines:
    """Return what the surveys with this counter share; nothing yet if they share nothing."""
    return _SHARED.get(count) or KnownLines()


class _Units(Mapping[Key, Units]):
    """The units of parts, which are put together each time: held, they would take several times the text."""

    def __init__(
        self, known: KnownLines, texts: Mapping[Key, ReadText], parts: Mapping[Key, Part], by_sentence: Set[Key]
    ) -> None:
        self._known, self._texts, self._parts, self._by_sentence = known, texts, parts, by_sentence

    def __getitem__(self, key: Key) -> Units:
        return self._known.units(self._texts[key], self._parts[key].content, by_sentence=key in self._by_sentence)

    def __iter__(self) -> Iterator[Key]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)


class Survey:
    """Parts of a conversation with their units, keys and weights.

    A key is the number of a fact, or of a line of a file's newest state; `keys` has those of every unit of a part.
    Equal lines have one number, by which `known` has what they say; `bodies` has those of every unit of a part. What is
    `known` of an earlier state of the same conversation is not read again, and keeps its numbers.
    """

    def __init__(
        self,
        messages: Sequence[Message],
        count: Counter,
        model: Model | None = None,
        known: KnownLines | None = None,
    ) -> None:
        model = model or likelihood.MODEL
        self.messages = messages
        self.count = count
        self.known = known or known_to(count)
        self.parts: dict[Key, Part] = {part.key: part for part in parts_of(messages) if part.content}
        self.newest_request = max((key for key, part in self.parts.items() if part.is_request), default=None)
        self.is_talk = not any(part.call or part.is_result for part in self.parts.values())
        """Whether people, or one and a model, only talk: no tool is called."""
        self.texts: dict[Key, ReadText] = {}
        self.units: Mapping[Key, Units] = _Units(self.known, self.texts, self.parts, self._prose)
        self.gaps: dict[Key, Mapping[int, Gap]] = {}
        self.keys: dict[Key, Sequence[tuple[int, ...]]] = {}
        self.positions: dict[Key, int] = {}
        self.end = 0
        self.bodies: dict[Key, array[int]] = {}
        self._mentions = Mentions()
        self._kinds: dict[int, tuple[bool, bool]] = {}
        """Whether a call runs commands, and whether it writes a file, by its identity: its parts may be thousands."""
        self._read()
        self.facts: list[str] = [*self.known.names]
        self.weights: list[float] = [0.0] * len(self.facts)
        for fact, found in zip(self._mentions.mentioned(), self._fact_rows(odds(model.facts)), strict=True):
            self.weights[fact] = probability(found)
        self._failed = failed_calls(messages)
        self._lines = editable_lines(self.parts.values(), self._telling, self.positions, self._failed)
        self._number_lines([model.line * probability(found) for found in self._line_rows(odds(model.lines))])

    @cached_property
    def lines(self) -> dict[str, Line]:
        """Lines of the newest known state of every file."""
        return {self.known.lines[number]: line for number, line in self._lines.items()}

    @property
    def editable(self) -> Iterable[int]:
        """The numbers of these lines; their weights follow those of the facts, in this order."""
        return self._lines.keys()

    @cached_property
    def own(self) -> dict[Address, tuple[int, ...] | None]:
        """The user's own words, as `own_units` tells them."""
        return own_units(self.messages, self.count)

    @cached_property
    def _prose(self) -> frozenset[Key]:
        """Where people only talk: parts that are what somebody says, with nothing pasted in it."""
        said = (
            key
            for key, part in self.parts.items()
            if part.is_said or (part.is_request and self.own.get(key[:2]) is None)
        )
        return frozenset(said if self.is_talk else ())

    @cached_property
    def restated(self) -> dict[Key, Sequence[int]]:
        """By part the numbers of the units that the assistant says again later."""
        said = [key for key, part in self.parts.items() if part.is_said]
        texts = self.is_talk, tuple(self.parts[key].content for key in said)
        found = self.known.restated.get(texts)
        if found is None:
            again = restated_units(self.parts, self.units)
            found = self.known.restated[texts] = [again.get(key, ()) for key in said]
        return {key: units for key, units in zip(said, found, strict=True) if units}

    @cached_property
    def headings(self) -> Headings:
        return Headings(self.parts.values())

    def said_by(self, keys: Iterable[Key]) -> Coverage:
        """For every key of units how often these parts say it, and how much of it is expected to be needed."""
        said = Coverage.of(weight / OVERSTATED for weight in self.weights)
        for key in keys:
            for unit in self.keys[key]:
                said.add(unit)
        return said

    def age(self, key: Key) -> float:
        """Thousands of tokens, about, that follow the beginning of a part."""
        return (self.end - self.positions[key]) / (1_000 * TOKEN)

    def fact_features(self) -> Iterator[Features]:
        """The features of every fact that is in the conversation."""
        return self._fact_rows(as_they_are)

    def line_features(self) -> Iterator[Features]:
        """The features of every line of `lines`; `weights` are those of the facts."""
        return self._line_rows(as_they_are)

    def _fact_rows(self, taking: Taking[Row]) -> Iterator[Row]:
        return self._mentions.rows(self.known.forms(), self.end, taking)

    def _line_rows(self, taking: Taking[Row]) -> Iterator[Row]:
        lines, positions = self._lines, {line.position for line in self._lines.values()}
        conversation = EditableText.of(lines.values(), self.end)
        texts = [bodies for key, bodies in self.bodies.items() if self.positions[key] in positions]
        requested = self._mentions.in_newest_request()
        around = Surroundings(texts, self.known.facts, self.weights, self._named, requested)
        shown = {id(line): line for line in lines.values()}
        of_shown = RowParts(lambda line: of_text(shown[line], conversation), taking(OF_TEXT))
        of_form = RowParts(of_shape, taking(OF_SHAPE))
        of_place = taking(OF_SURROUNDINGS)
        for (number, line), shape in zip(lines.items(), self.known.shapes(lines), strict=True):
            yield of_shown[id(line)] + of_form[shape] + of_place(around.of(number))

    def _telling(self, key: Key) -> Iterator[int]:
        """The lines of a part that are long enough to be a reason for anything."""
        return filter(self.known.tells.__getitem__, self.bodies[key])

    def _read(self) -> None:
        known, mentions = self.known, self._mentions
        for key, part in self.parts.items():
            by_sentence = key in self._prose
            read = known.text(part.content, by_sentence=by_sentence)
            if read is None:
                units, size = split(part.text, by_sentence=by_sentence), len(part.text)
                read = known.read(part.content, units, size, by_sentence=by_sentence)
            mentions.grow(len(known.names))
            self.texts[key] = read
            self.bodies[key], self.gaps[key], self.positions[key] = read.bodies, read.gaps, self.end
            if read.said:
                mentions.tell(read.said, self.end, self._flags(part), is_written=part.is_written)
            self.end += read.size
        facts, kinds = known.facts, known.kinds
        self._named = named = bytearray(len(facts))
        """Which lines name a fact that the assistant wrote."""
        for number in set().union(*self.bodies.values()):
            if facts[number]:
                is_error = kinds[number] == Kind.ERROR
                named[number] = mentions.stand_together(facts[number], IN_ERROR if is_error else 0)

    def _flags(self, part: Part) -> int:
        """Return the flags of the facts that a part mentions."""
        flags = 0
        runs_commands, writes = self._kind(part.call)
        if not (part.is_result and runs_commands):
            flags |= SHOWN
        if part.is_request:
            flags |= REQUESTED
        if part.key == self.newest_request:
            flags |= IN_NEWEST_REQUEST
        if part.is_written:
            flags |= ARGUMENT if part.is_argument else SAID
            if part.is_argument and writes:
                flags |= IN_EDIT
        return flags

    def _kind(self, call: Block | None) -> tuple[bool, bool]:
        if call is None:
            return False, False
        known = self._kinds.get(id(call))
        if known is None:
            known = self._kinds[id(call)] = bool(command_lines(call)), writes_a_file(call)
        return known

    def _number_lines(self, weights: Sequence[float]) -> None:
        """Give numbers to the lines that edits may match, behind those of the facts, and the keys to all units.

        What a call was to write that failed says facts alone: its lines are no state of the file.
        """
        keys_of = self.known.facts.copy()
        for line, number in enumerate(self._lines, len(self.weights)):
            keys_of[number] = (*keys_of[number], line)
        self.weights += weights
        known: dict[int, Sequence[tuple[int, ...]]] = {}
        for key, bodies in self.bodies.items():
            call = self.parts[key].call
            if call is not None and id(call) in self._failed and self._kind(call)[1]:
                self.keys[key] = tuple(map(self.known.facts.__getitem__, bodies))
                continue
            found = known.get(id(bodies))
            if found is None:
                found = known[id(bodies)] = tuple(map(keys_of.__getitem__, bodies))
            self.keys[key] = found
