"""What the assistant says again later, nearly word for word: "Let me run the tests again." need not stay twice."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Mapping
from functools import cache
from typing import Final

from ..core.lazy_pattern import lazy_pattern
from .parts import Key, Part
from .units import Units

_WORDS: Final = lazy_pattern(r"[^\W\d_]+")
_LONGEST: Final = 400
_ALIKE: Final = 85
"""So much alike, of 100, are lines that say the same; longer ones are paragraphs with more to say."""

_NEAR: Final = 64
"""A line is compared with so many others that follow, which bounds the time; an equal one is found anywhere."""

_MANY: Final = 400
"""So many comparisons take as long as it takes to import rapidfuzz, which does all that come after."""


def restated_units(parts: Mapping[Key, Part], units: Mapping[Key, Units]) -> dict[Key, list[int]]:
    """By part the numbers of the units that the assistant says again later."""
    found: dict[Key, list[int]] = {}
    known: set[str] = set()
    near: deque[str] = deque(maxlen=_NEAR)
    is_like_one_of = _comparing()
    for key in reversed([key for key, part in parts.items() if part.is_said]):
        for number, body in reversed([*enumerate(units[key].bodies)]):
            line = " ".join(_WORDS.findall(body.casefold())) if len(body) <= _LONGEST else ""
            if not line:
                continue
            if line in known or is_like_one_of(line, near):
                found.setdefault(key, []).append(number)
            else:
                known.add(line)
                near.append(line)
    return found


@cache
def _comparing() -> Callable[[str, Collection[str]], bool]:
    """Whether a line is much like one of others: found here while that is seldom asked, then by rapidfuzz."""
    compared = 0

    def is_like_one_of(line: str, others: Collection[str]) -> bool:
        nonlocal compared
        if compared >= _MANY:
            from rapidfuzz import fuzz, process

            return process.extractOne(line, others, scorer=fuzz.ratio, score_cutoff=_ALIKE) is not None
        compared += len(others)
        return any(likeness(line, other) >= _ALIKE for other in others)

    return is_like_one_of


def likeness(line: str, other: str) -> float:
    """How much alike two lines are, of 100: by the characters that one has to take out of both until they are equal."""
    size = len(line) + len(other)
    common = _most_common(line, other) if 200 * min(len(line), len(other)) >= _ALIKE * size else 0
    return 100 * (1.0 - (size - 2 * common) / size)


def _most_common(line: str, other: str) -> int:
    """How many characters both have in the same order at most: a column of the table of these at a time, as bits.

    Crochemore, Iliopoulos, Pinzon, Reid: A fast and practical bit-vector algorithm for the longest common subsequence.
    """
    places: dict[str, int] = {}
    for place, character in enumerate(line):
        places[character] = places.get(character, 0) | 1 << place
    everywhere = left = (1 << len(line)) - 1
    for character in other:
        found = left & places.get(character, 0)
        left = (left + found) | (left - found)
    return len(line) - (left & everywhere).bit_count()
