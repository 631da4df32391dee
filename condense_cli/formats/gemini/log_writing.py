"""Writing a log of Gemini CLI: texts change where they are; once messages go, a last line says all that are left.

That line is the client's own `{"$set": {"messages": [...]}}`, with which it begins each time that it goes on with a
session. All lines before it stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from msgspec.structs import replace

from ...core import json_text
from ...core.transcript import Block, JsonPath, Transcript
from ...core.values import BlockKind
from ..engine import repeats
from ..engine.base import RecordEdits, Rewrite, Values, derived_uuid, records_of
from .messages import GeminiEntry, holds_only_responses, is_message
from .messages import transcript as read_entries

_LISTED: Final = ("$set", "messages")


def current(values: Iterable[tuple[int, Any]]) -> list[GeminiEntry]:
    """The messages of a chat as the lines of its log leave them."""
    messages: dict[str, GeminiEntry] = {}
    for record, value in values:
        if not isinstance(value, dict):
            continue
        target, listed = value.get("$rewindTo"), _listed(value)
        if isinstance(target, str):
            ids = list(messages)
            for message_id in ids[ids.index(target) :] if target in messages else ids:
                del messages[message_id]
        elif is_message(value):
            messages[value["id"]] = GeminiEntry(value, record)
        elif listed:
            messages = {
                message["id"]: GeminiEntry(message, record, (*_LISTED, number))
                for number, message in enumerate(listed)
                if is_message(message)
            }
    return list(messages.values())


def _listed(value: dict[str, Any]) -> list[Any]:
    changes = value.get("$set")
    listed = changes.get("messages") if isinstance(changes, dict) else None
    return listed if isinstance(listed, list) else []


def complete(transcript: Transcript, edits: RecordEdits, gone: frozenset[int], style: json_text.Style) -> None:
    """What the client sends besides a result, the same result, says what the result says; older copies go."""
    _older_copies(transcript, edits, gone, style)
    values = Values(transcript.source)
    changed = {
        (block.answers, values(block.place.record, block.place.path)): style.literal(block.text)
        for _, block in transcript.blocks()
        if block.changed and block.kind is BlockKind.TOOL_RESULT
    }
    for record, path, message in _messages(transcript) if changed else ():
        for where, call_id, text in _results(message):
            if literal := changed.get((call_id, text)):
                edits[record][*path, *where] = literal


def _messages(transcript: Transcript) -> Iterator[repeats.Shown]:
    """Every version of every message in the file."""
    for record, value in records_of(transcript.source):
        if is_message(value):
            yield record, (), value
        elif isinstance(value, dict):
            yield from ((record, (*_LISTED, number), message) for number, message in enumerate(_listed(value)))


def _not_sent(transcript: Transcript) -> Iterator[repeats.Shown]:
    """Earlier versions of messages, and what of the others is only shown."""
    sent = {(entry.record, entry.path) for entry in current(records_of(transcript.source))}
    for record, path, message in _messages(transcript):
        if (record, path) not in sent:
            yield record, path, message
            continue
        calls = message.get("toolCalls")
        for number, call in enumerate(calls if isinstance(calls, list) else ()):
            if isinstance(call, dict) and "resultDisplay" in call:
                yield record, (*path, "toolCalls", number, "resultDisplay"), call["resultDisplay"]


_older_copies = repeats.completing(_not_sent)


def _results(message: Any) -> Iterator[tuple[JsonPath, str, str]]:
    """The texts of results in a message, each with its path and the id of its call."""
    if not is_message(message):
        return
    lists: list[tuple[JsonPath, Any]] = [(("content",), message["content"])]
    calls = message.get("toolCalls")
    for number, call in enumerate(calls if isinstance(calls, list) else ()):
        lists.append((("toolCalls", number, "result"), call.get("result") if isinstance(call, dict) else None))
    for path, parts in lists:
        for number, part in enumerate(parts if isinstance(parts, list) else ()):
            found: Any = part.get("functionResponse") if isinstance(part, dict) else None
            response = found.get("response") if isinstance(found, dict) else None
            for key, text in response.items() if isinstance(response, dict) else ():
                if isinstance(text, str) and isinstance(found.get("id"), str):
                    yield (*path, number, "functionResponse", "response", key), found["id"], text


def write(rewrite: Rewrite) -> bytes:
    transcript = rewrite.transcript
    entries = current(records_of(transcript.source))
    staying = {_message_of(block) for _, block in transcript.blocks() if not block.is_inserted}
    going = {_message_of(block) for block in transcript.removed} - staying
    as_read = read_entries("gemini-log", entries, transcript.source).messages
    summaries = {
        _message_of(as_read[message.index].blocks[0]): message.blocks[0]
        for message in transcript.messages
        if message.is_inserted
    }
    # A summary has a line of its own in most formats, in the place of the line that its first message stood in.
    edits = {record: {path: value for path, value in own.items() if path} for record, own in rewrite.edits.items()}
    edited = _Edited(replace(rewrite, edits=edits))
    messages: list[Any] = []
    for entry in entries:
        key = entry.record, entry.path
        if key in summaries:
            messages.append(_summary(summaries[key], entry.value))
        if key not in going and not (key not in staying and holds_only_responses(entry.value)):
            value = edited(entry)
            value.setdefault("content", [])  # It went as the only thing in it.
            messages.append(value)
    line = rewrite.style.dump({"$set": {"messages": messages}})
    data = transcript.source.data
    return data + (b"" if data.endswith(b"\n") else b"\n") + json_text.encode(line) + b"\n"


def _message_of(block: Block) -> tuple[int, JsonPath]:
    """The message that a block is part of: a line of the log, or an entry of a list in one."""
    path = block.place.path
    return block.place.record, path[:3] if path[:2] == _LISTED else ()


class _Edited:
    """Messages with their edits. A line that lists many of them is edited once."""

    def __init__(self, rewrite: Rewrite) -> None:
        self._rewrite = rewrite
        self._record = -1
        self._value: Any = None

    def __call__(self, entry: GeminiEntry) -> dict[str, Any]:
        if entry.record != self._record:
            self._record = entry.record
            self._value = json_text.parse_text(self._rewrite.record(entry.record))
        value = self._value
        for key in entry.path:
            value = value[key]
        return dict(value)


def _summary(block: Block, old: dict[str, Any]) -> dict[str, Any]:
    new_id = derived_uuid(block.text, old["id"])
    return {"id": new_id, "timestamp": old["timestamp"], "type": "user", "content": [{"text": block.text}]}
