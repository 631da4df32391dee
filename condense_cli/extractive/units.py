"""Split a text into units that are kept or left out: lines, sentences, and pieces of lines that are too long.

Where people talk, lines are paragraphs. There the units are sentences, each kept or left out for itself.

Markers that are in the text already are gaps between units: they are no lines, and where more is left out beside
one, both become one gap with the hash of the text it was first cut from.

Of a file that a tool shows with a number on every line, what stays needs few of them: markers say how many lines are
missing, so a number near the one before it can be counted.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from functools import lru_cache
from operator import add
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from ..core.lazy_pattern import lazy_pattern
from ..core.markers import ELLIPSIS, REFERENCE_PREFIX, Gap, gaps_at, may_be_marked, short_hash
from ..lossless.lines import Listing, numbering_of, prefixes, read_lines

_END: Final = lazy_pattern(r"[.!?…]{1,8}[\"'”’»)\]*_]{0,4}(?=\s)|[。！？]{1,8}[”』」）]{0,4}")
"""An end, with the marks that close what it ends."""

_NO_END: Final = lazy_pattern(
    r"(?:^|[\s(\"'“«])(?:\d{1,3}|[A-Za-z]|[Mm](?:r|rs|s|me|lle|essrs)|[DdSs]r|[Dd]ra|[Ss]ra|Prof|Hr|Fr|St|Ste|Av|Jr"
    r"|No|Nr|Art|Abs|Fig|Tab|vs|etc|ca|bzw|usw|evtl|inkl|approx|e\.g|i\.e|z\.\s?B|d\.\s?h|u\.\s?a|p\.\s?ej|a\.m|p\.m)\.$"
)
"""How what looks like an end goes on: with the number of a list or of a day, an initial, a title, an abbreviation."""

_LOOKS_BACK: Final = 12


def sentences(line: str) -> list[str]:
    """The sentences of a line in order, each with the blanks behind it; put together they are the line."""
    found: list[str] = []
    start = 0
    for end in _END.finditer(line):
        stop = end.end()
        goes_on = _NO_END.search(line, max(0, start - 1, stop - _LOOKS_BACK), stop)
        while stop < len(line) and line[stop].isspace():
            stop += 1
        if goes_on or stop == len(line) or line[stop].islower():
            continue
        found.append(line[start:stop])
        start = stop
    return [*found, line[start:]]


WRAPPED: Final = 7
_HEADING: Final = lazy_pattern(r"#{1,6}(?= +\S)")
_PROSE: Final = lazy_pattern(r"\s*[A-Za-z(\"'`*_][^{}<>;=|\t]*$")
_WIDTHS: Final = range(40, 131)
_CLOSED: Final = lazy_pattern(r"[.!?…:。！？][\"'”’»)\]*_`]{0,4}\s*$")
_MOST_WRAPPED: Final = 6
"""A sentence of more lines is taken in parts."""


def layout_of(line: str) -> int:
    """Return the level of a heading in Markdown, `WRAPPED` for a line that may be wrapped prose, else 0."""
    if line.startswith("#") and (heading := _HEADING.match(line)):
        return heading.end()
    return WRAPPED if len(line) in _WIDTHS and line.count(" ") > 4 and _PROSE.match(line) else 0


def sections_of(layout: bytes) -> dict[int, int]:
    """Return the unit behind its section by each heading, from the layout of all units of a text.

    A text without a heading below the first level has none: `# ...` alone is a comment in most files.
    """
    if not any(level in layout for level in range(2, WRAPPED)):
        return {}
    found: dict[int, int] = {}
    behind = [len(layout)] * WRAPPED  # By level: where a section of it would end.
    for unit in range(len(layout) - 1, -1, -1):
        if 0 < (level := layout[unit]) < WRAPPED:
            found[unit] = behind[level]
            behind[level:] = [unit] * (WRAPPED - level)
    return found


def wrapped_of(layout: bytes, lines: Sequence[str]) -> dict[int, Sequence[int]]:
    """Return all lines of its sentence by each line of prose that is wrapped.

    A line is wrapped where the next word had no room in it.
    """
    found: dict[int, Sequence[int]] = {}
    stop = 0
    while (start := layout.find(WRAPPED, stop)) >= 0:
        stop = start + 1
        while stop < len(layout) and layout[stop] == WRAPPED:
            stop += 1
        width = max(map(len, lines[start:stop]))
        first = start
        for unit in range(start, stop):
            behind = unit + 1
            if behind - first < _MOST_WRAPPED and _goes_on(lines[unit], lines[behind : behind + 1], width):
                if behind < stop:
                    continue
                behind += 1  # The short end of a sentence.
            if behind - first > 1:
                found.update(dict.fromkeys(range(first, behind), range(first, behind)))
            first = behind
    return found


def first_lines(
    sections: Mapping[int, int],
    lines: Sequence[str],
    sentences: Mapping[int, Sequence[int]],
    pieces: Collection[int],
) -> dict[int, Sequence[int]]:
    """Return each heading with the first line below it, or its whole sentence; without one that is taken in pieces."""
    found: dict[int, Sequence[int]] = {}
    for title, stop in sections.items():
        below = (unit for unit in range(title + 1, stop) if unit not in sections and lines[unit].strip())
        first = next(below, None)
        if first is not None and first not in pieces:
            found[title] = [title, *sentences.get(first, (first,))]
    return found


def _goes_on(line: str, following: Sequence[str], width: int) -> bool:
    """Tell whether a sentence goes on in the following line, if any: its first word had no room in this one."""
    word = following[0].split(None, 1)[:1] if following else []
    return bool(word) and word[0][0].islower() and len(line) + 1 + len(word[0]) > width and not _CLOSED.search(line)


LONG_LINE: Final = 480
"""Lines of more characters are taken in pieces."""

_PIECE: Final = lazy_pattern(r".{100,200}?(?:(?<=[\s,;:})\]>])|(?=[\s\"'({\[<]))|.{1,200}", re.DOTALL)
"""A piece of a long line: it ends at a blank or after punctuation where there is one."""

_RECORD: Final = 2_000
"""A record of JSON with more characters is taken in pieces: it may be all that a tool answered."""

_FEW_BLANKS: Final = 1 / 16
_MANY_SIGNS: Final = 1 / 8
_SIGNS: Final = lazy_pattern(r"[{}()\[\]<>;:,=\"']")


def _is_minified(line: str) -> bool:
    """Tell whether a line is code without blanks, or a record, of which a piece is of no use."""
    if line.lstrip().startswith(("{", "[", '"')) and len(line) > _RECORD:
        return False
    few = line.count(" ") + line.count("\t") <= _FEW_BLANKS * len(line)
    return few and len(_SIGNS.findall(line)) >= _MANY_SIGNS * len(line)


_LISTED: Final = frozenset("→\t")
"""What ends the numbers of most tools that show a file, and of `cat -n`. Those that end otherwise may be times, or what
edits name."""

_LIKE_NUMBERED: Final = lazy_pattern(r"\s*\d+ ?[→\t|:]")
"""What a reader may take for a number before a line."""

_COUNTED: Final = 10
"""A kept line of a shown file at most so many lines behind the kept one before it is written without its number."""

_JOINING: Final = frozenset("\u200d\ufe0e\ufe0f")


class Units(Struct, frozen=True):
    """The units of a text in order. Unit n is `texts[n]`; `bodies[n]` is that without the number of a listing.

    The line of unit n is units `starts[n]` up to `stops[n]`, that one not included. Sentences count as lines of their
    own; `go_on` are the numbers of those that do not begin a line of the text. `gaps` are what is left out already, by
    the number of the unit behind it, which is `len(texts)` at the end. `hash` is that of the text which the gaps were
    first cut from, or of this one. `has_final_break`: a line break ends the text. `listings` are those in which texts
    have numbers that bodies have not, None where units are no whole lines or something is left out already.
    """

    texts: Sequence[str]
    bodies: Sequence[str]
    starts: Sequence[int]
    stops: Sequence[int]
    gaps: Mapping[int, Gap]
    hash: str
    has_final_break: bool
    go_on: Set[int] = frozenset()
    listings: Sequence[Listing] | None = None


_NO_GAPS: Final[Mapping[int, Gap]] = MappingProxyType({})


def split(text: str, *, by_sentence: bool = False) -> Units:
    """The units of a text: its lines, or its sentences."""
    read = read_lines(text)
    lines, bodies = read.lines, read.keys
    has_final_break = len(lines) > 1 and not lines[-1]
    if has_final_break:
        lines = lines[:-1]
        bodies = lines if bodies is read.lines else bodies[:-1]
    marks = _marks(lines) if may_be_marked(text) else {}
    own = {gap.hash for gap in marks.values() if gap.hash}
    digest = own.pop() if len(own) == 1 else short_hash(text)
    if by_sentence:
        lines, bodies, gaps, go_on = _sentences_of(lines, marks, digest)
        return Units(lines, bodies, *_whole(len(lines)), gaps, digest, has_final_break, go_on)
    if marks or (len(text) > LONG_LINE and max(map(len, lines)) > LONG_LINE):
        lines, bodies, starts, gaps = _taken_apart(lines, bodies, marks, digest)
        places = _whole(len(lines)) if starts == [*range(len(lines))] else (starts, _stops(starts))
        return Units(lines, bodies, *places, gaps, digest, has_final_break)
    return Units(lines, bodies, *_whole(len(lines)), _NO_GAPS, digest, has_final_break, listings=read.shape.listings)


def put_together(bodies: Sequence[str], digest: str, listings: Sequence[Listing], *, has_final_break: bool) -> Units:
    """The units of a text of whole lines, as `split` has them, from these without their numbers in listings."""
    texts = bodies
    if listings:
        texts = [*bodies]
        for listing in listings:
            numbers = prefixes(listing.first, listing.stop - listing.start)
            texts[listing.start : listing.stop] = map(add, numbers, bodies[listing.start : listing.stop])
    return Units(
        texts, bodies, *_whole(len(bodies)), _NO_GAPS, digest, has_final_break=has_final_break, listings=listings
    )


@lru_cache(1_000)
def _whole(size: int) -> tuple[Sequence[int], Sequence[int]]:
    """Where lines start and stop that are units as they are."""
    return range(size), range(1, size + 1)


def _marks(lines: Sequence[str]) -> dict[int, Gap]:
    """The lines that are markers of what is left out, by their numbers."""
    return {number: gap for number, gap in gaps_at(lines).items() if not gap.is_image}


def _taken_apart(
    lines: Sequence[str], bodies: Sequence[str], marks: Mapping[int, Gap], digest: str
) -> tuple[list[str], list[str], list[int], dict[int, Gap]]:
    """Texts, bodies, starts and gaps of lines among which there are markers, or long ones."""
    texts: list[str] = []
    units: list[str] = []
    starts: list[int] = []
    gaps: dict[int, Gap] = {}
    is_continued = False
    for number, line in enumerate(lines):
        gap = marks.get(number)
        if gap is not None:
            before = gaps.get(len(texts), Gap(digest))
            gaps[len(texts)] = before.plus(gap)
            # Characters alone are missing inside a line, whose two ends go together.
            is_continued = not gap.lines and before == Gap(digest) and bool(texts)
            continue
        parts = list(pieces(line))
        units += parts if len(parts) > 1 else [bodies[number]]
        starts += [starts[-1] if is_continued else len(texts)] * len(parts)
        texts += parts
        is_continued = False
    return texts, units, starts, gaps


def _sentences_of(
    lines: Sequence[str], marks: Mapping[int, Gap], digest: str
) -> tuple[list[str], list[str], dict[int, Gap], set[int]]:
    """Texts, bodies and gaps of sentences, and which of them go on in a line. Code between fences stays in lines."""
    texts: list[str] = []
    gaps: dict[int, Gap] = {}
    go_on: set[int] = set()
    is_code = False
    for number, line in enumerate(lines):
        if number in marks:
            gaps[len(texts)] = gaps.get(len(texts), Gap(digest)).plus(marks[number])
            continue
        if line.lstrip().startswith("```"):
            is_code = not is_code
        parts = [piece for part in ([line] if is_code else sentences(line)) for piece in pieces(part)]
        go_on.update(range(len(texts) + 1, len(texts) + len(parts)))
        texts += parts
    return texts, texts, gaps, go_on


def _stops(starts: Sequence[int]) -> list[int]:
    """Where each unit's line ends, from where it starts."""
    stops = [len(starts)] * len(starts)
    for unit in range(len(starts) - 2, -1, -1):
        stops[unit] = stops[unit + 1] if starts[unit] == starts[unit + 1] else unit + 1
    return stops


