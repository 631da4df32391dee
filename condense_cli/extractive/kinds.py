"""Kinds of lines: errors, definitions, decisions."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from ..core.lazy_pattern import lazy_pattern

ERROR: Final = lazy_pattern(
    r"(?i)\b(?:error|exception|fail(?:ed|ure|s)?|fatal|panic|traceback|assert(?:ion)?|denied|not found|cannot)\b|^E  "
)
_ERRORS: Final = (
    "error", "exception", "fail", "fatal", "panic", "traceback", "assert", "denied", "not found", "cannot", "e  ",
)  # fmt: skip
"""Small letters of what `ERROR` finds in a line of ASCII."""


def tells_an_error(line: str) -> bool:
    """Whether `ERROR` is found in the line. Most lines have no such word, which is known sooner."""
    if line.isascii():
        small = line.lower()
        for word in _ERRORS:
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


def kind_of(line: str) -> Kind:
    if not line or line.isspace():
        return Kind.BLANK
    if tells_an_error(line):
        return Kind.ERROR
    return Kind.DEFINITION if DEFINITION.match(line) else Kind.PLAIN
