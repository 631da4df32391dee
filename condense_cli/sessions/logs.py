"""What the logs of pi, Gemini CLI, Kimi Code, Qwen Code and Copilot CLI tell without being read as a conversation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from ..core import json_text
from .records import records, records_with
from .requests import first_request

_USER: Final = re.compile(rb'"role"\s*:\s*"user"|"type"\s*:\s*"user(?:\.message)?"')
_FOLDER: Final = re.compile(rb'"cwd"\s*:\s*("(?:[^"\\]|\\.)+")')
_NOT_TYPED: Final = ("injection", "system_trigger")
"""Kinds of origin that Kimi Code gives to words of its own."""


def title(data: bytes) -> str | None:
    return first_request(_asked(data))


def _asked(data: bytes) -> Iterator[str]:
    found = records_with(data, b'"user') if b"\n" in data.strip() else records(data)
    for record in found:
        for message in record.get("messages") or [record]:
            yield from _texts(message) if isinstance(message, dict) else ()


def _texts(record: dict[str, Any]) -> Iterator[str]:
    message, data = record.get("message"), record.get("data")
    if record.get("type") == "user.message" and isinstance(data, dict):
        yield from _parts(data.get("content")) if not data.get("source") else ()
    elif isinstance(message, dict) and message.get("role") == "user":
        origin = message.get("origin")
        if not isinstance(origin, dict) or origin.get("kind") not in _NOT_TYPED:
            yield from _parts(message.get("content", message.get("parts")))
    elif record.get("type") == "user":
        yield from _parts(record.get("content"))


def _parts(content: Any) -> Iterator[str]:
    for part in content if isinstance(content, list) else [content]:
        text = part.get("text") if isinstance(part, dict) else part
        if isinstance(text, str):
            yield text


def project(data: bytes) -> str | None:
    """The folder that a log names first; those of Gemini CLI and Kimi Code name none."""
    found = _FOLDER.search(data)
    try:
        return str(json_text.parse(found[1])) if found else None
    except ValueError:
        return None


def exported_title(data: bytes) -> str | None:
    """The first request of a session of opencode, as it is exported."""
    messages = json_text.parse(data)["messages"]
    asked = (part for message in messages if message["info"].get("role") == "user" for part in message["parts"])
    return first_request(text for part in asked if isinstance(text := part.get("text"), str))


def exported_project(data: bytes) -> str | None:
    return str(json_text.parse(data)["info"]["directory"])


def has_messages(data: bytes) -> bool:
    return _USER.search(data) is not None
