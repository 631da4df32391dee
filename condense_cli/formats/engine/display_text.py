"""Text that records hold for display: finding it, and telling whether it stands elsewhere too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from ...core import json_text
from ...core.lazy_pattern import lazy_pattern
from ...core.markers import Gap, gaps_in, short_hash
from ...core.transcript import JsonPath, Source
from ...toolcalls.tools import string_values

_SHORT: Final = 200
"""Strings of fewer characters are not worth a marker."""

FAILED: Final = "Error: "
"""What Claude Code writes before some texts that it shows."""

_LINE_NUMBER: Final = lazy_pattern(r"^\s*\d+(?:[→\t]|[|:] ?)")


def known_lines(text: str) -> set[str]:
    """Lines of a text, with and without line numbers."""
    lines = list(map(str.rstrip, text.split("\n")))
    return {
        *lines,
        *(line[match.end() :] for line, match in zip(lines, map(_LINE_NUMBER.match, lines), strict=True) if match),
    }


def repeats_lines(text: str, known: set[str]) -> bool:
    """Whether all lines of a text are known."""
    return known.issuperset(map(str.rstrip, text.removeprefix(FAILED).split("\n")))


def marker_of(repeat: str, result: str) -> str:
    """The marker for a text that repeats a result; it names the hash in the shortened result, where that has one."""
    gaps = [gap for gap in gaps_in(result) if not gap.is_image]
    lines = repeat.count("\n") + 1
    return str(Gap(gaps[0].hash if gaps else short_hash(repeat), lines))


def long_strings(value: Any, path: JsonPath) -> Iterator[tuple[JsonPath, str]]:
    """Strings inside a value that stands at a path of its record, where they are worth a marker."""
    return ((where, text) for where, text in string_values(value, path) if len(text) >= _SHORT)


def objects_with(source: Source, *words: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Records that are objects and hold one of the words as a string."""
    needles = [f'"{word}"'.encode() for word in words]
    for record in range(len(source.spans)):
        raw = source.raw(record)
        if record in source.unparsed or not any(needle in raw for needle in needles):
            continue
        value = json_text.parse(raw)
        if isinstance(value, dict):
            yield record, value
