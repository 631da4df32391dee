"""What a session file of Claude Code tells without being read as a conversation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from .records import records, records_with
from .requests import first_request, texts_in, title_of

_TITLES: Final = (("custom-title", "customTitle"), ("ai-title", "aiTitle"))
"""In this order: what the user called it goes before what the client thought of."""
_NOT_ASKED: Final = ("isMeta", "isCompactSummary", "isSidechain", "isVisibleInTranscriptOnly")
_MESSAGE: Final = re.compile(rb'"type"\s*:\s*"(?:user|assistant)"')


def title(data: bytes) -> str | None:
    """The newest title, or summary of a message in this file; otherwise the first request."""
    for kind, key in _TITLES:
        named = [record.get(key) for record in records_with(data, f'"{kind}"'.encode()) if record.get("type") == kind]
        if named and isinstance(named[-1], str) and title_of(named[-1]):
            return title_of(named[-1])
    return _summary(data) or first_request(_asked(data)) or first_request(_asked(data, everywhere=True))


def _summary(data: bytes) -> str | None:
    """The client writes summaries of older sessions into a new one; those name a message that is not here."""
    found = [record for record in records_with(data, b'"leafUuid"') if record.get("type") == "summary"]
    for record in reversed(found):
        leaf, text = record.get("leafUuid"), record.get("summary")
        if isinstance(text, str) and isinstance(leaf, str) and _is_line(data, leaf):
            return title_of(text)
    return None


def _is_line(data: bytes, uuid: str) -> bool:
    mark = f'"{uuid}"'.encode("utf-8", "replace")
    return any(record.get("uuid") == uuid for record in records_with(data, mark))


def _asked(data: bytes, *, everywhere: bool = False) -> Iterator[str]:
    """Texts of the user lines; those of sub-agents only `everywhere`."""
    for record in records_with(data, b'"user"'):
        message: Any = record.get("message")
        if record.get("type") != "user" or not isinstance(message, dict):
            continue
        if everywhere or not any(record.get(key) is True for key in _NOT_ASKED):
            yield from texts_in(message.get("content"))


def project(data: bytes) -> str | None:
    """The folder in which the session began, or to which the client says it was moved."""
    for record in records_with(data, b'"relocatedCwd"'):
        if record.get("type") == "relocated" and isinstance(record.get("relocatedCwd"), str):
            return str(record["relocatedCwd"])
    return next((str(record["cwd"]) for record in records(data) if isinstance(record.get("cwd"), str)), None)


def has_messages(data: bytes) -> bool:
    """Whether anything was said. The client also writes files with nothing but titles and snapshots."""
    return _MESSAGE.search(data) is not None
