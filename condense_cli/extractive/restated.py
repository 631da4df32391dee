"""What the assistant says again later, nearly word for word: "Let me run the tests again." need not stay twice."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Final

from rapidfuzz import fuzz, process

from ..core.lazy_pattern import lazy_pattern
from .parts import Key, Part
from .units import Units

_WORDS: Final = lazy_pattern(r"[^\W\d_]+")
_LONGEST: Final = 400
_ALIKE: Final = 85
"""So much alike, of 100, are lines that say the same; longer ones are paragraphs with more to say."""

_NEAR: Final = 64
"""A line is compared with so many others that follow, which bounds the time; an equal one is found anywhere."""


def restated_units(parts: Mapping[Key, Part], units: Mapping[Key, Units]) -> dict[Key, list[int]]:
    """By part the numbers of the units that the assistant says again later."""
    found: dict[Key, list[int]] = {}
    known: set[str] = set()
    near: deque[str] = deque(maxlen=_NEAR)
    for key in reversed([key for key, part in parts.items() if part.is_said]):
        for number, body in reversed([*enumerate(units[key].bodies)]):
            line = " ".join(_WORDS.findall(body.casefold())) if len(body) <= _LONGEST else ""
            if not line:
                continue
            if line in known or process.extractOne(line, near, scorer=fuzz.ratio, score_cutoff=_ALIKE):
                found.setdefault(key, []).append(number)
            else:
                known.add(line)
                near.append(line)
    return found
