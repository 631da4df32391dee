"""What is known of a line that a later edit may have to match: its file, how it was shown, and what it says."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from math import log2
from typing import Final

from msgspec import Struct

from ..core.lazy_pattern import lazy_pattern
from .kinds import DEFINITION
from .mentions import doublings
from .versions import Line, Shown

FEATURES: Final = (
    "one", "read in part", "created", "written by an edit", "shown after an edit", "edited", "age of the edit", "age",
    "age of a part read", "age if created", "age if written by an edit", "age if shown after an edit",
    "age of the file", "reads", "lines", "files after", "edits of all files", "conversation",
    "length", "indentation", "definition", "comment", "import", "likeliest fact", "sum of facts", "written",
    "in the newest request", "written nearby", "likeliest nearby", "likely around",
)  # fmt: skip
"""Names of the features of a line, in their order: first those that all lines of a text share."""

_OPENING: Final = lazy_pattern(
    r"(?P<import>(?:import|from|#include|use|require|package)\b)|(?P<comment>#|//|/\*|\*|--|<!--|\"\"\")"
)

_WAYS: Final = (Shown.READ_IN_PART, Shown.CREATED, Shown.EDITED, Shown.CONFIRMED)
"""In the order of the features. How fast a line is out of use depends on how it was shown."""


class Nearby(Struct, frozen=True):
    """What stands near a line in its text.

    `written` is the share of the lines near it that name a fact that the assistant wrote. `likeliest` tells how likely
    the likeliest fact near it is needed, `likely` the mean of the likeliest of each line in a wider stretch: an edit
    matches several lines that stand together.
    """

    written: float
    likeliest: float
    likely: float


class EditableText(Struct, frozen=True):
    """What features of lines are relative to: characters, edits of all files, and where files were touched last."""

    end: int
    edits: int
    touched: tuple[int, ...]

    @classmethod
    def of(cls, lines: Iterable[Line], end: int) -> EditableText:
        files = {id(line.file): line.file for line in lines}.values()
        return cls(end, sum(file.edits for file in files), tuple(sorted(file.touched for file in files)))


def of_text(line: Line, conversation: EditableText) -> tuple[float, ...]:
    """Features of all lines that one text shows."""
    file, end = line.file, conversation.end
    age = doublings(end - line.position)
    ways = [line.shown is way for way in _WAYS]
    return (
        1.0,
        *ways,
        file.edits > 0,
        doublings(end - file.edited) if file.edits else 0.0,
        age,
        *(age if is_way else 0.0 for is_way in ways),
        doublings(end - file.touched),
        log2(1 + file.reads),
        log2(1 + line.size),
        log2(1 + len(conversation.touched) - bisect_right(conversation.touched, file.touched)),
        log2(1 + conversation.edits),
        doublings(end),
    )


def of_line(body: str, facts: Sequence[float], written: bool, requested: bool, nearby: Nearby) -> tuple[float, ...]:
    """Features of one line.

    `facts` tells how likely each of its facts is needed; it may be `written` by the assistant, or `requested`.
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
        nearby.written,
        nearby.likeliest,
        nearby.likely,
    )
