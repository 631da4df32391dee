"""Read the texts of a conversation line by line: lines have numbers, and what is known of one is worked out once."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from itertools import count as count_up
from itertools import islice
from typing import Any

from msgspec import Struct

from ..core.markers import Gap
from ..core.text_facts import facts_of
from ..core.transcript import BlockPlace, Message
from ..core.values import Text
from ..lossless.lines import Listing
from ..tokens.counting import Counter
from .answers import own_units
from .choice import UNSIGNED
from .corrections import outdated_texts
from .likelihood import Form, form_of
from .parts import Key, Part, parts_of, restated_units, words_of
from .units import (
    WRAPPED,
    Units,
    first_lines,
    layout_of,
    pieces_of,
    priced_texts,
    put_together,
    sections_of,
    split,
    wrapped_of,
)
from .versions import SHORTEST_LINE, Shape, kinds_of, shape_of


class ReadText(Struct):
    """A text: the numbers of its units' lines, what is missing in it already, its facts, and its characters.

    `hash`, `has_final_break` and `listings` are those of its units, `pieces` the first unit of its line, and the one
    behind its last, by each unit that is a piece of one. `shows_numbers`: its units are written with numbers that its
    lines have not. Once somebody has asked for them, `tokens` are those of its units, `sections` the unit behind its
    section by each that is a heading, and `groups` the units that come with one: all lines of a wrapped sentence, and
    with a heading the first below it.
    """

    bodies: array[int]
    gaps: Mapping[int, Gap]
    said: Sequence[int]
    size: int
    hash: str
    has_final_break: bool
    listings: Sequence[Listing] | None
    pieces: Mapping[int, tuple[int, int]]
    shows_numbers: bool
    tokens: array[int] | None = None
    sections: Mapping[int, int] | None = None
    groups: Mapping[int, Sequence[int]] = {}


class KnownLines:
    """Lines without the numbers of listings. Each has a number, by which `facts` has the numbers of its facts,
    `kinds` its kind, `layouts` its layout, and `tokens` its tokens with the line break, 0 until somebody asks; `tells`
    is 0 for lines that are too short to be a reason for anything. `names` are the facts themselves, with their numbers.

    Several states of one conversation may share what is known: what was read of one is not read again in the next.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.numbers: dict[str, int] = {}
        self.names: dict[str, int] = defaultdict(count_up().__next__)
        self.facts: list[tuple[int, ...]] = []
        self.kinds = bytearray()
        self.layouts = bytearray()
        self.tells = bytearray()
        self.tokens = array(UNSIGNED)
        self.restated: dict[tuple[bool, tuple[Text, ...]], Sequence[Sequence[int]]] = {}
        """By the texts that the assistant says, and whether people only talk, what it says again later of each."""
        self.worth_it: list[tuple[Sequence[Message], object, Mapping[Key, Text]]] = []
        """Texts without lines of little worth, by the state of the conversation and what was asked for."""
        self._forms: list[Form] = []
        self._shapes: dict[int, Shape] = {}
        self._words: dict[int, str] = {}
        self._once: dict[tuple[object, ...], Any] = {}
        """Each form and each shape once: there are few, and facts and lines by the thousand."""
        self._texts: dict[tuple[Text, bool], ReadText] = {}

    def text(self, content: Text, *, by_sentence: bool) -> ReadText:
        """Return the reading of a text, made at its first use."""
        read = self._texts.get((content, by_sentence))
        if read is None:
            text = str(content)
            units = split(text, by_sentence=by_sentence)
            bodies, facts = self._lines(units.bodies), self.facts
            said = facts[bodies[0]] if len(bodies) == 1 else tuple(set().union(*map(facts.__getitem__, bodies)))
            read = self._texts[content, by_sentence] = ReadText(
                bodies, units.gaps, said, len(text), units.hash, units.has_final_break, units.listings,
                pieces_of(units), units.texts is not units.bodies and priced_texts(units) != units.bodies,
            )  # fmt: skip
        return read

    def units(self, read: ReadText, content: Text, *, by_sentence: bool) -> Units:
        """The units of a text that was read; it is split again only where its lines do not tell them."""
        if read.listings is None:
            return split(str(content), by_sentence=by_sentence)
        bodies = [*map(self.lines.__getitem__, read.bodies)]
        return put_together(bodies, read.hash, read.listings, has_final_break=read.has_final_break)

    def tokens_of(self, read: ReadText, content: Text, count: Counter, *, by_sentence: bool) -> array[int]:
        """The tokens of the units of a text as most of them are written, each with the line break behind it."""
        if read.tokens is None and (read.pieces or read.shows_numbers):
            texts = priced_texts(self.units(read, content, by_sentence=by_sentence))
            # Only behind the last piece of a line there is a line break.
            inside = {unit for unit, (_, stop) in read.pieces.items() if stop > unit + 1}
            ended = (text if unit in inside else f"{text}\n" for unit, text in enumerate(texts))
            read.tokens = array(UNSIGNED, count.each_anew(ended))
        elif read.tokens is None:
            tokens = self.tokens
            new = [line for line in dict.fromkeys(read.bodies) if not tokens[line]]
            for line, found in zip(new, count.each_anew([self.lines[line] + "\n" for line in new]), strict=True):
                tokens[line] = found
            read.tokens = array(UNSIGNED, map(tokens.__getitem__, read.bodies))
        return read.tokens

    def lay_out(self, read: ReadText) -> None:
        """Work out the sections and the groups of a text, at the first use."""
        if read.sections is not None:
            return
        layout = bytes(map(self.layouts.__getitem__, read.bodies))
        read.sections = sections_of(layout)
        is_wrapped = WRAPPED in layout and read.listings is not None
        if read.sections or is_wrapped:
            lines = [*map(self.lines.__getitem__, read.bodies)]
            sentences = wrapped_of(layout, lines) if is_wrapped else {}
            read.groups = sentences | first_lines(read.sections, lines, sentences, read.pieces)

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

    def words(self, lines: Iterable[int]) -> list[str]:
        """The words of some lines that the assistant says."""
        known = self._words
        for line in lines:
            if line not in known:
                known[line] = words_of(self.lines[line])
        return [*map(known.__getitem__, lines)]

    def _lines(self, bodies: Sequence[str]) -> array[int]:
        """The numbers of lines; those that are new get theirs."""
        numbers, names = self.numbers, self.names
        new = [*dict.fromkeys(body for body in bodies if body not in numbers)]
        self.kinds += bytes(kinds_of(new))
        self.layouts += bytes(map(layout_of, new))
        self.tells += bytes([len(body.strip()) >= SHORTEST_LINE for body in new])
        self.lines += new
        self.tokens.extend(bytes(len(new)))
        for body in new:
            numbers[body] = len(self.facts)
            self.facts.append(tuple(dict.fromkeys(map(names.__getitem__, facts_of(body)))))
        return array(UNSIGNED, map(numbers.__getitem__, bodies))


