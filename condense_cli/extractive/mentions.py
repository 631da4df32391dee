"""What is known of each fact of a conversation: who wrote it, who asked for it, where it stands, and how long ago."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import compress
from math import log2
from typing import Any, Final

from ..core.lazy_pattern import lazy_pattern
from .likelihood import Features, Row, RowParts, Taking

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
    """How often ten tokens have to double to be so many characters, about."""
    return log2(1 + characters / (10 * TOKEN))


SAID, ARGUMENT, IN_EDIT, REQUESTED, IN_NEWEST_REQUEST, IN_ERROR, SHOWN, BESIDE_WRITTEN = (1 << bit for bit in range(8))
"""What is true of a fact once it is true of one mention; `SHOWN`: by anything but the output of a command."""

_TRUE: Final = tuple(tuple(float(flags >> bit & 1) for bit in range(8)) for flags in range(256))
"""1 for each of these that is in flags, in their order, which is that of the features."""


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
        if not new:
            return
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

    def stand_together(self, numbers: Sequence[int], flags: int) -> bool:
        """Take in the facts of one line, once all texts are told; whether the assistant wrote any of them."""
        beside, known, size = self.beside, self.flags, len(numbers)
        if size == 1:
            beside[numbers[0]] = 1
            known[numbers[0]] |= flags
            return self.written[numbers[0]] > 0
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
        return bool(written)

    def in_newest_request(self) -> frozenset[int]:
        """The facts that the newest request names."""
        return frozenset(number for number, flags in enumerate(self.flags) if flags & IN_NEWEST_REQUEST)

    def mentioned(self) -> Iterator[int]:
        """The numbers of the facts that are mentioned."""
        return compress(range(len(self.texts)), self.texts)

    def rows(self, forms: Iterable[Form], end: int, taking: Taking[Row]) -> Iterator[Row]:
        """The features of each fact that is mentioned, at the end of a conversation of so many characters.

        `forms` are those of all facts, and maybe of more that another conversation mentions.
        """

        def parts(size: int, make: Callable[[Any], Features]) -> RowParts[Row]:
            return RowParts(make, taking(size))

        # In the order of the features: what all facts of one number, one place or one form have in common.
        counted = parts(3, lambda written: (1.0, written > 0, log2(1 + written)))
        flagged = parts(8, _TRUE.__getitem__)
        aged = parts(2, lambda last: (age := doublings(end - last[0]), age if last[1] else 0.0))
        begun = parts(1, lambda first: (doublings(end - first),))
        often = parts(1, lambda texts: (log2(texts),))
        among = parts(1, lambda beside: (log2(beside),))
        formed = parts(6, lambda form: (log2(1 + form[0]), *form[1:]))
        of_all = parts(1, lambda end: (doublings(end),))[end]
        columns = zip(forms, self.texts, self.written, self.flags, self.last, self.first, self.beside, strict=False)
        for form, texts, written, flags, last, first, beside in columns:
            if texts:
                yield (
                    counted[written] + flagged[flags] + aged[last, written > 0] + begun[first] + often[texts]
                    + among[beside] + formed[form] + of_all
                )  # fmt: skip


Form = tuple[int, bool, bool, bool, bool, bool]
"""What features take of the fact itself: its length, and whether it is a path, number, name, file name, hash."""


def form_of(fact: str) -> Form:
    has_slash = "/" in fact or "\\" in fact
    first = fact[:1]
    is_hash = len(fact) >= _SHORTEST_HASH and not fact.isdigit() and _HASH.fullmatch(fact) is not None
    return len(fact), has_slash, first.isdigit(), first.isupper(), not has_slash and "." in fact, is_hash
