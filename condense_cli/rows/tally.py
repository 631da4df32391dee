"""What came of many rows, in figures that can be added up."""

from __future__ import annotations

from collections import Counter
from heapq import nlargest
from typing import Final, Self

from msgspec import UNSET, Struct, UnsetType, field

from ..core.factor import Factor
from ..core.transcript import Transcript

TOLD: Final = 100
"""Problems that are told one by one; of the others only the number is."""


class Problem(Struct, frozen=True):
    """A row that was passed through as it was: its line, from 1, and why; of many files, also which one it is in."""

    line: int
    why: str
    file: str | UnsetType = UNSET


SHOWN: Final = 10
"""Rows that lost the most."""


class Shrunk(Struct, frozen=True, order=True):
    """A row that became smaller, by so many of its model's tokens: the line, and the tokens before and after."""

    saved: int
    line: int
    before: int
    after: int


class Tally(Struct, omit_defaults=True):
    """`rows` are lines that are not blank, `added` those that others were split into, `bad` those whose conversation
    could not be read, condensed or written.

    Tokens are those of the messages of all others, as their models count: together, and by model (the key is empty
    where a row names none). `bare_before` and `bare_after` are the same as we count. `estimated` is the part of
    `tokens_before` that cannot be counted. `missed` are rows over the target, `fallen_back` those of which the sliding
    window dropped exchanges.
    """

    rows: int = 0
    added: int = 0
    changed: int = 0
    bad: int = 0
    missed: int = 0
    fallen_back: int = 0
    tokens_before: int = 0
    tokens_after: int = 0
    bare_before: int = 0
    bare_after: int = 0
    lossless_saved: int = 0
    estimated: int = 0
    messages_before: int = 0
    messages_after: int = 0
    bytes_before: int = 0
    bytes_after: int = 0
    formats: Counter[str] = field(default_factory=Counter)
    tokens_before_of: Counter[str] = field(default_factory=Counter)
    tokens_after_of: Counter[str] = field(default_factory=Counter)
    not_summarized: int = 0
    problems: list[Problem] = field(default_factory=list)
    shrunk: list[Shrunk] = field(default_factory=list)

    def add(self, other: Self) -> None:
        """Add what came of other rows, figure by figure."""
        shrunk = nlargest(SHOWN, (*self.shrunk, *other.shrunk))
        for name in self.__struct_fields__:
            mine, theirs = getattr(self, name), getattr(other, name)
            if isinstance(mine, Counter):
                mine.update(theirs)
            elif isinstance(mine, list):
                mine.extend(theirs[: TOLD - len(mine)])
            else:
                setattr(self, name, mine + theirs)
        self.shrunk = shrunk

    def weigh(self, transcript: Transcript, factor: Factor, bare: int) -> None:
        """Count a conversation of so many bare tokens as it was."""
        self.formats[transcript.format] += 1
        self.messages_before += len(transcript.messages)
        self.bare_before += bare
        self.tokens_before += factor.shown(bare)
        self.tokens_before_of[transcript.model or ""] += factor.shown(bare)

    def shrink(self, transcript: Transcript, factor: Factor, bare: int, messages: int) -> None:
        """Count what is left of it."""
        self.messages_after += messages
        self.bare_after += bare
        self.tokens_after += factor.shown(bare)
        self.tokens_after_of[transcript.model or ""] += factor.shown(bare)

    def note(self, line: int, before: int, after: int) -> None:
        """Remember a row if it is one of those that lost the most."""
        if before > after and (len(self.shrunk) < SHOWN or before - after > self.shrunk[-1].saved):
            self.shrunk = nlargest(SHOWN, (*self.shrunk, Shrunk(before - after, line, before, after)))

    def refuse(self, line: int, why: str) -> None:
        self.bad += 1
        if len(self.problems) < TOLD:
            self.problems.append(Problem(line, why))
