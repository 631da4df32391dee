"""Cutting a text to a number of lines or characters, with a marker where something is missing.

A text is taken as lines and gaps (`markers.Gap`). A gap is no line of its own, so a text that was cut
once is never cut again to the same limits; where it is cut further, the gaps merge and keep the hash
of the text they came from.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, assert_never

from msgspec import Struct

from ...core.markers import ELLIPSIS, Gap, gaps_at, gaps_in, may_be_marked, short_hash

LEAST_SAVED: Final = 10
"""Tokens that a cut has to save, its marker paid: fewer are not worth what goes. Version 0.1.0, whose markers took so
many more, left the same texts as they were, so that its files stay what they are."""

Side = Literal["head", "tail", "both"]

_Items = list[str | Gap]


class CutLimits(Struct, frozen=True):
    """How much of a text stays: at most so many lines, then at most so many characters."""

    max_lines: int | None = None
    max_chars: int | None = None
    keep: Side = "head"
    add_ellipsis: bool = True


def suppress(text: str) -> str:
    """The marker in place of the whole text; the text itself when nothing is left to suppress."""
    if not may_be_marked(text):
        lines = text.count("\n") + 1
        if not text.strip("\n"):
            return text
        # A single line says more by its length; what follows a last line break is no line.
        amounts = (0, len(text)) if lines == 1 else (lines - text.endswith("\n"), 0)
        return str(Gap(short_hash(text), *amounts))
    items = _parse(text)
    if not any(isinstance(item, str) and item for item in items):
        return text
    gap = _merge(items, text, to_end=True)
    if gap.lines == 1 and len(_units(items)) == 1:
        # A single line says more by its length.
        characters = gap.characters + sum(len(item) for item in items if isinstance(item, str))
        return str(Gap(gap.hash, 0, characters))
    return str(gap)


def truncate(text: str, limits: CutLimits) -> str:
    """The text cut to the limits, or the very same text when it is within them."""
    if limits.max_lines is not None and not may_be_marked(text):
        short = _cut_whole_lines(text, limits.max_lines, limits.keep)
        if limits.max_chars is None or len(short) <= limits.max_chars:
            return short
    items = cut = _parse(text)
    if limits.max_lines is not None:
        cut = _cut_lines(cut, limits.max_lines, limits.keep, text)
    if limits.max_chars is not None:
        cut = _cut_chars(cut, limits.max_chars, limits.keep, text)
    return text if cut is items else _render(cut, limits.add_ellipsis)


def _cut_whole_lines(text: str, limit: int, keep: Side) -> str:
    """Cut lines of a text that was not cut before, without taking it all apart."""
    lines = text.count("\n") + 1
    head, tail = _shares(limit, keep)
    gone = lines - limit - (not tail and text.endswith("\n"))  # What follows a last line break is no line.
    if gone <= 0:
        return text
    start = text.split("\n", head)[:head]
    end = text.rsplit("\n", tail)[1:] if tail else []
    return "\n".join([*start, str(Gap(short_hash(text), gone)), *end])


def _hash_of(text: str) -> str:
    earlier = {gap.hash for gap in gaps_in(text) if not gap.is_image}
    return earlier.pop() if len(earlier) == 1 else short_hash(text)


def _parse(text: str) -> _Items:
    """Lines and gaps of a text; the ellipsis beside a gap in the middle of a line is part of the gap."""
    lines = text.split("\n")
    if not may_be_marked(text):
        return [*lines]
    if len(lines) > 1:
        # The marker of an image is a whole block; among other lines somebody quotes it.
        gaps = {number: gap for number, gap in gaps_at(lines).items() if not gap.is_image}
        items: _Items = [gaps.get(number, line) for number, line in enumerate(lines)]
    else:
        items = [gaps_at(lines).get(0, text)]
    for index, item in enumerate(items):
        if isinstance(item, Gap) and item.characters:
            before = items[index - 1] if index else None
            after = items[index + 1] if index + 1 < len(items) else None
            if isinstance(before, str):
                items[index - 1] = before.removesuffix(ELLIPSIS)
            if isinstance(after, str):
                items[index + 1] = after.removeprefix(ELLIPSIS)
    return items


def _render(items: _Items, add_ellipsis: bool) -> str:
    lines = [str(item) for item in items]
    if add_ellipsis:
        for index, item in enumerate(items):
            if isinstance(item, Gap) and item.characters:
                if index and isinstance(items[index - 1], str):
                    lines[index - 1] += ELLIPSIS
                if index + 1 < len(items) and isinstance(items[index + 1], str):
                    lines[index + 1] = ELLIPSIS + lines[index + 1]
    return "\n".join(lines)


def _merge(items: Sequence[str | Gap], text: str, *, to_end: bool) -> Gap:
    """One gap for all of these, every line counted as a line."""
    gaps = [item for item in items if isinstance(item, Gap)]
    lines = len(items) - len(gaps)
    if to_end and lines and items[-1] == "":
        lines -= 1  # The text ends with a line break: what follows it is no line.
    return Gap(_hash_of(text), lines + sum(gap.lines for gap in gaps), sum(gap.characters for gap in gaps))


def _units(items: Sequence[str | Gap]) -> list[_Items]:
    """Items grouped to lines: a gap of characters alone is inside a line and joins its two ends."""
    units: list[_Items] = []
    for item in items:
        previous = units[-1][-1] if units else None
        joins_item = isinstance(item, Gap) and not item.lines
        joins_previous = isinstance(previous, Gap) and not previous.lines
        if units and ((joins_item and isinstance(previous, str)) or joins_previous):
            units[-1].append(item)
        else:
            units.append([item])
    return units


def _cut_lines(items: _Items, limit: int, keep: Side, text: str) -> _Items:
    if len(items) <= limit:
        return items
    head, tail = _shares(limit, keep)
    start, end = head, len(items) - tail
    if may_be_marked(text):
        units = _units(items)
        lines = [index for index, unit in enumerate(units) if any(isinstance(item, str) for item in unit)]
        if len(lines) <= limit:
            return items
        start = sum(map(len, units[: lines[head - 1] + 1])) if head else 0
        end = sum(map(len, units[: lines[-tail]])) if tail else len(items)
    gap = _merge(items[start:end], text, to_end=end == len(items))
    return [*items[:start], gap, *items[end:]] if gap.lines or gap.characters else items


def _shares(limit: int, keep: Side) -> tuple[int, int]:
    """How much of the limit stays at the head and at the tail."""
    match keep:
        case "head":
            return limit, 0
        case "tail":
            return 0, limit
        case "both":
            return limit - limit // 2, limit // 2
        case other:
            assert_never(other)


def _cut_chars(items: _Items, limit: int, keep: Side, text: str) -> _Items:
    if _fitting(items, limit)[0] == len(items):
        return items
    head_share, tail_share = _shares(limit, keep)
    head, head_part = _fitting(items, head_share)
    tail, tail_part = _fitting(items[head:][::-1], tail_share)
    first, last = head, len(items) - 1 - tail
    gap = Gap(_hash_of(text))
    for index in range(first, last + 1):
        item = items[index]
        if isinstance(item, Gap):
            gap = gap.plus(item)
            continue
        kept = (head_part if index == first else 0) + (tail_part if index == last else 0)
        gap = gap.plus(Gap(gap.hash, 0, len(item) - kept) if kept else Gap(gap.hash, 1))
    if not (gap.lines or gap.characters):
        return items  # Head and tail meet: only the line break between them would go.
    start = [str(items[first])[:head_part]] if head_part else []
    end = [str(items[last])[-tail_part:]] if tail_part else []
    return [*items[:first], *start, gap, *end, *items[last + 1 :]]


def _fitting(items: Sequence[str | Gap], share: int) -> tuple[int, int]:
    """How many items fit into so many characters, and how many characters of the next line. Gaps are free."""
    if not share:
        return 0, 0
    used = 0
    for index, item in enumerate(items):
        if isinstance(item, Gap):
            continue
        line_break = bool(index) and isinstance(items[index - 1], str)
        if used + line_break + len(item) > share:
            # A gap before a line that does not fit goes into the new gap.
            part = max(0, share - used - line_break)
            return (index if part else _before_gaps(items, index)), part
        used += line_break + len(item)
    return len(items), 0


def _before_gaps(items: Sequence[str | Gap], index: int) -> int:
    while index and isinstance(items[index - 1], Gap):
        index -= 1
    return index
