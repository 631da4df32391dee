"""A conversation on its way from one API to another: turns, with calls and results in no format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from ...core.values import Role

Json = dict[str, Any]


class Call(Struct, frozen=True):
    """`arguments` are JSON text."""

    id: str
    name: str
    arguments: str


class Result(Struct, frozen=True):
    id: str
    parts: list[Json]
    is_error: bool


class ConvertedTurn(Struct, frozen=True):
    """One message. Its parts, and those of its results, are content blocks of the Messages API."""

    role: Role
    parts: list[Json]
    calls: list[Call]
    results: list[Result]
    is_summary: bool = False


class Losses:
    """What is not carried over, and what is changed, with how many times."""

    def __init__(self) -> None:
        self.left_out: Counter[str] = Counter()
        self.changed: Counter[str] = Counter()

    def notes(self) -> Iterator[str]:
        for opening, found in (("Left out", self.left_out), ("Adapted", self.changed)):
            if found:
                yield f"{opening}: {', '.join(f'{what} ({number})' for what, number in found.items())}."


def text_part(text: str) -> Json:
    return {"type": "text", "text": text}


def shortest(parts: list[Json]) -> Any:
    """One text alone needs no list."""
    return parts[0]["text"] if len(parts) == 1 and parts[0].keys() == {"type", "text"} else parts
