"""A text as units that are kept or left out: its lines, and pieces of lines too long to be kept or left out whole.

Markers that stand in the text already are gaps between units: they are no lines, and where more is left out beside
one, both become one gap with the hash of the text it was first cut from.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from ..lossless.lines import read_lines
from ..markers import ELLIPSIS, PREFIX, Gap, content_hash, gaps_in, parse_gap

LONG_LINE: Final = 480
"""Lines of more characters are taken in pieces."""

_PIECE: Final = re.compile(r".{100,200}?(?:(?<=[\s,;:})\]>])|(?=[\s\"'({\[<]))|.{1,200}", re.DOTALL)
"""A piece of a long line: it ends at a blank or after punctuation where there is one."""

_JOINING: Final = frozenset("\u200d\ufe0e\ufe0f")


class Units(Struct, frozen=True):
    """Units of a text in order.

    `bodies` are the units without the numbers of listings; `starts[n]` and `stops[n]` bound the line of unit n;
    `gaps[n]` is what is left out already before unit n, or at the end; `has_final_break`: a line break ends the text.
    """

    texts: list[str]
    bodies: list[str]
    starts: list[int]
    stops: list[int]
    gaps: dict[int, Gap]
    hash: str
    has_final_break: bool

    def is_joined(self, unit: int) -> bool:
        """Whether the unit goes on the line of the one before it."""
        return self.starts[unit] != unit


def split(text: str) -> Units:
    """The units of a text."""
    read = read_lines(text)
    has_final_break = len(read.lines) > 1 and not read.lines[-1]
    texts: list[str] = []
    bodies: list[str] = []
    starts: list[int] = []
    gaps: dict[int, Gap] = {}
    own = {gap.hash for gap in gaps_in(text) if not gap.is_image}
    hash = own.pop() if len(own) == 1 else content_hash(text)
    is_continued = False
    for number in range(len(read.lines) - has_final_break):
        line, body = read.lines[number], read.keys[number]
        gap = parse_gap(line) if line.startswith(PREFIX) else None
        if gap is not None and not gap.is_image:
            before = gaps.get(len(texts), Gap(hash))
            gaps[len(texts)] = before.plus(gap)
            # Characters alone are missing inside a line, whose two ends go together.
            is_continued = not gap.lines and before == Gap(hash) and bool(texts)
            continue
        if len(line) <= LONG_LINE:
            parts = [line]
            bodies.append(body)
        else:
            parts = list(pieces(line))
            bodies += parts
        starts += [starts[-1] if is_continued else len(texts)] * len(parts)
        texts += parts
        is_continued = False
    return Units(texts, bodies, starts, _stops(starts), gaps, hash, has_final_break)


def _stops(starts: Sequence[int]) -> list[int]:
    """Where each unit's line ends, from where it starts."""
    stops = [len(starts)] * len(starts)
    for unit in range(len(starts) - 2, -1, -1):
        stops[unit] = stops[unit + 1] if starts[unit] == starts[unit + 1] else unit + 1
    return stops


def pieces(line: str) -> Iterator[str]:
    """The line in pieces; none begins with a character that belongs to the one before it."""
    start = 0
    while start < len(line):
        match = _PIECE.match(line, start)
        end = match.end() if match else len(line)
        while end < len(line) and (
            unicodedata.combining(line[end]) or line[end] in _JOINING or line[end - 1] == "\u200d" or line[end] == " "
        ):
            end += 1
        yield line[start:end]
        start = end


def render(units: Units, kept: Sequence[int]) -> str:
    """The kept units with a marker where something is left out; `kept[n]` tells whether unit n stays.

    Of a line in pieces either none is kept, or the first and the last are among those that are.
    """
    lines: list[str] = []
    left_out = nothing = Gap(units.hash)
    for unit, text in enumerate(units.texts):
        if unit in units.gaps:
            left_out = left_out.plus(units.gaps[unit])
        start = units.starts[unit]
        if not kept[unit]:
            # Of a line that stays in part its characters are counted, any other counts as one.
            left_out = left_out.plus(
                Gap(units.hash, 0, len(text)) if kept[start] else Gap(units.hash, int(unit == start))
            )
            continue
        if left_out != nothing:
            if unit != start and not lines[-1].endswith(ELLIPSIS):
                lines[-1] += ELLIPSIS
            lines.append(str(left_out))
            left_out = nothing
            lines.append(ELLIPSIS + text if unit != start and not text.startswith(ELLIPSIS) else text)
        elif unit != start:
            lines[-1] += text
        else:
            lines.append(text)
    left_out = left_out.plus(units.gaps.get(len(units.texts), nothing))
    if left_out != nothing:
        return "\n".join([*lines, str(left_out)])
    return "\n".join(lines) + "\n" * units.has_final_break
