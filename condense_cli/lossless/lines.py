"""A text as lines, with the numbers of a listing told apart from what they number.

     9→import os        10: import os        9 | import os

Lines are what `split("\\n")` gives, so a carriage return, trailing blanks and a missing final line break
belong to a line. A text holds at most one listing: neighbouring lines numbered upwards by one, with one
separator and one width. Two reads of a file that had lines inserted above still share the bodies.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

_NUMBERED: Final = re.compile(r"( *)(\d{1,7})(→|\t| \| |\||:)", re.ASCII)
_HEADER: Final = 12
"""A listing begins within the first lines; before it stands at most a heading."""


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


class Lines(Struct, frozen=True):
    """Lines of a text. `keys` are the lines as they are compared: in `[start, stop)` without their numbers.

    `first` is the number printed at `start`; numbers are right-aligned to `width` before `separator`.
    """

    lines: list[str]
    keys: list[str]
    start: int = 0
    stop: int = 0
    first: int = 0
    width: int = 0
    separator: str = ""

    @property
    def is_listing(self) -> bool:
        return self.stop > self.start

    def is_numbered(self, line: int) -> bool:
        return self.start <= line < self.stop

    def has_numbers(self, start: int, size: int) -> bool:
        """Whether any of `size` lines is numbered."""
        return self.start < start + size and start < self.stop

    def text(self, start: int, size: int) -> str:
        return "\n".join(self.lines[start : start + size])

    def number(self, line: int) -> int:
        """The number that is printed before a line of the listing."""
        return self.first + line - self.start


def read_lines(text: str) -> Lines:
    """Lines of a text, and the listing in it if there is one."""
    lines = text.split("\n")
    position = 0
    while position < min(len(lines), _HEADER):
        numbering = numbering_of(lines[position])
        if numbering is None:
            position += 1
            continue
        stop = _end_of_listing(lines, position, numbering)
        if stop - position > 1:
            return _listing(lines, position, stop, numbering)
        position = stop
    return Lines(lines, lines)


def _end_of_listing(lines: list[str], position: int, numbering: Numbering) -> int:
    number, width, separator = numbering.number, numbering.width, numbering.separator
    while position < len(lines) and lines[position].startswith(f"{number:>{width}}{separator}"):
        position += 1
        number += 1
    return position


def _listing(lines: list[str], start: int, stop: int, numbering: Numbering) -> Lines:
    keys = lines.copy()
    first, width = numbering.number, numbering.width
    for position in range(start, stop):
        length = max(width, len(str(first + position - start))) + len(numbering.separator)
        keys[position] = lines[position][length:]
    return Lines(lines, keys, start, stop, first, width, numbering.separator)
