"""What is known of a conversation: its facts, how likely each is needed again, and lines that edits may have to match.

How likely that is comes from two models that were fitted to real conversations, cut in two; see `likelihood`.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from itertools import compress
from typing import Final

from ..core.markers import Gap
from ..core.tokens import Counter
from ..core.transcript import Block, Message
from ..toolcalls.tools import command_lines, writes_a_file
from . import likelihood
from .coverage import Coverage
from .editable import EditableText, Nearby, of_line, of_text
from .headings import Headings
from .kinds import Kind
from .known_lines import KnownLines, ReadText, known_to
from .likelihood import Model, likelihoods, of_products
from .mentions import ARGUMENT, IN_EDIT, IN_ERROR, IN_NEWEST_REQUEST, REQUESTED, SAID, SHOWN, TOKEN, Mentions
from .neighbours import highest, means
from .parts import Key, Part, parts_of
from .pasted import Address, own_units
from .units import Units, split
from .versions import editable_lines

_NEAR: Final = 4
_AROUND: Final = 12
"""So many lines before and after a line are near it, and around it."""


def _kilotokens(characters: int) -> float:
    return characters / (1_000 * TOKEN)


class _Units(Mapping[Key, Units]):
    """The units of parts, which are read each time: held, they would take several times the text."""

    def __init__(self, parts: Mapping[Key, Part], by_sentence: Set[Key]) -> None:
        self._parts, self._by_sentence = parts, by_sentence

    def __getitem__(self, key: Key) -> Units:
        return split(self._parts[key].text, by_sentence=key in self._by_sentence)

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
        self.parts: dict[Key, Part] = {part.key: part for part in parts_of(messages) if part.content}
        self.newest_request = max((key for key, part in self.parts.items() if part.is_request), default=None)
        self.is_talk = not any(part.call or part.is_result for part in self.parts.values())
        """Whether people, or one and a model, only talk: no tool is called."""
        self.units: Mapping[Key, Units] = _Units(self.parts, self._prose)
        self.gaps: dict[Key, Mapping[int, Gap]] = {}
        self.keys: dict[Key, Sequence[tuple[int, ...]]] = {}
        self.positions: dict[Key, int] = {}
        self.end = 0
        self.bodies: dict[Key, array[int]] = {}
        self.known = known or known_to(count)
        self.texts: dict[Key, ReadText] = {}
        self._mentions = Mentions()
        self._kinds: dict[int, tuple[bool, bool]] = {}
        """Whether a call runs commands, and whether it writes a file, by its identity: its parts may be thousands."""
        self._read()
        self.facts: list[str] = [*self.known.names]
        likely = map(of_products, self._mentions.rows(self.facts, self.end, model.facts))
        self.weights: list[float] = [next(likely) if texts else 0.0 for texts in self._mentions.texts]
        lines = [*self.known.numbers]
        self.lines = editable_lines(
            self.parts.values(), lambda key: [lines[number] for number in self.bodies[key]], self.positions
        )
        self._number_lines([model.line * value for value in likelihoods(self.line_features(), model.lines)])

    @cached_property
    def own(self) -> dict[Address, tuple[int, ...] | None]:
        """The user's own words, as `own_units` tells them."""
        return own_units(self.messages)

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
    def headings(self) -> Headings:
        return Headings(self.parts.values())

    def said_by(self, keys: Iterable[Key]) -> Coverage:
        """For every key of units how often these parts say it."""
        said = Coverage.of(self.weights)
        for key in keys:
            for unit in self.keys[key]:
                said.add(unit)
        return said

    def age(self, key: Key) -> float:
        """Thousands of tokens, about, that follow the beginning of a part."""
        return _kilotokens(self.end - self.positions[key])

    def fact_features(self) -> Iterator[tuple[float, ...]]:
        """The features of every fact that is in the conversation."""
        return self._mentions.rows(self.facts, self.end)

    def line_features(self) -> Iterator[tuple[float, ...]]:
        """The features of every line of `lines`; `weights` are those of the facts."""
        conversation = EditableText.of(self.lines.values(), self.end)
        nearby = self._nearby({line.position for line in self.lines.values()})
        shared: dict[int, tuple[float, ...]] = {}
        for body, line in self.lines.items():
            of_all = shared.get(id(line)) or shared.setdefault(id(line), of_text(line, conversation))
            number = self.known.numbers[body]
            facts = self.known.facts[number]
            yield of_all + of_line(
                body,
                [self.weights[fact] for fact in facts],
                any(self._mentions.written[fact] for fact in facts),
                any(map(self._mentions.is_in_newest_request, facts)),
                nearby(number),
            )

    def _nearby(self, positions: Set[int]) -> Callable[[int], Nearby]:
        """What stands near each line of the texts at some positions, by its number."""
        weight, written = self.weights.__getitem__, self._mentions.written.__getitem__
        names_written = bytes([any(map(written, facts)) for facts in self.known.facts])
        likeliest_in = array("d", [max(map(weight, facts)) if facts else 0.0 for facts in self.known.facts])
        shares, highests, means_around = (array("d", bytes(8 * len(likeliest_in))) for _ in range(3))
        for key, bodies in self.bodies.items():
            if self.positions[key] in positions:
                likeliest = [likeliest_in[body] for body in bodies]
                near = means([names_written[body] for body in bodies], _NEAR)
                columns = zip(bodies, near, highest(likeliest, _NEAR), means(likeliest, _AROUND), strict=True)
                for body, share, high, mean in columns:
                    shares[body], highests[body], means_around[body] = share, high, mean
        return lambda body: Nearby(shares[body], highests[body], means_around[body])

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
        is_here = bytearray(len(known.facts))
        for bodies in self.bodies.values():
            for number in bodies:
                is_here[number] = 1
        for facts, kind in compress(zip(known.facts, known.kinds, strict=True), is_here):
            if facts:
                mentions.stand_together(facts, IN_ERROR if kind == Kind.ERROR else 0)

    def _flags(self, part: Part) -> int:
        """What is true of the facts that a part mentions."""
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
        """Give numbers to the lines that edits may match, behind those of the facts, and the keys to all units."""
        keys_of = self.known.facts.copy()
        for line, body in enumerate(self.lines, len(self.weights)):
            number = self.known.numbers[body]
            keys_of[number] = (*keys_of[number], line)
        self.weights += weights
        known: dict[int, Sequence[tuple[int, ...]]] = {}
        for key, bodies in self.bodies.items():
            found = known.get(id(bodies))
            if found is None:
                found = known[id(bodies)] = tuple(map(keys_of.__getitem__, bodies))
            self.keys[key] = found
