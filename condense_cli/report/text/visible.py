"""Text from files made safe to show: nothing in a transcript may steer the terminal."""

from __future__ import annotations

from functools import cache


def visible(text: str) -> str:
    """Control characters become their pictures (U+2400...), others that move text about a replacement character."""
    return text.translate(_steering())


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