def known_to(count: Counter) -> KnownLines:
    """Return what the surveys with this counter share; nothing yet if they share nothing."""
    return count.shared(KnownLines)


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


class Reading:
    """Parts of a conversation with their units.

    Equal lines have one number, by which `known` has what they say; `bodies` has those of every unit of a part. What is
    `known` of an earlier state of the same conversation is not read again, and keeps its numbers. `positions` are the
    characters before each part, and `end` are all.
    """

    def __init__(self, messages: Sequence[Message], count: Counter, known: KnownLines | None = None) -> None:
        self.messages = messages
        self.count = count
        self.known = known = known or known_to(count)
        self.parts: dict[Key, Part] = {part.key: part for part in parts_of(messages) if part.content}
        self.is_talk = not any(part.call or part.is_result for part in self.parts.values())
        """Whether people, or one and a model, only talk: no tool is called."""
        self.texts: dict[Key, ReadText] = {}
        self.units: Mapping[Key, Units] = _Units(known, self.texts, self.parts, self._prose)
        self.gaps: dict[Key, Mapping[int, Gap]] = {}
        self.bodies: dict[Key, array[int]] = {}
        self.positions: dict[Key, int] = {}
        self.end = 0
        for key, part in self.parts.items():
            read = self.texts[key] = known.text(part.content, by_sentence=key in self._prose)
            self.bodies[key], self.gaps[key], self.positions[key] = read.bodies, read.gaps, self.end
            self.end += read.size

    def tokens_of(self, key: Key) -> array[int]:
        """The tokens of each unit of a part."""
        content, by_sentence = self.parts[key].content, key in self._prose
        return self.known.tokens_of(self.texts[key], content, self.count, by_sentence=by_sentence)

    @cached_property
    def own(self) -> dict[BlockPlace, tuple[int, ...] | None]:
        """The user's own words, as `own_units` tells them."""
        return own_units(self.messages, self.count)

    @cached_property
    def outdated(self) -> Collection[BlockPlace]:
        """Texts of the user that say nothing but what later ones correct."""
        return outdated_texts(self.messages)

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
            found = self.known.restated[texts] = restated_units([self.known.words(self.bodies[key]) for key in said])
        return {key: units for key, units in zip(said, found, strict=True) if units}
