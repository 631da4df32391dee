"""Walking JSON text value by value, where only positions are wanted: what stands between them is parsed by nobody.

A position is an offset into the text. Bytes decoded as Latin-1 have the same offsets. What is no JSON raises
json.JSONDecodeError with the words and the place that Python's own parser has.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from json.decoder import WHITESPACE, JSONDecodeError, scanstring  # type: ignore[attr-defined]
from typing import Any

Span = tuple[int, int]
"""Where something begins and ends."""

_scan_once = json.JSONDecoder().scan_once  # type: ignore[attr-defined]


def skip(text: str, index: int) -> int:
    """Position of the first character at or after `index` that is not white space."""
    if text[index : index + 1] > " ":
        return index
    return WHITESPACE.match(text, index).end()  # type: ignore[no-any-return]


def scan(text: str, index: int) -> tuple[Any, int]:
    """The value that starts at `index`, and where it ends."""
    try:
        value, end = _scan_once(text, index)
    except StopIteration:
        raise JSONDecodeError("Expecting value", text, index) from None
    return value, end


def elements(text: str, index: int) -> Iterator[Span]:
    """Where the elements of the list stand that opens at `index`, one by one."""
    index = skip(text, index + 1)
    while at(text, index) != "]":
        start, index = index, scan(text, index)[1]
        yield start, index
        index = next_member(text, index, "]")


def whole_list(text: str, index: int) -> tuple[list[Span], int]:
    """All of them, and where the list ends."""
    found = list(elements(text, index))
    return found, skip(text, found[-1][1] if found else index + 1) + 1


def key_at(text: str, index: int) -> tuple[str, int, int]:
    """The key of the member that starts at `index`, where that ends, and where its value begins."""
    if text[index] != '"':
        raise JSONDecodeError("Expecting property name enclosed in double quotes", text, index)
    key, end = scanstring(text, index + 1)
    index = skip(text, end)
    if at(text, index) != ":":
        raise JSONDecodeError("Expecting ':' delimiter", text, index)
    return key, end, skip(text, index + 1)


def at(text: str, index: int) -> str:
    """The character there."""
    if index >= len(text):
        raise JSONDecodeError("The text ends in the middle of a value", text, index)
    return text[index]


def next_member(text: str, index: int, closer: str) -> int:
    """Position of the next member, or of the closer."""
    index = skip(text, index)
    if at(text, index) == ",":
        index = skip(text, index + 1)
        if at(text, index) == closer:
            raise JSONDecodeError("Trailing comma", text, index)
    elif text[index] != closer:
        raise JSONDecodeError("Expecting ',' delimiter", text, index)
    return index
