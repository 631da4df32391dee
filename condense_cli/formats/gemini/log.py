"""Chats of Gemini CLI as a log (`chats/session-*.jsonl`): a header, then messages and changes. It is only read.

    {"sessionId", "projectHash", ...}     what the chat is
    {"id", "type", "content", ...}        a message; one that comes again replaces the earlier one, in its place
    {"$set": {...}}                       changes to the header; with "messages" to all messages
    {"$rewindTo": id}                     this message and all after it are gone

What a message said before it was replaced stays in such a file, and which of its lines a given version of the client
believes when the whole history was set once is not the same in all versions: a log with a line changed or taken out
might bring back what was to go.
https://github.com/google-gemini/gemini-cli/blob/main/packages/core/src/services/chatRecordingService.ts
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...core.transcript import Family, Transcript
from ...errors import UnknownFormatError
from ..engine.base import Evidence, Format
from ..engine.container import Document
from .messages import GeminiEntry, is_message, transcript


def evidence(value: Any) -> Evidence:
    if not isinstance(value, dict):
        return Evidence.NO
    if isinstance(value.get("sessionId"), str) and isinstance(value.get("projectHash"), str):
        return Evidence.YES
    is_change = isinstance(value.get("$set"), dict) or isinstance(value.get("$rewindTo"), str)
    return Evidence.MAYBE if is_change or is_message(value) else Evidence.NO


def read(document: Document, values: Iterator[Any]) -> Transcript:
    messages: dict[str, GeminiEntry] = {}
    for record, value in enumerate(values):
        if not isinstance(value, dict):
            continue
        target = value.get("$rewindTo")
        changes = value.get("$set")
        if isinstance(target, str):
            ids = list(messages)
            for id in ids[ids.index(target) :] if target in messages else ids:
                del messages[id]
        elif is_message(value):
            messages[value["id"]] = GeminiEntry(value, record)
        elif isinstance(changes, dict) and isinstance(changes.get("messages"), list) and changes["messages"]:
            listed = enumerate(changes["messages"])
            messages = {
                message["id"]: GeminiEntry(message, record, ("$set", "messages", number))
                for number, message in listed
                if is_message(message)
            }
    if not messages:
        raise UnknownFormatError("It holds no message.", "Name a chat in which something was said.")
    return transcript("gemini-log", list(messages.values()), document.source)


FORMAT = Format(
    "gemini-log",
    Family.OPENAI_CHAT,
    "Logs of chats of Gemini CLI (chats/session-*.jsonl), only read",
    evidence,
    read,
    is_writable=False,
)
