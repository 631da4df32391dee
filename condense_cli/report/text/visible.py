"""Text from files made safe to show: nothing in a transcript may steer the terminal."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache


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
