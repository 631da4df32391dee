"""What is known of a line that a later edit may have to match: its file, how it was shown, and what it says."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
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
"""Names of the features of a line, in their order: those that all lines of a text share, those of the line itself,
those of its surroundings."""

OF_TEXT: Final = 18
OF_SHAPE: Final = 5
OF_SURROUNDINGS: Final = 7
"""How many of them there are of each."""

_OPENING: Final = lazy_pattern(
    r"(?P<import>(?:import|from|#include|use|require|package)\b)|(?P<comment>#|//|/\*|\*|--|<!--|\"\"\")"
)

_WAYS: Final = (Shown.READ_IN_PART, Shown.CREATED, Shown.EDITED, Shown.CONFIRMED)
"""In the order of the features. How fast a line is out of use depends on how it was shown."""


class EditableText(Struct, frozen=True):
    """What features of lines are relative to: characters of all, edits of all files, and where each was used last."""

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


Shape = tuple[int, int, bool, str | None]
"""What features take of a line itself: how long it is, how far indented, whether it is a definition, how it opens."""


def shape_of(body: str) -> Shape:
    text = body.lstrip()
    opening = _OPENING.match(text)
    return (
        len(text), len(body) - len(text), DEFINITION.match(body) is not None, opening.lastgroup if opening else None,
    )  # fmt: skip


def of_shape(shape: Shape) -> tuple[float, ...]:
    """Features of all lines of a shape."""
    length, indentation, is_definition, opening = shape
    return (
        log2(1 + length), log2(1 + indentation), is_definition, opening == "comment", opening == "import",
    )  # fmt: skip
