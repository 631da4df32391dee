"""What is known of a conversation: its facts, how likely each is needed again, and lines that edits may have to match.

How likely that is comes from two models that were fitted to real conversations, cut in two; see `likelihood`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence, Set
from itertools import accumulate
from itertools import count as count_up
from typing import Final

from ..facts import facts_of
from ..spelled import Text
from ..tokens import Counter
from ..tools import command_lines, writes_a_file
from ..transcript import Message
from .editable import Conversation, of_line, of_text
from .kinds import tells_an_error
from .likelihood import MODEL, Model, likelihoods
from .mentions import ARGUMENT, IN_EDIT, IN_ERROR, IN_NEWEST_REQUEST, REQUESTED, SAID, SHOWN, TOKEN, Mentions
from .parts import Key, Part, parts_of
from .units import Units, split
from .versions import editable_lines

_AROUND: Final = 4
"""So many lines before and after a line are near it."""


def _kilotokens(characters: int) -> float:
    return characters / (1_000 * TOKEN)


class Survey:
    """Parts of a conversation with their units, keys and weights.

    A key is the number of a fact, or of a line of a file's newest state; `keys` has those of every unit of a part.
    """

    def __init__(self, messages: Sequence[Message], count: Counter, model: Model = MODEL) -> None:
        self.messages = messages
        self.count = count
        self.parts: dict[Key, Part] = {part.key: part for part in parts_of(messages) if part.content}
        self.units: dict[Key, Units] = {}
        self.positions: dict[Key, int] = {}
        self.end = 0
        self._read_units()
        self.newest_request = max((key for key, part in self.parts.items() if part.is_request), default=None)
        self.keys: dict[Key, list[tuple[int, ...]]] = {}
        self._numbers: dict[str, int] = defaultdict(count_up().__next__)
        self._of_body: dict[str, tuple[int, ...]] = {}
        self._mentions = Mentions()
        self._read_facts()
        self.weights: list[float] = likelihoods(self.fact_features(), model.facts)
        self.lines = editable_lines(
            self.parts.values(), {key: units.bodies for key, units in self.units.items()}, self.positions
        )
        likely = likelihoods(self.line_features(), model.lines)
        self._number_lines([model.line * value for value in likely])

    def said_by(self, keys: Iterable[Key]) -> list[int]:
        """For every key of units how often these parts say it."""
        said = [0] * len(self.weights)
        for key in keys:
            self.add_said(said, key)
        return said

    def add_said(self, said: list[int], key: Key) -> None:
        """Count what one more part says."""
        for unit in self.keys[key]:
            for number in unit:
                said[number] += 1

    def age(self, key: Key) -> float:
        """Thousands of tokens, about, that follow the beginning of a part."""
        return _kilotokens(self.end - self.positions[key])

    @property
    def facts(self) -> list[str]:
        """The facts by their numbers."""
        return list(self._numbers)

    def fact_features(self) -> Iterator[tuple[float, ...]]:
        """The features of every fact."""
        for number, fact in enumerate(self._numbers):
            yield self._mentions.features(number, fact, self.end)

    def line_features(self) -> Iterator[tuple[float, ...]]:
        """The features of every line of `lines`; `weights` are those of the facts."""
        conversation = Conversation.of(self.lines.values(), self.end)
        nearby = self._nearby({line.position for line in self.lines.values()})
        shared: dict[int, tuple[float, ...]] = {}
        for body, line in self.lines.items():
            of_all = shared.get(id(line)) or shared.setdefault(id(line), of_text(line, conversation))
            facts = self._of_body[body]
            yield of_all + of_line(
                body,
                [self.weights[number] for number in facts],
                any(self._mentions.written[number] for number in facts),
                any(map(self._mentions.is_in_newest_request, facts)),
                nearby[body],
            )

    def _nearby(self, positions: Set[int]) -> dict[str, float]:
        """For every line of the texts at some positions the share of lines around it that name what was written."""
        found: dict[str, float] = {}
        written = self._mentions.written
        names_written = {body for body, facts in self._of_body.items() if any(map(written.__getitem__, facts))}
        for key, units in self.units.items():
            if self.positions[key] in positions:
                bodies = units.bodies
                sums = [0, *accumulate(map(names_written.__contains__, bodies))]
                for unit, body in enumerate(bodies):
                    if body in self.lines:
                        start, stop = max(0, unit - _AROUND), min(len(bodies), unit + _AROUND + 1)
                        found[body] = (sums[stop] - sums[start]) / (stop - start)
        return found

    def _read_units(self) -> None:
        known: dict[str, str] = {}
        read: dict[Text, tuple[Units, int]] = {}
        for key, part in self.parts.items():
            if part.content not in read:
                text = part.text
                read[part.content] = split(text, known), len(text)
            self.units[key], size = read[part.content]
            self.positions[key] = self.end
            self.end += size

    def _read_facts(self) -> None:
        mentions = self._mentions
        read: dict[int, tuple[list[tuple[int, ...]], frozenset[int]]] = {}
        for key, part in self.parts.items():
            units, position = self.units[key], self.positions[key]
            known = read.get(id(units))
            if known is None:
                keys = [*map(self._facts, units.bodies)]
                known = read[id(units)] = keys, frozenset().union(*keys)
                mentions.grow(len(self._numbers), position)
            self.keys[key], numbers = known
            if numbers:
                mentions.tell(numbers, position, self._flags(part), is_written=part.is_written)
        for body, facts in self._of_body.items():
            if facts:
                mentions.stand_together(facts, IN_ERROR if tells_an_error(body) else 0)

    def _flags(self, part: Part) -> int:
        """What is true of the facts that a part mentions."""
        flags = 0
        if not (part.is_result and part.call is not None and command_lines(part.call)):
            flags |= SHOWN
        if part.is_request:
            flags |= REQUESTED
        if part.key == self.newest_request:
            flags |= IN_NEWEST_REQUEST
        if part.is_written:
            flags |= ARGUMENT if part.is_argument else SAID
            if part.is_argument and part.call is not None and writes_a_file(part.call):
                flags |= IN_EDIT
        return flags

    def _facts(self, body: str) -> tuple[int, ...]:
        known = self._of_body.get(body)
        if known is None:
            known = self._of_body[body] = tuple(dict.fromkeys(map(self._numbers.__getitem__, facts_of(body))))
        return known

    def _number_lines(self, weights: Sequence[float]) -> None:
        numbers = count_up(len(self.weights))
        self.weights += weights
        numbered = {body: (*self._of_body[body], number) for body, number in zip(self.lines, numbers, strict=False)}
        read: dict[int, list[tuple[int, ...]]] = {}
        for key, units in self.units.items():
            if id(units) not in read:
                facts = self.keys[key]
                is_numbered = not numbered.keys().isdisjoint(units.bodies)
                read[id(units)] = [*map(numbered.get, units.bodies, facts)] if is_numbered else facts
            self.keys[key] = read[id(units)]
