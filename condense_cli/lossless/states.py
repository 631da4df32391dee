"""State that a client repeats inside user text: `<environment_details>…</environment_details>`, reminders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from ..core.lazy_pattern import lazy_pattern

TAGS: Final = ("environment_details", "system-reminder")
_ENDS: Final = lazy_pattern(r"<(/?)([^\s<>/]+)>")


class Element(Struct, frozen=True):
    """An element in a text: its tag, where it starts and ends, and how many of its tag start before it."""

    tag: str
    start: int
    end: int
    part: int


def elements(text: str, tag: str) -> list[Element]:
    """Every element of a tag in a text."""
    opening, closing = f"<{tag}>", f"</{tag}>"
    found: list[Element] = []
    start = text.find(opening)
    while start >= 0 and (end := text.find(closing, start + len(opening))) >= 0:
        end += len(closing)
        found.append(Element(tag, start, end, len(found)))
        start = text.find(opening, end)
    return found


def by_tag(text: str) -> dict[str, list[Element]]:
    """What `elements` finds for every tag in a text, in one go: a text may have as many tags as it likes."""
    opened: dict[str, int] = {}
    found: dict[str, list[Element]] = {}
    for match in _ENDS.finditer(text):
        is_closing, tag = match.groups()
        if not is_closing:
            opened.setdefault(tag, match.start())
        elif (start := opened.pop(tag, None)) is not None:
            others = found.setdefault(tag, [])
            others.append(Element(tag, start, match.end(), len(others)))
    return found


def outermost(text: str, tags: Sequence[str]) -> list[Element]:
    """Elements of several tags, in order; what stands inside another one belongs to that."""
    found = sorted((element for tag in tags for element in elements(text, tag)), key=lambda element: element.start)
    end = 0
    kept = []
    for element in found:
        if element.start >= end:
            kept.append(element)
            end = element.end
    return kept
