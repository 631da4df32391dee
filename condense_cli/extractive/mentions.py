"""What is known of each fact of a conversation: who wrote it, who asked for it, where it stands, and how long ago."""

from __future__ import annotations

import re
from math import log2
from typing import Final

from msgspec import Struct

FEATURES: Final = (
    "one", "written", "times written", "said", "an argument", "in an edit", "requested", "in the newest request",
    "in an error", "shown", "beside a written one", "age", "age if written", "age of the first mention", "mentions",
    "facts beside", "length", "path", "number", "name", "file name", "hash", "conversation",
)  # fmt: skip
"""Names of the features of a fact, in their order."""

_HASH: Final = re.compile(r"[0-9a-f]{6,}")

TOKEN: Final = 4
"""Characters of a token, about."""


def doublings(characters: float) -> float:
    """So often does a hundredth of a thousand tokens double to give so many characters."""
    return log2(1 + characters / (10 * TOKEN))


class Mentions(Struct):
    """What is known of one fact while a conversation is read: positions in characters, numbers of texts, and whether.

    `beside` are the facts on the shortest line that holds it; `shown`: by anything but the output of a command.
    """

    first: int
    last: int = 0
    texts: int = 0
    written: int = 0
    beside: int = 1_000
    said: bool = False
    argument: bool = False
    in_edit: bool = False
    requested: bool = False
    in_newest_request: bool = False
    in_error: bool = False
    shown: bool = False
    beside_written: bool = False

    def features(self, fact: str, end: int) -> tuple[float, ...]:
        """The features of the fact, at the end of a conversation of so many characters."""
        has_slash = "/" in fact or "\\" in fact
        age = doublings(end - self.last)
        is_number = fact[:1].isdigit()
        return (
            1.0,
            self.written > 0,
            log2(1 + self.written),
            self.said,
            self.argument,
            self.in_edit,
            self.requested,
            self.in_newest_request,
            self.in_error,
            self.shown,
            self.beside_written,
            age,
            age if self.written else 0.0,
            doublings(end - self.first),
            log2(self.texts),
            log2(self.beside),
            log2(1 + len(fact)),
            has_slash,
            is_number,
            fact[:1].isupper(),
            not has_slash and "." in fact,
            not fact.isdigit() and _HASH.fullmatch(fact) is not None,
            doublings(end),
        )
