r"""Split text into lines, detect listings with line numbers, and word which lines a reference means.

    9→import os        10: import os        9 | import os

Lines are the result of `split("\n")`, so carriage returns, trailing blanks and a missing final line break belong to
lines. A listing is a range of lines numbered upwards by one, with one separator and one width. Reads of a file before
and after an insertion still share the text behind the numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, cached_property
from itertools import chain
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ..core.lazy_pattern import lazy_pattern
from ..core.markers import short_hash

_NUMBERED: Final = lazy_pattern(r"( *)(\d{1,7})(→|\t| \| |\||:)", re.ASCII)
_PRINTED: Final = 2_000
"""Number of line numbers, from 0 on, that are cached as printed."""
_WIDEST: Final = 8
"""Maximum cached width; caching every width would let a text use any amount of memory."""
_NEXT_NUMBER: Final = lazy_pattern(r"\n *\d{1,8}[→\t |:]", re.ASCII)
"""Matches at the second line of any listing, which may have one digit more than the first. Most texts have none."""
_BEGINNINGS: Final = frozenset(" 0123456789")
_DIGITS: Final = frozenset("0123456789")


class Numbering(Struct, frozen=True):
    """A line number as printed: right-aligned to `width`, followed by `separator`."""

    number: int
    width: int
    separator: str

    def __str__(self) -> str:
        return f"{self.number:>{self.width}}{self.separator}"

    @property
    def next(self) -> str:
        """Number of the line below, as printed."""
        return f"{self.number + 1:>{self.width}}{self.separator}"

    def moved(self, lines: int) -> Numbering:
        return replace(self, number=self.number + lines)


def numbering_of(line: str) -> Numbering | None:
    """Return the number printed before a line, or None."""
    match = _NUMBERED.match(line)
    if match is None:
        return None
    numbering = Numbering(int(match[2]), len(match[1]) + len(match[2]), match[3])
    return numbering if line.startswith(str(numbering)) else None


class Listing(Struct, frozen=True):
    """Numbered lines `[start, stop)`; `first` is the number of the first."""

    start: int
    stop: int
    first: Numbering

    def number(self, line: int) -> int:
        """Return the number printed before a line."""
        return self.first.number + line - self.start

    @property
    def last_prefix(self) -> str:
        """Number before the last line, which is the longest."""
        return str(self.first.moved(self.stop - 1 - self.start))

    def bodies(self, lines: list[str], start: int, stop: int) -> list[str]:
        """Return some lines without their numbers; `lines` are those of the whole text."""
        width, separator = self.first.width, self.first.separator
        if len(str(self.number(stop - 1))) <= width:
            size = width + len(separator)
            return [line[size:] for line in lines[start:stop]]
        numbers = prefixes(self.first.moved(start - self.start), stop - start)
        return [line.removeprefix(number) for line, number in zip(lines[start:stop], numbers, strict=True)]


class Shape(Struct, frozen=True):
    """Number of lines in a text, and the numbered ones.

    `numbered` has one byte per line, 1 if it is numbered; empty if none is.
    """

    length: int
    listings: tuple[Listing, ...] = ()
    numbered: bytes = b""

    @property
    def listing(self) -> Listing | None:
        """The only listing, whose numbers identify lines; None if there are several or none."""
        return self.listings[0] if len(self.listings) == 1 else None

    def is_numbered(self, line: int) -> bool:
        return bool(self.numbered) and self.numbered[line] == 1

    def has_numbers(self, start: int, size: int) -> bool:
        """Return whether any of `size` lines is numbered."""
        return 1 in self.numbered[start : start + size]


class Lines(Struct, frozen=True, dict=True):
    """Lines of a text, and its shape."""

    lines: list[str]
    shape: Shape

    @cached_property
    def keys(self) -> list[str]:
        """Lines for comparison: in a listing without their numbers."""
        return self.bodies(0, len(self.lines)) if self.shape.listings else self.lines

    def bodies(self, start: int, size: int) -> list[str]:
        """Return `size` lines for comparison."""
        found = self.lines[start : start + size]
        for listing in self.shape.listings:
            first, last = max(start, listing.start), min(start + size, listing.stop)
            if first < last:
                found[first - start : last - start] = listing.bodies(self.lines, first, last)
        return found

    def text(self, start: int, size: int) -> str:
        return "\n".join(self.lines[start : start + size])


def read_lines(text: str, shape: Shape | None = None) -> Lines:
    """Split a text into lines, and find its listings unless its shape is given."""
    lines = text.split("\n")
    if shape is None:
        shape = _shape(lines) if _NEXT_NUMBER.search(text) else Shape(len(lines))
    return Lines(lines, shape)


def _shape(lines: list[str]) -> Shape:
    listings: list[Listing] = []
    numbered = bytearray()
    last, behind = len(lines) - 1, 0
    for line, content in enumerate(lines):
        if content[:1] not in _BEGINNINGS or line < behind or content.lstrip(" ")[:1] not in _DIGITS:
            continue
        numbering = numbering_of(content)
        if numbering is None or line == last or not lines[line + 1].startswith(numbering.next):
            continue
        size = _fitting(lines, line, numbering)
        behind = line + size
        listings.append(Listing(line, behind, numbering))
        numbered = numbered or bytearray(len(lines))
        numbered[line:behind] = b"\x01" * size
    return Shape(len(lines), tuple(listings), bytes(numbered))


def _fitting(lines: list[str], start: int, numbering: Numbering) -> int:
    """Return the number of lines in the listing that begins at `start`."""
    for line, prefix in enumerate(prefixes(numbering, len(lines) - start), start):
        if not lines[line].startswith(prefix):
            return line - start
    return len(lines) - start


def prefixes(first: Numbering, size: int) -> Iterator[str]:
    """Return the printed numbers of a listing. Most listings share the same few thousand."""
    known = _printed(first.width, first.separator) if first.number >= 0 and first.width <= _WIDEST else []
    last = first.number + size
    others = range(max(first.number, len(known)) if known else first.number, last)
    return chain(known[first.number : last], (f"{number:>{first.width}}{first.separator}" for number in others))


@cache
def _printed(width: int, separator: str) -> list[str]:
    return [f"{number:>{width}}{separator}" for number in range(_PRINTED)]


_RANGE: Final = lazy_pattern(r"lines? (\d+)(?:-(\d+))?", re.ASCII)
_COUNT: Final = lazy_pattern(r"(?<!\d)(\d++) lines", re.ASCII)
_FROM: Final = lazy_pattern(r"(\d+) lines from (\d+) on", re.ASCII)


COMMON_STYLES: Final = ((6, "\t"), (6, "→"), (1, "\t"), (1, "→"), (1, " | "), (1, ":"))
"""Width and separator of listings by `cat -n`, Claude Code, Roo Code and SWE-agent, tried if a reference states only a
number. References in files rely on these: styles may be appended, never removed.
"""


def describe_place(source: Shape, start: int, size: int) -> str | None:
    """Word which `size` lines from `start` are meant: empty for all, None if no wording exists.

    Lines of a listing are named by printed number. Lines around it have none, so only those at the ends can be named.
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
    """Return the first line and number of lines that the words mean. None if the text has no such lines."""
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
    # Only the wording that we write counts, so every reference has one spelling.
    return (start, size) if describe_place(source, start, size) == where else None


