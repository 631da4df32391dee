"""Kinds of lines: errors, definitions, decisions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from typing import Final

from ..core.lazy_pattern import lazy_pattern

ERROR: Final = lazy_pattern(
    r"(?i)\b(?:error|exception|fail(?:ed|ure|s)?|fatal|panic|traceback|assert(?:ion)?|denied|not found|cannot)\b|^E  "
)
_ERRORS: Final = (
    "error", "exception", "fail", "fatal", "panic", "traceback", "assert", "denied", "not found", "cannot",
)  # fmt: skip
"""Small letters of what `ERROR` finds in a line of ASCII, but for what it finds at the beginning."""


def tells_an_error(line: str, words: Iterable[str] = _ERRORS) -> bool:
    """Whether `ERROR` is found in the line, which has none but these `words`. Most have none: that is known sooner."""
    if line.isascii() and line[:1] not in ("E", "e"):
        small = line.lower()
        for word in words:
            if word in small:
                break
        else:
            return False
    return ERROR.search(line) is not None


DEFINITION: Final = lazy_pattern(
    r"\s*(?:export |default |async |public |private |protected |static |pub |abstract )*"
    r"(?:def|class|function|interface|type|struct|enum|trait|impl|fn|func|module)\s+\w"
)
DECISION: Final = lazy_pattern(
    r"(?i)\b(?:decid|instead|because|root cause|the (?:problem|issue|bug|reason|fix)|must|should|never|always"
    r"|need to|turns out|found|fixed|important|note that|remember|todo|next step|conclusion|summary)"
)


class Kind(IntEnum):
    """What a line is by its words alone; one that tells an error is nothing else."""

    BLANK = 0
    PLAIN = 1
    ERROR = 2
    DEFINITION = 3


def kinds_of(lines: Sequence[str]) -> Iterator[Kind]:
    """The kinds of all lines of a text. What is in none of them is not looked for in each."""
    together = "\n".join(lines).lower()
    words = [word for word in _ERRORS if word in together]
    for line in lines:
        if not line or line.isspace():
            yield Kind.BLANK
        elif tells_an_error(line, words):
            yield Kind.ERROR
        else:
            yield Kind.DEFINITION if DEFINITION.match(line) else Kind.PLAIN
