"""Chats of Gemini CLI as one JSON object (`chats/session-*.json`), one version of each message.

    {"sessionId", "projectHash", "startTime", "lastUpdated", "messages": [message, ...]}

Newer versions of the client read these files and go on in a log beside them (`log`).
https://github.com/google-gemini/gemini-cli/blob/main/packages/core/src/services/chatRecordingTypes.ts
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from ...core import json_text
from ...core.transcript import JsonPath, Transcript
from ...core.values import Family, Role
from ..engine import repeats
from ..engine.base import Evidence, Format, RecordEdits, not_a_message
from ..engine.container import Document
from .messages import GeminiEntry, is_message, transcript


def evidence(value: Any) -> Evidence:
    return Evidence.YES if is_message(value) else Evidence.NO


def read(document: Document, values: Iterator[Any]) -> Transcript:
    entries = []
    for record, value in enumerate(values):
        if record in document.source.unparsed:
            continue
        if not is_message(value):
            raise not_a_message(record, value, "it lacks type, id, timestamp or content")
        entries.append(GeminiEntry(value, record))
    return transcript("gemini", entries, document.source)


_SHOWN: Final[JsonPath] = ("resultDisplay",)
"""Where a call repeats its result for display."""


def complete(meant: Transcript, edits: RecordEdits, gone: frozenset[int], style: json_text.Style) -> None:
    repeats.shorten(meant, edits, style, _SHOWN)


def new_message(role: Role, literal: str, replaced: str) -> dict[str, str]:
    old = json_text.parse_text(replaced)
    named = {key: json.dumps(old[key]) for key in ("id", "timestamp")}
    return {**named, "type": '"user"', "content": f'[{{"text": {literal}}}]'}


FORMAT = Format(
    "gemini",
    Family.OPENAI_CHAT,
    "Chats of Gemini CLI (chats/session-*.json)",
    evidence,
    read,
    complete=complete,
    display=lambda meant: repeats.display_values(meant, _SHOWN),
    new_message=new_message,
    summary_role=Role.USER,
)
