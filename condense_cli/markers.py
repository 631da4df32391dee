"""Lossy markers: what stands where content was left out, and how to read them back.

    def total(items):
    [condense: 68 lines left out #5f2c91d8]
    the first words…
    [condense: 300 characters left out #5f2c91d8]

A marker has a line of its own. The number tells how much is missing; the hash names the whole text it
was cut from, so that it can be found in the original. A suppressed block is a marker and nothing else;
in place of an image it is `[condense: image left out #5f2c91d8]`, and the hash names the image's data.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final

from msgspec import Struct

ELLIPSIS: Final = "…"

_MARKER: Final = re.compile(
    r"\[condense: (?:(?P<lines>\d{1,15}) lines?)?(?:, )?(?:(?P<characters>\d{1,15}) characters?)?"
    r" left out #(?P<hash>[0-9a-f]{8})\]",
    re.ASCII,
)
_IMAGE: Final = re.compile(r"\[condense: image left out #([0-9a-f]{8})\]", re.ASCII)
PREFIX: Final = "[condense: "
REFERENCE_PREFIX: Final = "[see "
"""How references begin, the lossless markers; `lossless.references` writes and reads them."""


def content_hash(text: str) -> str:
    """First eight hex digits of the SHA-256 of the text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]


class Gap(Struct, frozen=True):
    """Content that is missing: whole lines, characters of a line, or both; `hash` names where it was cut from.

    An image that is missing has neither.
    """

    hash: str
    lines: int = 0
    characters: int = 0
    is_image: bool = False

    def __str__(self) -> str:
        if self.is_image:
            return f"[condense: image left out #{self.hash}]"
        amounts = [
            f"{number} {noun}{'' if number == 1 else 's'}"
            for number, noun in ((self.lines, "line"), (self.characters, "character"))
            if number
        ]
        return f"[condense: {', '.join(amounts)} left out #{self.hash}]"

    def plus(self, other: Gap) -> Gap:
        return Gap(self.hash, self.lines + other.lines, self.characters + other.characters)


def parse_gap(line: str) -> Gap | None:
    """The gap that a line stands for, if it is a marker and nothing else."""
    if not line.startswith(PREFIX):
        return None
    image = _IMAGE.fullmatch(line)
    if image:
        return Gap(image[1], is_image=True)
    match = _MARKER.fullmatch(line)
    if not match:
        return None
    gap = Gap(match["hash"], int(match["lines"] or 0), int(match["characters"] or 0))
    return gap if (gap.lines or gap.characters) and str(gap) == line else None


def gaps_in(text: str) -> list[Gap]:
    """Every gap of a text, in order."""
    if PREFIX not in text:
        return []
    return [gap for gap in map(parse_gap, text.split("\n")) if gap]