def pieces(line: str) -> Iterator[str]:
    """The line in pieces, of prose its sentences; none begins with a character that belongs to the one before it."""
    if len(line) <= LONG_LINE or _is_minified(line):
        yield line
        return
    for sentence in sentences(line):
        if len(sentence) <= LONG_LINE:
            yield sentence
        else:
            yield from _pieces(sentence)


def _pieces(line: str) -> Iterator[str]:
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


def pieces_of(units: Units) -> dict[int, tuple[int, int]]:
    """By each unit that is a piece of a line, the first unit of the line and the one behind its last."""
    if isinstance(units.stops, range):  # All are whole lines.
        return {}
    places = enumerate(zip(units.starts, units.stops, strict=True))
    return {unit: (start, stop) for unit, (start, stop) in places if stop - start > 1}


def priced_texts(units: Units) -> Sequence[str]:
    """The units as most of them are written: lines of a shown file without their numbers."""
    if units.texts is units.bodies:
        return units.texts
    return [body if _is_listed(text, body) else text for text, body in zip(units.texts, units.bodies, strict=True)]


def _is_listed(text: str, body: str) -> bool:
    """Whether a line is numbered as tools do it that show a file."""
    return len(body) < len(text) and text[-len(body) - 1] in _LISTED


def render(units: Units, kept: Sequence[int], *, counts_lines: bool = False) -> str:
    """The kept units with a marker where something is left out; `kept[n]` tells whether unit n stays.

    The first marker has the hash of the text, further ones share it. Of a line in pieces either none is kept, or the
    first and the last are among those that are. With `counts_lines`, lines of a shown file that are near the kept one
    before them have no numbers: these can be counted.
    """
    written: list[str] = []  # In parts: a line of many pieces would be copied with each, were it put together at once.
    gaps, go_on = units.gaps, units.go_on
    stays = _lines_that_stay(units, kept) if go_on else kept
    digest = units.hash
    lines = characters = 0  # Not a gap, of which each unit that is left out would make another.
    counted = _counted(units, kept) if counts_lines else ()
    for unit, (text, start) in enumerate(zip(units.texts, units.starts, strict=True)):
        if unit in gaps:
            lines += gaps[unit].lines
            characters += gaps[unit].characters
        is_inside = unit != start or unit in go_on
        if not kept[unit]:
            # Of a line that stays in part its characters are counted, any other counts as one.
            if stays[start]:
                characters += len(text)
            else:
                lines += not is_inside
            if unit in go_on and kept[unit - 1] and not written[-1].endswith(ELLIPSIS):
                written.append(ELLIPSIS)
            continue
        if lines or characters:
            if unit != start and not written[-1].endswith(ELLIPSIS):
                written.append(ELLIPSIS)
            written += _marker(Gap(digest, lines, characters), written)
            digest = ""
            lines = characters = 0
            written += ["\n", ELLIPSIS] if is_inside and not text.startswith(ELLIPSIS) else ["\n"]
        elif written and not is_inside:
            written.append("\n")
        written.append(units.bodies[unit] if unit in counted else text)
    last = gaps.get(len(units.texts), Gap(units.hash))
    if lines or characters or last.lines or last.characters:
        written += _marker(Gap(digest, lines + last.lines, characters + last.characters), written)
    elif units.has_final_break:
        written.append("\n")
    return "".join(written)


