"""Survey a conversation: its lines and facts, how likely each is needed again, and lines to match.

How likely that is comes from two models that were fitted to real conversations, cut in two; see `likelihood`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Final

from ..core.lazy_pattern import lazy_pattern
from ..core.transcript import Block, Message
from ..tokens.counting import Counter
from ..toolcalls.tools import command_lines, writes_a_file
from . import likelihood
from .choice import Coverage
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
    Mentions,
    Model,
    Row,
    RowParts,
    Surroundings,
    Taking,
    as_they_are,
    odds,
    probability,
)
from .parts import Headings, Key, Part
from .reading import KnownLines, Reading
from .versions import (
    OF_SHAPE,
    OF_SURROUNDINGS,
    OF_TEXT,
    EditableText,
    Kind,
    Line,
    editable_lines,
    failed_calls,
    of_shape,
    of_text,
)
from .weights import OVERSTATED

_HASH: Final = lazy_pattern(r"[0-9a-f]{7,64}")
_ABBREVIATED: Final = 7
"""Digits of a hash that git and people write of it, or some more."""
_WHOLE: Final = 20
"""A hash of so many digits is no abbreviation."""


def _abbreviated(names: Iterable[str]) -> dict[int, list[int]]:
    """Return the numbers of hashes by those of their abbreviations: to name one so is to name it."""
    hashes = [
        (name, number) for number, name in enumerate(names) if len(name) >= _ABBREVIATED and _HASH.fullmatch(name)
    ]
    whole: dict[str, list[tuple[str, int]]] = {}
    for name, number in hashes:
        if len(name) >= _WHOLE:
            whole.setdefault(name[:_ABBREVIATED], []).append((name, number))
    found = {
        number: [other for each, other in whole.get(name[:_ABBREVIATED], ()) if each.startswith(name)]
        for name, number in (hashes if whole else ())
        if len(name) < _WHOLE
    }
    return {number: others for number, others in found.items() if others}


class Survey(Reading):
    """What is read of a conversation, with keys and weights.

    A key is the number of a fact, or of a line of a file's newest state; `keys` has those of every unit of a part.
    """

    def __init__(
        self,
        messages: Sequence[Message],
        count: Counter,
        model: Model | None = None,
        known: KnownLines | None = None,
    ) -> None:
        super().__init__(messages, count, known)
        model = model or likelihood.MODEL
        self.newest_request = max((key for key, part in self.parts.items() if part.is_request), default=None)
        self.keys: dict[Key, Sequence[tuple[int, ...]]] = {}
        self._mentions = Mentions()
        self._kinds: dict[int, tuple[bool, bool]] = {}
        """Whether a call runs commands, and whether it writes a file, by its identity: its parts may be thousands."""
        self._tell()
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

    def _tell(self) -> None:
        """Take in which facts the parts mention, and which lines name one that the assistant wrote."""
        known, mentions = self.known, self._mentions
        mentions.grow(len(known.names))
        in_full = _abbreviated(known.names)
        for key, part in self.parts.items():
            if said := self.texts[key].said:
                named: Iterable[int] = said
                if in_full:
                    named = {*said, *(other for fact in said for other in in_full.get(fact, ()))}
                mentions.tell(named, self.positions[key], self._flags(part), is_written=part.is_written)
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

        What a call was to write that failed says facts alone: its lines are no state of the file. What the user
        corrected says nothing.
        """
        keys_of = self.known.facts.copy()
        for line, number in enumerate(self._lines, len(self.weights)):
            keys_of[number] = (*keys_of[number], line)
        self.weights += weights
        known: dict[int, Sequence[tuple[int, ...]]] = {}
        for key, bodies in self.bodies.items():
            call = self.parts[key].call
            if key[:2] in self.outdated:
                self.keys[key] = ((),) * len(bodies)
                continue
            if call is not None and id(call) in self._failed and self._kind(call)[1]:
                self.keys[key] = tuple(map(self.known.facts.__getitem__, bodies))
                continue
            found = known.get(id(bodies))
            if found is None:
                found = known[id(bodies)] = tuple(map(keys_of.__getitem__, bodies))
            self.keys[key] = found
