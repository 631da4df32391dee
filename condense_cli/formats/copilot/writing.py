"""What follows in a session of Copilot CLI from events that change or go: links, copies of texts, events of a call."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from ...core import json_text
from ...core.transcript import JsonPath, Source, Transcript
from ...core.values import Role
from ..engine import repeats, writing
from ..engine.base import RecordEdits, records_of

_PARENT: Final = "parentId"
_SAID: Final[JsonPath] = ("data", "content")
_DONE: Final = "tool.execution_complete"
_SHOWN: Final[dict[str, tuple[str, ...]]] = {
    "tool.execution_start": ("arguments",),
    "tool.execution_partial_result": ("partialOutput",),
    "permission.requested": ("permissionRequest", "promptRequest"),
    "hook.start": ("input",),
    "hook.end": ("output",),
    "session.task_complete": ("summary",),
}
"""Keys of an event's data that repeat the conversation for the user or for programs beside the client."""


def complete(meant: Transcript, edits: RecordEdits, gone: frozenset[int], style: json_text.Style) -> None:
    _copies_go(meant, edits, gone, style)
    for block in meant.removed:
        if block.owner == _SAID and block.place.record not in gone:
            edits[block.place.record][_SAID] = '""'  # The client takes no message without it.
    writing.relink(meant.source, edits, gone, key="id", parent=_PARENT)


def again(source: Source, gone: frozenset[int]) -> frozenset[int]:
    """The other events of calls whose results go: when they began, and who allowed them."""
    if not gone:
        return frozenset()
    found = [(record, *_call_of(value)) for record, value in records_of(source)]
    ids = {call for record, kind, call in found if kind == _DONE and record in gone} - {None}
    return frozenset(
        record for record, kind, call in found if call in ids and kind.startswith(("tool.", "permission."))
    )


def _call_of(value: Any) -> tuple[str, str | None]:
    """Type of an event, and the id of the call that it is about."""
    data = value.get("data") if isinstance(value, dict) else None
    if not isinstance(data, dict):
        return "", None
    asked = data.get("permissionRequest")
    call = data.get("toolCallId") or (asked.get("toolCallId") if isinstance(asked, dict) else None)
    return str(value.get("type")), call if isinstance(call, str) else None


def new_message(role: Role, literal: str, replaced: str) -> dict[str, str]:
    old = json_text.parse_text(replaced)
    named = {key: json.dumps(old[key]) for key in ("id", "timestamp", _PARENT) if key in old}
    return {"type": '"user.message"', "data": f'{{"content": {literal}}}', **named}


def _shown(transcript: Transcript) -> Iterator[repeats.Shown]:
    for record, value in records_of(transcript.source):
        kind = value.get("type") if isinstance(value, dict) else None
        data = value.get("data") if isinstance(kind, str) else None
        if not isinstance(data, dict):
            continue
        for key in _SHOWN.get(str(kind), ()):
            if key in data:
                yield record, ("data", key), data[key]
        if kind == "user.message" and data.get("transformedContent"):
            yield record, _SAID, data.get("content")
        result = data.get("result")
        if kind == _DONE and isinstance(result, dict):
            for key in result.keys() - {"content", "binaryResultsForLlm"}:
                yield record, ("data", "result", key), result[key]


_copies_go: Final = repeats.completing(_shown)
display: Final = repeats.displaying(_shown)
