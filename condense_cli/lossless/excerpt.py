"""Which lines of a text a reference means, and how they are numbered where it stands: in words and back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from ..core.lazy_pattern import lazy_pattern
from ..core.markers import short_hash
from .lines import Lines, Numbering, Shape, numbering_of, prefixes

_RANGE: Final = lazy_pattern(r"lines? (\d+)(?:-(\d+))?", re.ASCII)
_COUNT: Final = lazy_pattern(r"(?<!\d)(\d++) lines", re.ASCII)
_FROM: Final = lazy_pattern(r"(\d+) lines from (\d+) on", re.ASCII)


COMMON_STYLES: Final = ((6, "\t"), (6, "→"), (1, "\t"), (1, "→"), (1, " | "), (1, ":"))
"""Width and separator of the listings of `cat -n`, Claude Code, Roo Code, SWE-agent: tried where only a number is said.
What is written once means these for good, so styles may be added at the end and none may go."""


def describe_place(source: Shape, start: int, size: int) -> str | None:
    """Which `size` lines from `start` on are meant: nothing for all, None where no words exist for them.

    A listing is spoken of by its printed numbers; lines around it have none, only those at the ends can be named.
    In any other text lines are counted.
    """
    end, length = start + size, source.length
    if size == length:
        return ""
    listing = source.listing
    if listing is None:
        return _range(start + 1, end)
    if listing.start <= start and end <= listing.stop:
        return _range(listing.number(start), listing.number(end - 1))
    if source.is_numbered(start):
        return f"{size} lines from {listing.number(start)} on"
    if start == 0 or end == length:
        side = "first" if start == 0 else "last"
        return f"the {side} line" if size == 1 else f"the {side} {size} lines"
    return None


def find_place(source: Shape, where: str) -> tuple[int, int] | None:
    """First line and number of the lines that the words mean; None where the text has no such lines."""
    size = 1
    if match := _RANGE.fullmatch(where):
        first, last = int(match[1]), int(match[2] or match[1])
        start, size = _position(source, first), last - first + 1
    elif match := _FROM.fullmatch(where):
        start, size = _position(source, int(match[2])), int(match[1])
    elif not where:
        start, size = 0, source.length
    else:
        if match := _COUNT.search(where):
            size = int(match[1])
        start = source.length - size if where.startswith("the last") else 0
    if start < 0 or size < 1 or start + size > source.length:
        return None
    # Only the words that the writer would choose count, so every reference has one spelling.
    return (start, size) if describe_place(source, start, size) == where else None


def _position(source: Shape, number: int) -> int:
    listing = source.listing
    return number - 1 if listing is None else number - listing.first.number + listing.start


def above(start: int, size: int) -> str:
    """Which lines of the very text are meant, counted from its first."""
    return f"{_range(start + 1, start + size)} above"


def find_above(length: int, where: str) -> tuple[int, int] | None:
    """First line and number of the lines that `above` means, of so many before the reference."""
    match = _RANGE.match(where)
    if match is None:
        return None
    first, last = int(match[1]), int(match[2] or match[1])
    is_inside = 0 < first <= last <= length and above(first - 1, last - first + 1) == where
    return (first - 1, last - first + 1) if is_inside else None


def _range(first: int, last: int) -> str:
    return f"line {first}" if first == last else f"lines {first}-{last}"


def describe_numbering(text: str, source: Lines, start: int, size: int, before: str, after: str) -> str | None:
    """The words that are needed to give `text` again; empty where none are, None where no words do it."""
    if _is_read(text, readings(source, start, size, "", before, after)):
        return ""
    for line in text.split("\n"):
        if numbering := numbering_of(line):
            words = [str(numbering.number), f'"{numbering}"']
            found = (word for word in words if _is_read(text, readings(source, start, size, word, before, after)))
            return next(found, None)
    return None


def _is_read(text: str, found: Iterator[str]) -> bool:
    """Whether `text` is the one of the readings that its hash tells: of several with that hash it is the first."""
    digest = short_hash(text)
    return next((reading for reading in found if reading == text or short_hash(reading) == digest), None) == text


def readings(source: Lines, start: int, size: int, numbering: str, before: str, after: str) -> Iterator[str]:
    """What the lines can have been where the reference stands, between the lines `before` and `after`.

    Without words these are: the lines as they are, without their numbers, numbered on from the line before
    or up to the line after. The hash of the reference tells which.
    """
    has_numbers = source.shape.has_numbers(start, size)
    if numbering.startswith('"'):
        if style := numbering_of(numbering[1:-1]):
            yield _numbered(source, start, size, style)
        return
    if numbering:
        own = [(listing.first.width, listing.first.separator) for listing in source.shape.listings[:1]]
        for width, separator in (*own, *COMMON_STYLES):
            yield _numbered(source, start, size, Numbering(int(numbering), width, separator))
        return
    yield source.text(start, size)
    if has_numbers:
        yield "\n".join(source.bodies(start, size))
    if style := numbering_of(before):
        yield _numbered(source, start, size, style.moved(1))
    if style := numbering_of(after):
        numbers = sum(map(source.shape.is_numbered, range(start, start + size))) if has_numbers else size
        yield _numbered(source, start, size, style.moved(-numbers))


def _numbered(source: Lines, start: int, size: int, style: Numbering) -> str:
    """The lines numbered in a style: those that the source numbers, or all where it numbers none."""
    bodies, shape = source.bodies(start, size), source.shape
    numbered = shape.numbered[start : start + size]
    if 0 not in numbered or 1 not in numbered:
        return "\n".join(prefix + body for prefix, body in zip(prefixes(style, size), bodies, strict=True))
    numbers = iter(prefixes(style, size))
    lines = zip(numbered, bodies, strict=True)
    return "\n".join(next(numbers) + body if is_numbered else body for is_numbered, body in lines)
