"""A text as lines, with the numbers of listings told apart from what they number.

     9→import os        10: import os        9 | import os

Lines are what `split("\\n")` gives, so a carriage return, trailing blanks and a missing final line break
belong to a line. A listing is a stretch of lines numbered upwards by one, with one separator and one width.
Two reads of a file that had lines inserted above still share the bodies.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import chain, takewhile
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

_NUMBERED: Final = re.compile(r"( *)(\d{1,7})(→|\t| \| |\||:)", re.ASCII)
_PRINTED: Final = 2_000
_BEGINNINGS: Final = frozenset(" 0123456789")


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
    keys, numbered = lines, bytearray()
    position = 0
    for line, content in enumerate(lines):
        if line < position or content[:1] not in _BEGINNINGS:
            continue
        numbering = numbering_of(content)
        if numbering is None or not lines[line + 1 : line + 2] or not lines[line + 1].startswith(numbering.next):
            continue
        bodies = _bodies(lines, line, numbering)
        position = line + len(bodies)
        if not listings:
            keys, numbered = lines.copy(), bytearray(len(lines))
        listings.append(Listing(line, position, numbering))
        keys[line:position] = bodies
        numbered[line:position] = b"\x01" * len(bodies)
    return Lines(lines, keys, tuple(listings), bytes(numbered))


def _bodies(lines: list[str], start: int, numbering: Numbering) -> list[str]:
    """What is numbered in a listing that begins at a line."""
    lines = lines[start:]
    fitting = sum(takewhile(bool, map(str.startswith, lines, _prefixes(numbering, len(lines)))))
    return list(map(str.removeprefix, lines[:fitting], _prefixes(numbering, fitting)))


def _prefixes(first: Numbering, size: int) -> Iterator[str]:
    """The numbers of a listing as they are printed, from the first on. Most listings have the same few thousand."""
    known = _printed(first.width, first.separator)
    last = first.number + size
    others = range(max(first.number, len(known)), last)
    return chain(known[first.number : last], (f"{number:>{first.width}}{first.separator}" for number in others))


@cache
def _printed(width: int, separator: str) -> list[str]:
    return [f"{number:>{width}}{separator}" for number in range(_PRINTED)]
