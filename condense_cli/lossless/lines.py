"""A text as lines, with the numbers of listings told apart from what they number.

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