def _position(source: Shape, number: int) -> int:
    listing = source.listing
    return number - 1 if listing is None else number - listing.first.number + listing.start


def above(start: int, size: int) -> str:
    """Word which lines of the same text are meant, counted from its first."""
    return f"{_range(start + 1, start + size)} above"


def find_above(length: int, where: str) -> tuple[int, int] | None:
    """Return the first line and number of lines that `above` means, among `length` lines before the reference."""
    match = _RANGE.match(where)
    if match is None:
        return None
    first, last = int(match[1]), int(match[2] or match[1])
    is_inside = 0 < first <= last <= length and above(first - 1, last - first + 1) == where
    return (first - 1, last - first + 1) if is_inside else None


def _range(first: int, last: int) -> str:
    return f"line {first}" if first == last else f"lines {first}-{last}"


def describe_numbering(text: str, source: Lines, start: int, size: int, before: str, after: str) -> str | None:
    """Return the words needed to reproduce `text`: empty if none are, None if no words suffice."""
    if _is_read(text, readings(source, start, size, "", before, after)):
        return ""
    for line in text.split("\n"):
        if numbering := numbering_of(line):
            words = [str(numbering.number), f'"{numbering}"']
            found = (word for word in words if _is_read(text, readings(source, start, size, word, before, after)))
            return next(found, None)
    return None


def _is_read(text: str, found: Iterator[str]) -> bool:
    """Return whether `text` is the reading that its hash selects: the first one with that hash."""
    digest = short_hash(text)
    return next((reading for reading in found if reading == text or short_hash(reading) == digest), None) == text


def readings(source: Lines, start: int, size: int, numbering: str, before: str, after: str) -> Iterator[str]:
    """Yield possible originals of the lines, given the lines `before` and `after` the reference.

    Without words these are: the lines as they are, without numbers, numbered on from the line before, or up to the line
    after. The reference's hash selects one.
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
    """Number the lines in a style: those that the source numbers, or all if it numbers none."""
    bodies, shape = source.bodies(start, size), source.shape
    numbered = shape.numbered[start : start + size]
    if 0 not in numbered or 1 not in numbered:
        return "\n".join(prefix + body for prefix, body in zip(prefixes(style, size), bodies, strict=True))
    numbers = iter(prefixes(style, size))
    lines = zip(numbered, bodies, strict=True)
    return "\n".join(next(numbers) + body if is_numbered else body for is_numbered, body in lines)
