"""What is known of a conversation: its facts, how likely each is needed again, and lines that edits may have to match.

How likely that is comes from two models that were fitted to real conversations, cut in two; see `likelihood`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from itertools import accumulate
from typing import Final

from ..facts import facts_of
from ..tokens import Counter
from ..tools import command_lines, writes_a_file
from ..transcript import Message
from .editable import Conversation, of_line, of_text
from .kinds import ERROR
from .likelihood import MODEL, Model, likelihoods
from .mentions import TOKEN, Mentions
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
        self.parts: dict[Key, Part] = {part.key: part for part in parts_of(messages) if part.text}
        self.units: dict[Key, Units] = {}
        self.positions: dict[Key, int] = {}
        self.end = 0
        for key, part in self.parts.items():
            self.units[key] = split(part.text)
            self.positions[key] = self.end
            self.end += len(part.text)
        self.newest_request = max((key for key, part in self.parts.items() if part.is_request), default=None)
        self.keys: dict[Key, list[tuple[int, ...]]] = {}
        self._numbers: dict[str, int] = {}
        self._of_body: dict[str, tuple[int, ...]] = {}
        self._mentions: list[Mentions] = []
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
        for fact, mentions in zip(self._numbers, self._mentions, strict=True):
            yield mentions.features(fact, self.end)

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
                any(self._mentions[number].written for number in facts),
                any(self._mentions[number].in_newest_request for number in facts),
                nearby[body],
            )

    def _nearby(self, positions: Set[int]) -> dict[str, float]:
        """For every line of the texts at some positions the share of lines around it that name what was written."""
        found: dict[str, float] = {}
        is_written = [fact.written > 0 for fact in self._mentions]
        for key, units in self.units.items():
            if self.positions[key] in positions:
                bodies = units.bodies
                sums = [
                    0,
                    *accumulate(any(is_written[n] for n in unit) for unit in map(self._of_body.__getitem__, bodies)),
                ]
                for unit, body in enumerate(bodies):
                    start, stop = max(0, unit - _AROUND), min(len(bodies), unit + _AROUND + 1)
                    found[body] = (sums[stop] - sums[start]) / (stop - start)
        return found

    def _read_facts(self) -> None:
        seen = self._mentions
        for key, part in self.parts.items():
            bodies, position = self.units[key].bodies, self.positions[key]
            keys = self.keys[key] = [self._facts(body) for body in bodies]
            seen += [Mentions(position) for _ in range(len(self._numbers) - len(seen))]
            is_printed = part.is_result and part.call is not None and bool(command_lines(part.call))
            is_newest = key == self.newest_request
            in_edit = part.is_argument and part.call is not None and writes_a_file(part.call)
            for number in {number for unit in keys for number in unit}:
                fact = seen[number]
                fact.last = position
                fact.texts += 1
                fact.shown |= not is_printed
                fact.requested |= part.is_request
                fact.in_newest_request |= is_newest
                if part.is_written:
                    fact.written += 1
                    fact.said |= not part.is_argument
                    fact.argument |= part.is_argument
                    fact.in_edit |= in_edit
        for body, unit in self._of_body.items():
            if not unit:
                continue
            is_error, written = ERROR.search(body) is not None, sum(seen[number].written > 0 for number in unit)
            for number in unit:
                fact = seen[number]
                fact.beside = min(fact.beside, len(unit))
                fact.in_error |= is_error
                fact.beside_written |= written > (fact.written > 0)

    def _facts(self, body: str) -> tuple[int, ...]:
        known = self._of_body.get(body)
        if known is None:
            facts = dict.fromkeys(facts_of(body))
            known = tuple(self._numbers.setdefault(fact, len(self._numbers)) for fact in facts)
            self._of_body[body] = known
        return known

    def _number_lines(self, weights: Sequence[float]) -> None:
        numbers = {body: len(self.weights) + number for number, body in enumerate(self.lines)}
        self.weights += weights
        for key, units in self.units.items():
            self.keys[key] = [
                (*facts, numbers[body]) if body in numbers else facts
                for facts, body in zip(self.keys[key], units.bodies, strict=True)
            ]
