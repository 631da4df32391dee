"""Word messages: quoted values, close matches, counts with nouns, and numbers as people write them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from .lazy_pattern import lazy_pattern

_MOST: Final = 60


def brief(text: str, most: int = _MOST) -> str:
    """Shorten the text to at most `most` characters, with an ellipsis at the end."""
    return text if len(text) <= most else text[: most - 1] + "…"


def quoted(value: Any, most: int = _MOST) -> str:
    """Return the value's repr, shortened to about `most` characters."""
    return repr(brief(value, most)) if isinstance(value, str) else brief(repr(value), most)


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name closest to a mistyped one. None if none is close."""
    import difflib  # Needed for mistakes only.

    return next(iter(difflib.get_close_matches(name, list(known), n=1)), None)


def plural(number: int, noun: str, several: str = "") -> str:
    """Format a number with its noun. `several` is an irregular plural."""
    return f"{number:,} {noun if number == 1 else several or noun + 's'}"


_COUNT: Final = lazy_pattern(r"(\d{1,3}(?:,\d{3})+|\d{1,12}(?:\.\d{1,6})?)([kKmM]?)", re.ASCII)
_UNITS: Final = {"": 1, "k": 1_000, "m": 1_000_000}
_SHARE: Final = lazy_pattern(r"(-?\d{1,9}(?:\.\d{1,9})?)\s*%", re.ASCII)


def count_in(text: str) -> int | None:
    """Parse a count such as 60000, 60,000, 60k or 1.5M. None if it is not one."""
    match = _COUNT.fullmatch(text.strip())
    if not match:
        return None
    number = round(float(match[1].replace(",", "")) * _UNITS[match[2].lower()], 3)
    return int(number) if number.is_integer() else None


def percent_in(text: str) -> float | None:
    """Parse a percentage such as 50% or 12.5 %. None if it is not one."""
    match = _SHARE.fullmatch(text.strip())
    return float(match[1]) if match else None
