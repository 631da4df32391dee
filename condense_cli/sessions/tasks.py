"""What the history of a Roo Code or Cline task tells without being read as a conversation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from ..core import json_text
from .requests import first_request, texts_in

_FOLDER: Final = re.compile(rb'# Current (?:Workspace|Working) Directory \(((?:[^"()\\\n]|\\\\)+)\)')
"""In the environment details of a user message."""
_TIME: Final = re.compile(rb'"ts"\s*:\s*(\d{12,14})\b')
_MODEL: Final = re.compile(rb'"modelId"\s*:\s*"([^"\\]+)"')


def title(data: bytes) -> str | None:
    return first_request(_asked(data))


def _asked(data: bytes) -> Iterator[str]:
    try:
        value: Any = json_text.parse(data)
    except (ValueError, RecursionError):
        return
    messages = value.get("messages") if isinstance(value, dict) else value
    for message in messages if isinstance(messages, list) else ():
        if isinstance(message, dict) and message.get("role") == "user":
            yield from texts_in(message.get("content"))


def project(data: bytes) -> str | None:
    found = _FOLDER.search(data)
    return found[1].replace(b"\\\\", b"\\").decode("utf-8", "replace") if found else None


def last_time(data: bytes) -> float | None:
    """Seconds since 1970 of the last message that carries a time; `data` may be the end of a file alone."""
    found = _TIME.findall(data)
    return int(found[-1]) / 1000 if found else None


def model(data: bytes) -> str | None:
    """The model of the last answer, which Cline notes beside it."""
    found = _MODEL.findall(data)
    return found[-1].decode("utf-8", "replace") if found else None


def has_messages(data: bytes) -> bool:
    return b'"role"' in data
