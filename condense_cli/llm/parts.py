"""Long texts in parts: what does not fit into a context window is summarized piece by piece and joined.

Nothing is cut off: the parts of a text are the text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from ..config.profiles import Profile
from .client import ModelRequest, max_output
from .prompts import PromptTask, request_for

Count = Callable[[str], int]

FOREIGN: Final = 2.0
"""Tokens that a vocabulary of another vendor may need for one of ours: Claude's newer one, 1.5 as a rule, up to 1.9."""

HEADING: Final = 10
"""Tokens that the heading of a part takes at most, where summaries of parts are joined."""

PART_LIMIT: Final = 600 - HEADING
"""Tokens that the summary of a part may have at least, however short the whole is to be."""

_MARGIN: Final = 64
"""Tokens that an API adds around the messages."""


class TooLargeError(Exception):
    """The text does not fit into the window, in however many parts."""


def worst_input(request: ModelRequest, count: Count, *, exact: bool) -> int:
    """The most tokens that a request may be counted as by its API. `exact`: `count` is the model's own vocabulary."""
    tokens = count(request.system) + count(request.prompt)
    return _MARGIN + (tokens if exact else int(tokens * FOREIGN))


def requests_for(
    task: PromptTask, profile: Profile, window: int, count: Count, *, exact: bool, joins: bool = False
) -> tuple[ModelRequest, ...]:
    """One request if the text fits into the window, or one for each part of it. `joins`: the pieces are summaries.

    Raises TooLargeError.
    """
    whole = request_for(task, "".join(task.pieces), task.limit, joins=joins)
    if worst_input(whole, count, exact=exact) + max_output(profile, whole.limit) <= window:
        return (whole,)
    limit = max(task.limit, PART_LIMIT)
    around = worst_input(request_for(task, "", limit, joins=joins, parts=2), count, exact=exact)
    room = window - around - max_output(profile, limit)
    if not exact:
        room = int(room / FOREIGN)
    if room < 2 * (limit + HEADING):  # Else joining summaries of parts would never come to an end.
        raise TooLargeError
    texts = divide(task.pieces, room, count)
    return tuple(
        request_for(task, text, limit, joins=joins, part=part, parts=len(texts))
        for part, text in enumerate(texts, start=1)
    )


def divide(pieces: Sequence[str], room: int, count: Count) -> list[str]:
    """The text in parts of about `room` tokens: between pieces where it can be, else between lines, else anywhere."""
    parts: list[str] = []
    held: list[str] = []
    tokens = 0
    for unit, size in _units(pieces, room, count):
        if held and tokens + size > room:
            parts.append("".join(held))
            held, tokens = [], 0
        held.append(unit)
        tokens += size
    return [*parts, "".join(held)] if held else parts


def _units(texts: Sequence[str], room: int, count: Count) -> Iterator[tuple[str, int]]:
    for text in texts:
        size = count(text)
        if size <= room or len(text) <= 1:
            yield text, size
            continue
        lines = text.splitlines(keepends=True)
        middle = len(text) // 2
        yield from _units(lines if len(lines) > 1 else (text[:middle], text[middle:]), room, count)
