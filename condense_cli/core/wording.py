"""Word messages: quoted values, close matches, counts with nouns, and numbers as people write them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache
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


def visible(text: str) -> str:
    """Replace control characters with their pictures (U+2400...), and others that move text."""
    # Hardly any text has one, and looking for one is many times faster than translating.
    return text.translate(_steering()) if _any_steering()(text) else text


@cache
def _any_steering() -> Callable[[str], object]:
    return re.compile(
        "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069\\ud800-\\udfff]"
    ).search


@cache
def _steering() -> dict[int, int]:
    # Made when it is first needed: a help page does without, and a millisecond earlier.
    return {
        **{code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n"},
        0x7F: 0x2421,
        **dict.fromkeys(range(0x80, 0xA0), 0xFFFD),
        **dict.fromkeys((0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)), 0xFFFD),
        **dict.fromkeys(range(0xD800, 0xE000), 0xFFFD),
    }


def shortened(label: str, width: int) -> str:
    """Shorten a label to one line of at most `width` characters: a path at its start, other text at its end."""
    label = " ".join(label.split())
    if len(label) <= width:
        return label
    tool, _, argument = label.partition(" ")
    room = width - len(tool) - 2
    if "/" in argument and " " not in argument and room > 8:
        return f"{tool} …{argument[-room:]}"
    return label[: max(0, width - 1)] + "…"
