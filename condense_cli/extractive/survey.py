"""What is known of a conversation: its facts, how likely each is needed again, and lines that edits may have to match.

The weights of facts were fitted to real conversations, cut in two: how the odds that the assistant later writes a fact
grow with what is known of it at the cut. Whether it wrote the fact before counts most, then whether the user did, how
often, and how long ago that was.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from math import log2
from typing import Final

from msgspec import Struct

from ..facts import facts_of
from ..tokens import Counter
from ..tools import command_lines
from ..transcript import Message
from .parts import Key, Part, parts_of
from .units import Units, split
from .versions import editable_lines

_WRITTEN: Final = 5.0
_EACH_DOUBLING: Final = 1.7
_REQUESTED: Final = 2.5
_IN_ERROR: Final = 2.3
_PRINTED: Final = 0.4
"""Factors of a fact's weight: the assistant wrote it; each time twice as often; the user wrote it. Of those that the
assistant never wrote: an error names it; nothing but the output of commands shows it."""

_AGE: Final = 0.5
_CROWDED: Final = 0.5
"""The weight falls with these powers of the fact's age in thousands of tokens, and of the facts beside it on its line:
lists and dumps name much that nobody needs."""

_LINE: Final = 0.5
_EDITED: Final = 2.0
"""What a line that an edit may have to match is worth of a fact that the assistant never wrote, and how many times
that where its file was edited before."""

ERROR: Final = re.compile(
    r"(?i)\b(?:error|exception|fail(?:ed|ure|s)?|fatal|panic|traceback|assert(?:ion)?|denied|not found|cannot)\b|^E  "
)
DEFINITION: Final = re.compile(
    r"\s*(?:export |default |async |public |private |protected |static |pub |abstract )*"
    r"(?:def|class|function|interface|type|struct|enum|trait|impl|fn|func|module)\s+\w"
)
DECISION: Final = re.compile(
    r"(?i)\b(?:decid|instead|because|root cause|the (?:problem|issue|bug|reason|fix)|must|should|never|always"
    r"|need to|turns out|found|fixed|important|note that|remember|todo|next step|conclusion|summary)"
)


class _Seen(Struct):
    """What is known of a fact.

    Its newest position, how often the assistant wrote it, whether the user wrote it, an error names it, and anything
    but the output of a command shows it, and the number of facts on the shortest line that holds it.
    """

    position: int = 0
    written: int = 0
    is_requested: bool = False
    is_in_error: bool = False
    is_shown: bool = False
    beside: int = 1_000

    def weight(self, end: int) -> float:
        weight: float = (1 + _kilotokens(end - self.position)) ** -_AGE * self.beside**-_CROWDED
        if self.is_requested:
            weight *= _REQUESTED
        if self.written:
            return weight * _WRITTEN * float(_EACH_DOUBLING ** log2(self.written))
        if self.is_in_error:
            weight *= _IN_ERROR
        return weight if self.is_shown else weight * _PRINTED


def _kilotokens(characters: int) -> float:
    return characters / 4_000


class Survey:
    """Parts of a conversation with their units, keys and weights.

    A key is the number of a fact, or of a line of a file's newest state; `keys` has those of every unit of a part.
    """

    def __init__(self, messages: Sequence[Message], count: Counter) -> None:
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
        self._numbers: dict[str, int] = {}
        self._of_body: dict[str, tuple[int, ...]] = {}
        self.keys: dict[Key, list[tuple[int, ...]]] = {}
        self.weights: list[float] = self._read_facts()
        self._read_lines()

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

    def _read_facts(self) -> list[float]:
        seen: list[_Seen] = []
        for key, part in self.parts.items():
            keys = self.keys[key] = [self._facts(body) for body in self.units[key].bodies]
            seen += [_Seen() for _ in range(len(self._numbers) - len(seen))]
            errors = [
                unit for unit, body in zip(keys, self.units[key].bodies, strict=True) if unit and ERROR.search(body)
            ]
            is_printed = part.is_result and part.call is not None and bool(command_lines(part.call))
            for unit in keys:
                for number in unit:
                    seen[number].beside = min(seen[number].beside, len(unit))
            for number in {number for unit in keys for number in unit}:
                fact = seen[number]
                fact.is_shown |= not is_printed
                fact.position = self.positions[key]
                fact.written += part.is_written
                fact.is_requested |= part.is_request
            for unit in errors:
                for number in unit:
                    seen[number].is_in_error = True
        return [fact.weight(self.end) for fact in seen]

    def _facts(self, body: str) -> tuple[int, ...]:
        known = self._of_body.get(body)
        if known is None:
            facts = dict.fromkeys(facts_of(body))
            known = tuple(self._numbers.setdefault(fact, len(self._numbers)) for fact in facts)
            self._of_body[body] = known
        return known

    def _read_lines(self) -> None:
        bodies = {key: units.bodies for key, units in self.units.items()}
        numbers: dict[str, int] = {}
        for line, state in editable_lines(self.parts.values(), bodies, self.positions).items():
            numbers[line] = len(self.weights)
            age = 1 + _kilotokens(self.end - state.position)
            self.weights.append(_LINE * age**-_AGE * (_EDITED if state.edits else 1.0))
        for key, units in self.units.items():
            self.keys[key] = [
                (*facts, numbers[body]) if body in numbers else facts
                for facts, body in zip(self.keys[key], units.bodies, strict=True)
            ]
