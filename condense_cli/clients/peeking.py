"""Read single records of a session file, and its title, without reading it as a conversation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, Final

from ..core import json_text
from ..core.markers import parse_summary
from ..formats.engine.client_text import words_beside

HEAD: Final = 1 << 18
TAIL: Final = 1 << 16
"""Bytes read from the beginning, or the end, of a file."""


def records(data: bytes) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects of JSON lines, in order; other lines are skipped."""
    start = 0
    while start < len(data):
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        yield from _parsed(data[start:end])
        start = end + 1


def records_reversed(data: bytes) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects of JSON lines, last one first."""
    end = len(data)
    while end > 0:
        start = data.rfind(b"\n", 0, end)
        yield from _parsed(data[start + 1 : end])
        end = start


def records_with(data: bytes, mark: bytes) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects of lines that contain `mark`, in order; no other line is parsed."""
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
    """Return the last ISO timestamp, in seconds since 1970; `data` may be the end of a file."""
    for record in records_reversed(data):
        said = record.get("timestamp")
        if isinstance(said, str):
            seconds = seconds_of(said)
            if seconds is not None:
                return seconds
    return None


def seconds_of(said: str) -> float | None:
    """Convert an ISO time to seconds since 1970; without a zone it is UTC."""
    try:
        time = datetime.fromisoformat(said)
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


LONGEST: Final = 200
"""Characters of a title."""
_LOOKED_AT: Final = 20_000
"""Characters of a text that are searched for its beginning; a request may contain a pasted file."""

_WRAPPED: Final = re.compile(
    r"\s*<(?P<tag>task|user_message|feedback|user_input)(?: mode=\"\w+\")?>\s*(?P<text>.*?)(?:</(?P=tag)>|\Z)",
    re.DOTALL,
)
"""Tags that Roo Code and Cline put around the request."""
_COMMAND: Final = re.compile(r"<command-name>([^<]+)</command-name>")
_ARGUMENTS: Final = re.compile(r"<command-args>([^<]+)</command-args>")


def title_of(text: str) -> str | None:
    """Shorten a text to a title: one line of at most LONGEST characters that UTF-8 can encode. None if nothing is
    left."""
    line = " ".join(text[: 10 * LONGEST].split())[:LONGEST]
    return line.encode("utf-8", "replace").decode() or None


def request_in(text: str) -> str | None:
    """Return the title that a user's text gives; None if a client wrote all of it."""
    wrapped = _WRAPPED.match(text[:_LOOKED_AT])
    if wrapped:
        return title_of(wrapped["text"])
    return None if parse_summary(text) else title_of(words_beside(text))


def command_in(text: str) -> str | None:
    """Return a typed client command, such as "/init", with its arguments."""
    name = _COMMAND.search(text[:_LOOKED_AT])
    if not name:
        return None
    arguments = _ARGUMENTS.search(text[:_LOOKED_AT])
    return title_of(f"{name[1].strip()} {arguments[1].strip() if arguments else ''}")


def first_request(texts: Iterable[str]) -> str | None:
    """Return the first request in user texts, else the first command."""
    command = None
    for text in texts:
        request = request_in(text)
        if request:
            return request
        command = command or command_in(text)
    return command


def texts_in(content: Any, kinds: tuple[str, ...] = ("text",)) -> Iterator[str]:
    """Yield the texts of a message's content: a string, or the parts of these types."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for part in content:
            if isinstance(part, dict) and part.get("type") in kinds and isinstance(part.get("text"), str):
                yield part["text"]
