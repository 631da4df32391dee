"""A text as lines, with the numbers of listings told apart from what they number.

     9→import os        10: import os        9 | import os

Lines are what `split("\\n")` gives, so a carriage return, trailing blanks and a missing final line break
belong to a line. A listing is a stretch of lines numbered upwards by one, with one separator and one width.
Two reads of a file that had lines inserted above still share the bodies.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

_NUMBERED: Final = re.compile(r"( *)(\d{1,7})(→|\t| \| |\||:)", re.ASCII)
_BEGINNINGS: Final = frozenset(" 0123456789")


class Numbering(Struct, frozen=True):
    """A line number as it is printed: right-aligned to `width`, before `separator`."""

    number: int
    width: int
    separator: str

    def __str__(self) -> str:
        return f"{self.number:>{self.width}}{self.separator}"

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


class Lines(Struct, frozen=True):
    """Lines of a text. `keys` are the lines as they are compared: in a listing without their numbers."""

    lines: list[str]
    keys: list[str]
    listings: tuple[Listing, ...] = ()
    numbered: bytes = b""
    """For each line whether it is numbered; empty where none is."""

    @property
    def listing(self) -> Listing | None:
        """The only listing, whose numbers say which line is meant."""
        return self.listings[0] if len(self.listings) == 1 else None

    def is_numbered(self, line: int) -> bool:
        return bool(self.numbered) and self.numbered[line] == 1

    def has_numbers(self, start: int, size: int) -> bool:
        """Whether any of `size` lines is numbered."""
        return 1 in self.numbered[start : start + size]

    def text(self, start: int, size: int) -> str:
        return "\n".join(self.lines[start : start + size])


def read_lines(text: str) -> Lines:
    """Lines of a text, and the listings in it."""
    lines = text.split("\n")
    listings: list[Listing] = []
    position = 0
    for line, content in enumerate(lines):
        if line < position or content[:1] not in _BEGINNINGS:
            continue
        numbering = numbering_of(content)
        if numbering is not None:
            position = _end_of_listing(lines, line, numbering)
            if position - line > 1:
                listings.append(Listing(line, position, numbering))
    return _with_keys(lines, listings) if listings else Lines(lines, lines)


def _end_of_listing(lines: list[str], position: int, numbering: Numbering) -> int:
    number, width, separator = numbering.number, numbering.width, numbering.separator
    while position < len(lines) and lines[position].startswith(f"{number:>{width}}{separator}"):
        position += 1
        number += 1
    return position


def _with_keys(lines: list[str], listings: list[Listing]) -> Lines:
    keys = lines.copy()
    numbered = bytearray(len(lines))
    for listing in listings:
        width, extra = listing.first.width, len(listing.first.separator)
        for line in range(listing.start, listing.stop):
            numbered[line] = 1
            keys[line] = lines[line][max(width, len(str(listing.number(line)))) + extra :]
    return Lines(lines, keys, tuple(listings), bytes(numbered))
