"""What is known of a line that a later edit may have to match: its file, how it was shown, and what it says."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from math import log2
from typing import Final

from msgspec import Struct

from .kinds import DEFINITION
from .mentions import doublings
from .versions import Line, Shown

FEATURES: Final = (
    "one", "read in part", "created", "written by an edit", "shown after an edit", "edited", "age of the edit", "age",
    "age of the file", "lines", "files after", "edits of all files", "conversation",
    "length", "indentation", "definition", "comment", "import", "likeliest fact", "sum of facts", "written",
    "in the newest request", "written nearby",
)  # fmt: skip
"""Names of the features of a line, in their order: first those that all lines of a text share."""

_OPENING: Final = re.compile(
    r"(?P<import>(?:import|from|#include|use|require|package)\b)|(?P<comment>#|//|/\*|\*|--|<!--|\"\"\")"
)


class Conversation(Struct, frozen=True):
    """What features of lines are relative to: characters, edits of all files, and where files were touched last."""

    end: int
    edits: int
    touched: tuple[int, ...]

    @classmethod
    def of(cls, lines: Iterable[Line], end: int) -> Conversation:
        files = {id(line.file): line.file for line in lines}.values()
        return cls(end, sum(file.edits for file in files), tuple(sorted(file.touched for file in files)))


def of_text(line: Line, conversation: Conversation) -> tuple[float, ...]:
    """Features of all lines that one text shows."""
    file, shown, end = line.file, line.shown, conversation.end
    return (
        1.0,
        shown is Shown.READ_IN_PART,
        shown is Shown.CREATED,
        shown is Shown.EDITED,
        shown is Shown.CONFIRMED,
        file.edits > 0,
        doublings(end - file.edited) if file.edits else 0.0,
        doublings(end - line.position),
        doublings(end - file.touched),
        log2(1 + line.size),
        log2(1 + len(conversation.touched) - bisect_right(conversation.touched, file.touched)),
        log2(1 + conversation.edits),
        doublings(end),
    )


def of_line(body: str, facts: Sequence[float], written: bool, requested: bool, nearby: float) -> tuple[float, ...]:
    """Features of one line.

    `facts` tells how likely each of its facts is needed, `nearby` the share of the lines around it that name a fact
    that the assistant wrote.
    """
    text = body.lstrip()
    opening = _OPENING.match(text)
    kind = opening.lastgroup if opening else None
    return (
        log2(1 + len(text)),
        log2(1 + len(body) - len(text)),
        DEFINITION.match(body) is not None,
        kind == "comment",
        kind == "import",
        max(facts, default=0.0),
        sum(facts),
        written,
        requested,
        nearby,
    )
