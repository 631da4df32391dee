"""Word messages: quoted values, the nearest known name, counts with nouns, and numbers as people write them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from .lazy_pattern import lazy_pattern

_MOST: Final = 60


def brief(text: str, most: int = _MOST) -> str:
    """A text of at most so many characters, the last of which tells that more would follow."""
    return text if len(text) <= most else text[: most - 1] + "…"


def quoted(value: Any, most: int = _MOST) -> str:
    """A value as Python writes it, not longer than a message bears."""
    return repr(brief(value, most)) if isinstance(value, str) else brief(repr(value), most)


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name closest to a mistyped one, if any is close."""
    import difflib  # Only mistakes need it.

    return next(iter(difflib.get_close_matches(name, list(known), n=1)), None)


def plural(number: int, noun: str, several: str = "") -> str:
    """The number with its noun; `several` is the noun's plural where that is not made with an s."""
    return f"{number:,} {noun if number == 1 else several or noun + 's'}"


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