def _counted(units: Units, kept: Sequence[int]) -> set[int]:
    """The kept lines of a shown file whose numbers follow from one that is near; none where nothing is left out."""
    found: set[int] = set()
    if units.texts is units.bodies or all(kept):
        return found
    place, last = 0, len(units.texts) - 1  # What is left out already has a place as well.
    before, known, first = 0, None, None
    for unit, (text, body) in enumerate(zip(units.texts, units.bodies, strict=True)):
        place += (unit == units.starts[unit]) + (units.gaps[unit].lines if unit in units.gaps else 0)
        if unit and not kept[unit]:
            continue
        number = numbering_of(text)
        if number is None or number.separator not in _LISTED:
            continue
        if not unit:
            first = number.number - place
            if not kept[unit]:
                continue
        is_near = known is not None and place - before <= _COUNTED and number == known.moved(place - before)
        # Those without blanks may be a column of a table, but for a tool's, which the text begins with.
        is_tools = number.separator == "→" or number.width > len(str(number.number)) or number.number - place == first
        # An empty last line would be read as a line break at the end.
        if body != text and is_near and is_tools and not _is_mistakable(body) and (body or unit != last):
            found.add(unit)
        before, known = place, number
    return found


def _is_mistakable(body: str) -> bool:
    """Whether a line of a file would be read otherwise without its number: as a marker, or as numbered itself."""
    return may_be_marked(body) or REFERENCE_PREFIX in body or _LIKE_NUMBERED.match(body) is not None


def _lines_that_stay(units: Units, kept: Sequence[int]) -> bytearray:
    """For each sentence whether one of its line is kept."""
    stays = bytearray(map(bool, kept))
    for unit in range(1, len(stays)):
        stays[unit] |= unit in units.go_on and stays[unit - 1]
    for unit in range(len(stays) - 1, 0, -1):
        if unit in units.go_on:
            stays[unit - 1] = stays[unit]
    return stays


def _marker(gap: Gap, written: Sequence[str]) -> list[str]:
    """The marker for what is left out, on a line of its own behind what is written."""
    return ["\n", str(gap)] if written else [str(gap)]
