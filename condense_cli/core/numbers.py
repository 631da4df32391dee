"""Numbers as people write them: counts such as 60k and 1.5M, shares such as 50%."""

from __future__ import annotations

import re
from typing import Final

from .lazy_pattern import lazy_pattern

_COUNT: Final = lazy_pattern(r"(\d{1,3}(?:,\d{3})+|\d{1,12}(?:\.\d{1,6})?)([kKmM]?)", re.ASCII)
_UNITS: Final = {"": 1, "k": 1_000, "m": 1_000_000}
_SHARE: Final = lazy_pattern(r"(-?\d{1,9}(?:\.\d{1,9})?)\s*%", re.ASCII)


def count_in(text: str) -> int | None:
    """The count that a text is: 60000, 60,000, 60k, 1.5M; None where it is none."""
    match = _COUNT.fullmatch(text.strip())
    if not match:
        return None
    number = round(float(match[1].replace(",", "")) * _UNITS[match[2].lower()], 3)
    return int(number) if number.is_integer() else None


def percent_in(text: str) -> float | None:
    """The percentage that a text is: 50% or 12.5 %; None where it is none."""
    match = _SHARE.fullmatch(text.strip())
    return float(match[1]) if match else None
