"""What a conversation, and what is left of it, say for and against the lines of texts that were cut.

Read once for all of these: which later texts name a fact or show a line, and which of them still do.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from itertools import chain, islice
from typing import Final

from ...core.facts import facts_of
from ...core.values import BlockKind
from ..parts import Key, Part
from ..pasted import Address
from ..survey import Survey
from ..units import split
from .file_work import FileWork, is_same_file
from .remaining import lines_of, which_remain
from .solved import Failures

_LOOKED_AT: Final = 64
"""A line may be shown thousands of times."""

_SHOWN: Final = 3
"""Shorter lines, such as a closing bracket, are anywhere."""


class CopyEvidence:
    """Facts and lines of the parts at some addresses, followed through a conversation.

    `left` has for every part that changed what is left of its text, None where nothing is. `added` are texts that
    came in with a cut, such as summaries. Only the parts at addresses that are `asked` are followed.
    """

    def __init__(
        self, survey: Survey, left: Mapping[Key, str | None], added: Iterable[str], asked: Collection[Address]
    ) -> None:
        self.survey = survey
        self.remain: dict[Key, list[bool] | None] = {}
        """Of every part that is asked for which of its lines remain; None for one that became another text."""
        self.mentions: defaultdict[int, list[Key]] = defaultdict(list)
        """The parts that name a fact, in order."""
        self._written: defaultdict[int, list[Key]] = defaultdict(list)
        """Those of them that the user or the assistant wrote."""
        self._remaining: defaultdict[int, list[Key]] = defaultdict(list)
        """The parts that still name it."""
        self._shown: defaultdict[str, list[Key]] = defaultdict(list)
        """The parts in which a line remains, in order."""
        keys = [key for key in left if key[:2] in asked]
        numbers = {number for key in keys for unit in survey.keys[key] for number in unit}
        self._facts = {survey.facts[number]: number for number in numbers if number < len(survey.facts)}
        self._follow(left, {body for key in keys for body in survey.units[key].bodies if len(body.strip()) >= _SHOWN})
        self.added = {number for text in added for number in self._facts_in(text)}
        """Facts that texts name which came in."""
        self._aside = self._unread()
        for key in keys:
            text, units = left[key], survey.units[key]
            self.remain[key] = which_remain(units, split(text)) if text else [False] * len(lines_of(units))

    def _follow(self, left: Mapping[Key, str | None], lines: set[str]) -> None:
        survey = self.survey
        facts = {*self._facts.values()}
        for key, part in survey.parts.items():
            named = facts.intersection(chain.from_iterable(survey.keys[key]))
            for number in named:
                self.mentions[number].append(key)
                if part.is_request or part.is_written:
                    self._written[number].append(key)
            bodies = survey.units[key].bodies
            if key in left:
                units = split(left[key] or "")
                bodies, named = units.bodies, {*self._facts_in("\n".join(units.texts))}
            for number in named:
                self._remaining[number].append(key)
            for body in lines.intersection(bodies):
                self._shown[body].append(key)

    def _facts_in(self, text: str) -> Iterator[int]:
        return (self._facts[fact] for fact in facts_of(text) if fact in self._facts)

    def _unread(self) -> dict[int, Address]:
        """Where thinking, or what only the API reads, names a fact last: the extraction does not read these."""
        return {
            fact: (position, number)
            for position, message in enumerate(self.survey.messages)
            for number, block in enumerate(message.blocks)
            if block.kind is BlockKind.THINKING or (block.kind is BlockKind.OPAQUE and not block.is_readable)
            for fact in self._facts_in(block.text)
        }

    def named_after(self, fact: int, key: Key) -> Key | None:
        """The newest part of a later message that names a fact, if there is one that no tool wrote."""
        # What the assistant or the user wrote tells more than what some result lists.
        found = (keys[-1] for keys in (self._written[fact], self.mentions[fact]) if keys)
        return next((other for other in found if other[0] > key[0]), None)

    def written_before(self, fact: int, key: Key) -> Key | None:
        """The newest earlier part that names a fact and that no tool wrote."""
        number = bisect_left(self._written[fact], key)
        return self._written[fact][number - 1] if number else None

    def is_named_after(self, fact: int, key: Key) -> bool:
        """Whether anything later names a fact, thinking included."""
        return self.mentions[fact][-1] > key or self._aside.get(fact, (-1, -1)) > key[:2]

    def still_names(self, fact: int, key: Key) -> Key | None:
        """The newest part besides this one that still names a fact."""
        return next((other for other in reversed(self._remaining[fact]) if other != key), None)

    def is_said_elsewhere(self, fact: int, key: Key) -> bool:
        """Whether anything that is left besides a part names a fact, thinking included."""
        return fact in self.added or fact in self._aside or self.still_names(fact, key) is not None

    def shown_again(self, body: str, key: Key) -> Iterator[Key]:
        """The later parts in which a line remains, the newest first."""
        for other in islice(reversed(self._shown.get(body, ())), _LOOKED_AT):
            if other <= key:
                return
            yield other

    @cached_property
    def files(self) -> FileWork:
        return FileWork(self.survey.parts.values())

    @cached_property
    def failures(self) -> Failures:
        return Failures(self.survey.parts.values())

    def shows_same_file(self, one: Part, other: Part) -> bool:
        """Whether two results show the same file."""
        if not (one.is_result and other.is_result):
            return False
        return any(
            is_same_file(path, again) for path in self.files.paths(one.call) for again in self.files.paths(other.call)
        )
