"""Read a text as lines, with numbers of listings told apart, and put into words which lines a reference means.

9→import os        10: import os        9 | import os

Lines are what `split("\\n")` gives, so a carriage return, trailing blanks and a missing final line break
belong to a line. A listing is a stretch of lines numbered upwards by one, with one separator and one width.
Two reads of a file that had lines inserted above still share the bodies.
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
"""Numbers of a listing, from 0 on, that are remembered as they are printed."""
_WIDEST: Final = 8
"""Only in these widths: those of any width would take as much memory as a text asks for."""
_BEGINNINGS: Final = frozenset(" 0123456789")
_DIGITS: Final = frozenset("0123456789")


class Numbering(Struct, frozen=True):
    """A line number as it is printed: right-aligned to `width`, before `separator`."""

    number: int
    width: int
    separator: str

    def __str__(self) -> str:
        return f"{self.number:>{self.width}}{self.separator}"

    @property
    def next(self) -> str:
        """How the line below is numbered in a listing."""
        return f"{self.number + 1:>{self.width}}{self.separator}"

    def moved(self, lines: int) -> Numbering:
        return replace(self, number=self.number + lines)


def numbering_of(line: str) -> Numbering | None:
    """The number that is printed before a line, if there is one."""
    match = _NUMBERED.match(line)
    if match is None:
        return None
    numbering = Numbering(int(match[2]), len(match[1]) + len(match[2]), match[3])
    return numbering if line.startswith(str(numbering)) else None


class Listing(Struct, frozen=True):
    """Numbered lines `[start, stop)`; `first` is how the first of them is numbered."""

    start: int
    stop: int
    first: Numbering

    def number(self, line: int) -> int:
        """The number that is printed before a line."""
        return self.first.number + line - self.start

    @property
    def last_prefix(self) -> str:
        """The number before the last line, which is the longest."""
        return str(self.first.moved(self.stop - 1 - self.start))

    def bodies(self, lines: list[str], start: int, stop: int) -> list[str]:
        """What is numbered in some of its lines; `lines` are those of the whole text."""
        width, separator = self.first.width, self.first.separator
        if len(str(self.number(stop - 1))) <= width:
            size = width + len(separator)
            return [line[size:] for line in lines[start:stop]]
        numbers = prefixes(self.first.moved(start - self.start), stop - start)
        return [line.removeprefix(number) for line, number in zip(lines[start:stop], numbers, strict=True)]


class Shape(Struct, frozen=True):
    """What of a text can be said without its lines: how many there are, and which of them are numbered.

    `numbered` says for each line whether it is; it is empty where none is.
    """

    length: int
    listings: tuple[Listing, ...] = ()
    numbered: bytes = b""

    @property
    def listing(self) -> Listing | None:
        """The only listing, whose numbers say which line is meant."""
        return self.listings[0] if len(self.listings) == 1 else None

    def is_numbered(self, line: int) -> bool:
        return bool(self.numbered) and self.numbered[line] == 1

    def has_numbers(self, start: int, size: int) -> bool:
        """Whether any of `size` lines is numbered."""
        return 1 in self.numbered[start : start + size]


class Lines(Struct, frozen=True, dict=True):
    """Lines of a text, and its shape."""

    lines: list[str]
    shape: Shape

    @cached_property
    def keys(self) -> list[str]:
        """The lines as they are compared: in a listing without their numbers."""
        return self.bodies(0, len(self.lines)) if self.shape.listings else self.lines

    def bodies(self, start: int, size: int) -> list[str]:
        """`size` lines as they are compared."""
        found = self.lines[start : start + size]
        for listing in self.shape.listings:
            first, last = max(start, listing.start), min(start + size, listing.stop)
            if first < last:
                found[first - start : last - start] = listing.bodies(self.lines, first, last)
        return found

    def text(self, start: int, size: int) -> str:
        return "\n".join(self.lines[start : start + size])


def read_lines(text: str, shape: Shape | None = None) -> Lines:
    """Lines of a text, and the listings in it, where its shape is not known already."""
    lines = text.split("\n")
    return Lines(lines, shape or _shape(lines))


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
    """How many lines the listing has that begins at a line."""
    for line, prefix in enumerate(prefixes(numbering, len(lines) - start), start):
        if not lines[line].startswith(prefix):
            return line - start
    return len(lines) - start


def prefixes(first: Numbering, size: int) -> Iterator[str]:
    """The numbers of a listing as they are printed, from the first on. Most listings have the same few thousand."""
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
