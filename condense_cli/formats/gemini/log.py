"""Chats of Gemini CLI as a log (`chats/session-*.jsonl`): a header, then messages and changes.

    {"sessionId", "projectHash", ...}     what the chat is
    {"id", "type", "content", ...}        a message; one that comes again replaces the earlier one, in its place
    {"$set": {...}}                       changes to the header; with "messages" to all messages
    {"$rewindTo": id}                     this message and all after it are gone

What a message said before it was replaced stays in such a file: a line taken out might bring it back. So no line goes.
https://github.com/google-gemini/gemini-cli/blob/main/packages/core/src/services/chatRecordingService.ts
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...core.transcript import Transcript
from ...core.values import Family, Role
from ...errors import UnknownFormatError
from ..engine.base import Evidence, Format
from ..engine.container import Document
from . import log_writing
from .messages import is_message, transcript


def evidence(value: Any) -> Evidence:
    if not isinstance(value, dict):
        return Evidence.NO
    if isinstance(value.get("sessionId"), str) and isinstance(value.get("projectHash"), str):
        return Evidence.YES
    is_change = isinstance(value.get("$set"), dict) or isinstance(value.get("$rewindTo"), str)
    return Evidence.MAYBE if is_change or is_message(value) else Evidence.NO


def read(document: Document, values: Iterator[Any]) -> Transcript:
    records = [*values]
    entries = log_writing.current(enumerate(records))
    if not entries:
        raise UnknownFormatError("It holds no message.", "Name a chat that has messages.")
    strange = (f"record {value.get('type')}" for value in records if isinstance(value, dict) and _is_strange(value))
    return transcript("gemini-log", entries, document.source, strange)


def _is_strange(value: dict[str, Any]) -> bool:
    return "id" in value and "sessionId" not in value and not is_message(value)


FORMAT = Format(
    "gemini-log",
    Family.OPENAI_CHAT,
    "Logs of chats of Gemini CLI (chats/session-*.jsonl)",
    evidence,
    read,
    complete=log_writing.complete,
    compaction=log_writing.write,
    is_log=True,
    repeats_results=True,
    summary_role=Role.USER,
)
