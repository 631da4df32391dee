"""Looking into session files without reading all of them: records from the start or from the end, one at a time."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Final

from ..core import json_text

HEAD: Final = 1 << 18
TAIL: Final = 1 << 16
"""Bytes that are read where the beginning, or the end, of a file is enough."""


def records(data: bytes) -> Iterator[dict[str, Any]]:
    """JSON objects of JSON lines, in order; what is none, such as a line cut off, is passed over."""
    start = 0
    while start < len(data):
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        yield from _parsed(data[start:end])
        start = end + 1


def records_reversed(data: bytes) -> Iterator[dict[str, Any]]:
    """The same from the last line to the first."""
    end = len(data)
    while end > 0:
        start = data.rfind(b"\n", 0, end)
        yield from _parsed(data[start + 1 : end])
        end = start


def records_with(data: bytes, mark: bytes) -> Iterator[dict[str, Any]]:
    """Those of the lines in which some bytes stand, in order; no other line is parsed."""
    at = data.find(mark)
    while at >= 0:
        end = data.find(b"\n", at)
        end = len(data) if end < 0 else end
        yield from _parsed(data[data.rfind(b"\n", 0, at) + 1 : end])
        at = data.find(mark, end)


def _parsed(line: bytes) -> Iterator[dict[str, Any]]:
    try:
        value = json_text.parse(line)
    except (ValueError, RecursionError):
        return
    if isinstance(value, dict):
        yield value


def last_timestamp(data: bytes) -> float | None:
    """Seconds since 1970 of the last record that carries an ISO time; `data` may be the end of a file alone."""
    for record in records_reversed(data):
        said = record.get("timestamp")
        if isinstance(said, str):
            seconds = seconds_of(said)
            if seconds is not None:
                return seconds
    return None


def seconds_of(said: str) -> float | None:
    """Seconds since 1970 of an ISO time; one without a zone is taken as UTC."""
    try:
        time = datetime.fromisoformat(said)
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
