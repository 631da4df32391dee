"""Lists that a client attaches of what it offers, such as skills and tools: old ones go, and with a target all may.

They are no instructions of anybody, and the client tells them anew as soon as they are not in its conversation.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from ..core.transcript import BlockPlace, Message

RENEWED: Final = "an older list of what the client offers: newer ones have all of it"
NO_ROOM: Final = "a list of what the client offers: it goes before other things, to reach the target"
MOST: Final = 1 / 10
"""Where lists take more of a target, little would be left of the conversation itself."""

_BY_NAME: Final = ("skill_listing", "agent_listing_delta")
"""Kinds that describe each name, more or less briefly from one time to the next."""


def renewed(messages: Sequence[Message], places: Sequence[BlockPlace]) -> list[BlockPlace]:
    """Return those of the lists at some places, in order, of which newer ones of their kind name all."""
    named: dict[str, set[str]] = {}
    found: list[BlockPlace] = []
    for position, number in reversed(places):
        block = messages[position].blocks[number]
        entries = {*_entries(block.text, by_name=block.api_type in _BY_NAME)}
        known = named.setdefault(block.api_type, set())
        if entries <= known:
            found.append((position, number))
        known |= entries
    return found[::-1]


def _entries(text: str, *, by_name: bool) -> Iterable[str]:
    lines = [line for line in text.split("\n") if line.strip()]
    names = [line.partition(": ")[0] for line in lines if line.startswith("- ")] if by_name else []
    return names or lines
