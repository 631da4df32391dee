"""Where sentences end: what is said in prose stays or goes by the sentence, as code does by the line."""

from __future__ import annotations

from typing import Final

from ..core.lazy_pattern import lazy_pattern

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
