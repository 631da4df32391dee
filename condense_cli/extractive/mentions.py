"""What is known of each fact of a conversation: who wrote it, who asked for it, where it stands, and how long ago."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import log2
from typing import Final

from ..core.lazy_pattern import lazy_pattern

FEATURES: Final = (
    "one", "written", "times written", "said", "an argument", "in an edit", "requested", "in the newest request",
    "in an error", "shown", "beside a written one", "age", "age if written", "age of the first mention", "mentions",
    "facts beside", "length", "path", "number", "name", "file name", "hash", "conversation",
)  # fmt: skip
"""Names of the features of a fact, in their order."""

_HASH: Final = lazy_pattern(r"[0-9a-f]{6,}")
_SHORTEST_HASH: Final = 6

TOKEN: Final = 4
"""Characters of a token, about."""


def doublings(characters: float) -> float:
    """So often does a hundredth of a thousand tokens double to give so many characters."""
    return log2(1 + characters / (10 * TOKEN))


SAID, ARGUMENT, IN_EDIT, REQUESTED, IN_NEWEST_REQUEST, IN_ERROR, SHOWN, BESIDE_WRITTEN = (1 << bit for bit in range(8))
"""What is true of a fact once it is true of one mention; `SHOWN`: by anything but the output of a command."""

_TRUE: Final = tuple(tuple(float(flags >> bit & 1) for bit in range(8)) for flags in range(256))
"""1 for each of these that is in flags, in their order, which is that of the features."""

_LOGARITHMS: Final = (0.0, *map(log2, range(1, 1_000)))
"""Of small numbers, which most are that are counted."""


def _log2(number: int) -> float:
    return _LOGARITHMS[number] if number < len(_LOGARITHMS) else log2(number)


class Mentions:
    """What is known of facts while a conversation is read: for each a number, and by it an entry of every list.

    Positions are in characters; `texts` and `written` are numbers of texts, `beside` is that of the facts on the
    shortest line that holds this one, `flags` is what is true of it.
    """

    def __init__(self) -> None:
        self.first: list[int] = []
        self.last: list[int] = []
        self.texts: list[int] = []
        self.written: list[int] = []
        self.beside: list[int] = []
        self.flags = bytearray()

    def grow(self, size: int) -> None:
        """Make room for the facts up to a number."""
        new = size - len(self.first)
        for column in (self.first, self.last, self.texts, self.written):
            column += [0] * new
        self.beside += [1_000] * new
        self.flags += bytes(new)

    def tell(self, numbers: Iterable[int], position: int, flags: int, *, is_written: bool) -> None:
        """Take in the facts of one text, each once; whether the assistant wrote it."""
        first, last, texts, written, known = self.first, self.last, self.texts, self.written, self.flags
        for number in numbers:
            if not texts[number]:
                first[number] = position
            last[number] = position
            texts[number] += 1
            known[number] |= flags
            if is_written:
                written[number] += 1

    def stand_together(self, numbers: Sequence[int], flags: int) -> None:
        """Take in the facts of one line, once all texts are told."""
        beside, known, size = self.beside, self.flags, len(numbers)
        if size == 1:
            beside[numbers[0]] = 1
            known[numbers[0]] |= flags
            return
        written = [number for number in numbers if self.written[number]]
        if len(written) > 1:
            flags |= BESIDE_WRITTEN
        for number in numbers:
            if size < beside[number]:
                beside[number] = size
            known[number] |= flags
        if len(written) == 1:
            for number in numbers:
                if number != written[0]:
                    known[number] |= BESIDE_WRITTEN

    def is_in_newest_request(self, number: int) -> bool:
        return self.flags[number] & IN_NEWEST_REQUEST != 0

    def features(self, number: int, fact: str, end: int) -> tuple[float, ...]:
        """The features of a fact, at the end of a conversation of so many characters."""
        has_slash = "/" in fact or "\\" in fact
        written = self.written[number]
        age = doublings(end - self.last[number])
        return (
            1.0,
            written > 0,
            _log2(1 + written),
            *_TRUE[self.flags[number]],
            age,
            age if written else 0.0,
            doublings(end - self.first[number]),
            _log2(self.texts[number]),
            _log2(self.beside[number]),
            _log2(1 + len(fact)),
            has_slash,
            fact[:1].isdigit(),
            fact[:1].isupper(),
            not has_slash and "." in fact,
            len(fact) >= _SHORTEST_HASH and not fact.isdigit() and _HASH.fullmatch(fact) is not None,
            doublings(end),
        )
