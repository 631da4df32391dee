"""Chats of Gemini CLI: one JSON object (`chats/session-*.json`), or a log (`chats/session-*.jsonl`).

{"sessionId", "projectHash", "startTime", "lastUpdated", "messages": [message, ...]}
    {"id", "timestamp", "type": "user" | "gemini" | "info" | ..., "content": str | part | [part, ...],
     "thoughts"?: [{"subject", "description"}],  (shown to the user and never sent)
     "toolCalls"?: [{"id", "name", "args", "result": str | part | [part, ...], "status", "resultDisplay"}]}

Newer versions hold calls and thoughts in the content, and what came of the calls in `toolCalls` still, or in messages
of the user with nothing but `functionResponse` parts. Where both are there, the client sends results twice once it
goes on with a session; here they count once. A session that it goes on with in a later minute has, beside each of
several calls, the results of all of them (updateMessagesFromHistory in chatRecordingService.ts).
https://github.com/google-gemini/gemini-cli/blob/main/packages/core/src/utils/sessionUtils.ts
(convertSessionToClientHistory)

Newer versions of the client read these files and go on in a log beside them.
    {"sessionId", "projectHash", ...}     what the chat is
    {"id", "type", "content", ...}        a message; one that comes again replaces the earlier one, in its place
    {"$set": {...}}                       changes to the header; with "messages" to all messages
    {"$rewindTo": id}                     this message and all after it are gone

A log keeps what a message said before it was replaced: a line taken out might bring that back. So no line goes. A
smaller chat is written as one more line, `{"$set": {"messages": [...]}}`, as the client does each time it goes on with
a session.
https://github.com/google-gemini/gemini-cli/blob/main/packages/core/src/services/chatRecordingService.ts
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterable, Iterator
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from ..core import json_text
from ..core.json_text import object_in, value_in
from ..core.transcript import Block, JsonPath, Message, Place, Source, Transcript
from ..core.values import BlockKind, Family, Role, Usage
from ..errors import UnknownFormatError
from .engine import beside, client_text
from .engine.base import (
    Evidence,
    Format,
    Habit,
    RecordEdits,
    Rewrite,
    Values,
    derived_uuid,
    no_record,
    not_a_message,
    recorded,
    records_of,
)
from .engine.blocks import attachment_block, image_block, kept_members, listed, opaque_block, text_block, unknown_block
from .engine.container import Document, as_lazy
from .google import WHOLE

_TYPES: Final = ("user", "gemini", "info", "error", "warning")
_LISTS: Final = frozenset({"content", "displayContent", "thoughts", "toolCalls"})
_NOT_SENT: Final = ("/", "?", "<session_context>", "<hook_context>")
"""Beginnings of messages of the user that were for the client, or that it writes anew."""
_LISTED: Final = ("$set", "messages")


class _Entry(Struct, frozen=True):
    """A message with its record and its path there."""

    value: dict[str, Any]
    record: int
    path: JsonPath = ()


def is_message(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.get("type") in _TYPES
        and isinstance(value.get("id"), str)
        and isinstance(value.get("timestamp"), str)
        and "content" in value
    )


def _transcript(format_name: str, entries: list[_Entry], source: Source, unknown: Iterable[str] = ()) -> Transcript:
    messages: list[Message] = []
    model = None
    usages: list[Usage] = []
    answered: set[str] = set()
    not_read = Tally(unknown)
    for entry in entries:
        for role, found in _turns(entry, answered):
            blocks = tuple(as_lazy(found, source))
            answered.update(block.answers for block in blocks if block.answers)
            if role is Role.ASSISTANT and blocks:
                model = entry.value["model"] if isinstance(entry.value.get("model"), str) else model
                tokens = object_in(entry.value, "tokens")  # What was sent includes what came from the cache.
                usages += recorded(len(messages), [tokens.get("input")], tokens.get("output"), model=model)
            if blocks:
                messages.append(Message(len(messages), role, blocks))
        for key in entry.value.keys() - _LISTS:  # Objects in a list, as calls and parts are.
            if any(isinstance(one, dict) for one in listed(entry.value, key)):
                not_read[f"message with {key}"] += 1
        calls = entry.value.get("toolCalls")
        if calls and len(list(_calls(entry))) < (len(calls) if isinstance(calls, list) else 1):
            not_read["message with toolCalls of another shape"] += 1
    return Transcript(
        format_name,
        Family.OPENAI_CHAT,
        tuple(messages),
        source,
        model=model,
        usages=tuple(usages),
        unknown=tuple(not_read.items()),
    )


def _turns(entry: _Entry, answered: set[str]) -> Iterator[tuple[Role, Iterator[Block]]]:
    """Yield role and blocks of the turns of a message. `answered` are calls whose results came before."""
    value, record = entry.value, entry.record
    if value.get("type") not in ("user", "gemini"):
        return
    parts = list(_parts(value.get("content"), (*entry.path, "content")))
    if value["type"] == "gemini":
        yield Role.ASSISTANT, _said(entry, parts)
        yield Role.TOOL, _results(entry)
    elif _holds_only_responses(value):
        yield Role.TOOL, _responses(parts, record, answered)
    else:
        texts = (part.get("text") if isinstance(part, dict) else part for part, _ in parts)
        text = "".join(text for text in texts if isinstance(text, str)).strip()
        if not text.startswith(_NOT_SENT):
            yield Role.USER, (_part(part, record, path, is_user=True) for part, path in parts)


def _holds_only_responses(value: dict[str, Any]) -> bool:
    """Return whether a message says nothing but results of calls."""
    return all(isinstance(part, dict) and "functionResponse" in part for part, _ in _parts(value.get("content"), ()))


def _responses(parts: list[tuple[Any, JsonPath]], record: int, answered: set[str]) -> Iterator[Block]:
    told: set[str] = set()
    for part, path in parts:
        call_id = _answers(part)
        if call_id is not None and call_id not in answered and call_id not in told:
            told.add(call_id)
            common: dict[str, Any] = {"call_id": call_id, "tool": str(part["functionResponse"].get("name") or "")}
            yield _result(part, record, path, path, False, common)


def _answers(part: Any) -> str | None:
    """Return the id of the call that a part says it answers."""
    call_id = value_in(part, "functionResponse", "id")
    return call_id if isinstance(call_id, str) else None


def _parts(content: Any, path: JsonPath) -> Iterator[tuple[Any, JsonPath]]:
    """Yield the parts of a content, which may be one part or a list of them, with their paths."""
    if isinstance(content, list):
        yield from ((part, (*path, number)) for number, part in enumerate(content))
    elif content:
        yield content, path


def _said(entry: _Entry, parts: list[tuple[Any, JsonPath]]) -> Iterator[Block]:
    holds_all = any(isinstance(part, dict) and (part.get("functionCall") or part.get("thought")) for part, _ in parts)
    for part, path in parts:
        yield _part(part, entry.record, path, is_user=False)
    if not holds_all:
        for call, path in _calls(entry):
            yield _call(call, entry.record, path)


def _calls(entry: _Entry) -> Iterator[tuple[dict[str, Any], JsonPath]]:
    for number, call in enumerate(listed(entry.value, "toolCalls")):
        if isinstance(call, dict) and isinstance(call.get("id"), str):
            yield call, (*entry.path, "toolCalls", number)


def _call(call: dict[str, Any], record: int, owner: JsonPath, inside: JsonPath = ()) -> Block:
    place = Place(record, (*owner, *inside, "args"))
    text = json_text.dump_compact(call.get("args", {}))
    tool = str(call.get("name") or "")
    return Block(BlockKind.TOOL_CALL, place, owner, content=text, tool=tool, call_id=call["id"], is_object=True)


def _part(part: Any, record: int, owner: JsonPath, *, is_user: bool) -> Block:
    if isinstance(part, str):
        return text_block(part, record, owner, is_user=is_user)
    if not isinstance(part, dict):
        return unknown_block(part, record, owner)
    call, text = part.get("functionCall"), part.get("text")
    if isinstance(call, dict) and isinstance(call.get("id"), str):
        return _call(call, record, owner, ("functionCall",))
    if isinstance(text, str):
        if part.get("thought"):
            return Block(BlockKind.THINKING, Place(record, (*owner, "text")), owner, content=text)
        return text_block(text, record, (*owner, "text"), owner, is_user=is_user)
    return _attachment(part, record, owner)


def _attachment(part: dict[str, Any], record: int, owner: JsonPath, **common: Any) -> Block:
    inline = part.get("inlineData")
    if not isinstance(inline, dict):
        if WHOLE.isdisjoint(part):
            return attachment_block(part, record, owner, **common)
        return opaque_block(part, record, owner, **common)
    if str(inline.get("mimeType")).startswith("image/"):
        return image_block(inline.get("data"), record, owner, **common)
    estimate = client_text.document(inline.get("data"))
    return Block(BlockKind.OPAQUE, Place(record, owner), owner, estimate=estimate, **common)


def _results(entry: _Entry) -> Iterator[Block]:
    """Yield the results of the calls of a message. Those of other calls, and those told again, do not count.

    What follows a response is part of it.
    """
    calls = list(_calls(entry))
    asked = {call["id"] for call, _ in calls}
    for call, owner in calls:
        common: dict[str, Any] = {"call_id": call["id"], "tool": str(call.get("name") or "")}
        is_own, is_told = True, False
        for part, path in _parts(call.get("result"), (*owner, "result")):
            answers = _answers(part)
            if answers == call["id"]:
                is_own, is_told = not is_told, True
            elif answers in asked:
                is_own = False
            if is_own:
                yield _result(part, entry.record, path, owner, call.get("status") == "error", common)


def _result(part: Any, record: int, path: JsonPath, owner: JsonPath, has_failed: bool, common: dict[str, Any]) -> Block:
    kind = BlockKind.TOOL_RESULT
    if isinstance(part, str):
        return text_block(part, record, path, owner, kind=kind, is_error=has_failed, **common)
    if not isinstance(part, dict):
        return unknown_block(part, record, path, owner, **common)
    response = object_in(part, "functionResponse", "response")
    inside = (*path, "functionResponse", "response")
    texts: tuple[tuple[Any, JsonPath], ...] = (
        (response.get("output"), (*inside, "output")),
        (response.get("error"), (*inside, "error")),
        (part.get("text"), (*path, "text")),
    )
    for text, where in texts:
        if isinstance(text, str):
            is_error = has_failed or where[-1] == "error"
            return text_block(text, record, where, owner, kind=kind, is_error=is_error, **common)
    found = _attachment(part, record, path, **common)
    return replace(found, owner=owner, is_error=has_failed, is_unknown=found.is_unknown and not response)


def _read(document: Document, values: Iterator[Any]) -> Transcript:
    entries = []
    for record, value in enumerate(values):
        if record in document.source.unparsed:
            continue
        if not is_message(value):
            raise not_a_message(record, value, "it lacks type, id, timestamp or content")
        entries.append(_Entry(value, record))
    return _transcript("gemini", entries, document.source)


def _new_message(role: Role, literal: str, replaced: str) -> dict[str, str]:
    return {**kept_members(replaced, "id", "timestamp"), "type": '"user"', "content": f'[{{"text": {literal}}}]'}


FORMAT: Final = Format(
    "gemini",
    Family.OPENAI_CHAT,
    "Chats of Gemini CLI (chats/session-*.json)",
    lambda value: Evidence.YES if is_message(value) else Evidence.NO,
    _read,
    beside=beside.copies_of_results(("resultDisplay",)),
    new_message=_new_message,
    summary_role=Role.USER,
)


def _log_evidence(value: Any) -> Evidence:
    if not isinstance(value, dict):
        return Evidence.NO
    if isinstance(value.get("sessionId"), str) and isinstance(value.get("projectHash"), str):
        return Evidence.YES
    is_change = isinstance(value.get("$set"), dict) or isinstance(value.get("$rewindTo"), str)
    return Evidence.MAYBE if is_change or is_message(value) else Evidence.NO


def _read_log(document: Document, values: Iterator[Any]) -> Transcript:
    records = [*values]
    entries = _current(enumerate(records))
    if not entries:
        raise UnknownFormatError("It holds no message.", "Name a chat that has messages.")
    others = (value for value in records if isinstance(value, dict) and _may_be_message(value))
    strange = (f"record {value.get('type')}" for value in others if not is_message(value))
    return _transcript("gemini-log", entries, document.source, strange)


def _may_be_message(value: dict[str, Any]) -> bool:
    return ("id" in value or value.get("type") in _TYPES) and "sessionId" not in value


def _current(values: Iterable[tuple[int, Any]]) -> list[_Entry]:
    """Return the messages of a chat as the lines of its log leave them."""
    messages: dict[str, _Entry] = {}
    for record, value in values:
        if not isinstance(value, dict):
            continue
        target, changes = value.get("$rewindTo"), listed(value.get("$set"), "messages")
        if isinstance(target, str):
            ids = list(messages)
            for message_id in ids[ids.index(target) :] if target in messages else ids:
                del messages[message_id]
        elif is_message(value):
            messages[value["id"]] = _Entry(value, record)
        elif changes:
            messages = {
                message["id"]: _Entry(message, record, (*_LISTED, number))
                for number, message in enumerate(changes)
                if is_message(message)
            }
    return list(messages.values())


def _versions(transcript: Transcript) -> Iterator[beside.Shown]:
    """Yield every version of every message in the file."""
    for record, value in records_of(transcript.source):
        if is_message(value):
            yield record, (), value
        elif isinstance(value, dict):
            changes = listed(value.get("$set"), "messages")
            yield from ((record, (*_LISTED, number), message) for number, message in enumerate(changes))


def _not_sent(transcript: Transcript) -> Iterator[beside.Shown]:
    """Yield earlier versions of messages, and of the others the values that are only shown."""
    sent = {(entry.record, entry.path) for entry in _current(records_of(transcript.source))}
    for record, path, message in _versions(transcript):
        if (record, path) not in sent:
            yield record, path, message
            continue
        for number, call in enumerate(listed(message, "toolCalls")):
            if isinstance(call, dict) and "resultDisplay" in call:
                yield record, (*path, "toolCalls", number, "resultDisplay"), call["resultDisplay"]


def _complete_log(transcript: Transcript, edits: RecordEdits, gone: frozenset[int], style: json_text.Style) -> None:
    """Change every copy of a changed result that the client sends beside it."""
    values = Values(transcript.source)
    changed = {
        (block.answers, values(block.place.record, block.place.path)): style.literal(block.text)
        for _, block in transcript.blocks()
        if block.changed and block.kind is BlockKind.TOOL_RESULT
    }
    for record, path, message in _versions(transcript) if changed else ():
        if not is_message(message):
            continue
        lists: list[tuple[JsonPath, Any]] = [(("content",), message["content"])]
        for number, call in enumerate(listed(message, "toolCalls")):
            lists.append((("toolCalls", number, "result"), value_in(call, "result")))
        for where, parts in lists:
            for number, part in enumerate(parts if isinstance(parts, list) else ()):
                found: Any = value_in(part, "functionResponse")
                response = value_in(found, "response")
                for key, text in response.items() if isinstance(response, dict) else ():
                    is_text = isinstance(text, str) and isinstance(found.get("id"), str)
                    if is_text and (literal := changed.get((found["id"], text))):
                        edits[record][*path, *where, number, "functionResponse", "response", key] = literal


def _write_log(rewrite: Rewrite) -> bytes:
    transcript = rewrite.transcript
    entries = _current(records_of(transcript.source))
    staying = {_message_of(block) for _, block in transcript.blocks() if not block.is_inserted}
    going = {_message_of(block) for block in transcript.removed} - staying
    as_read = _transcript("gemini-log", entries, transcript.source).messages
    summaries = {
        _message_of(as_read[message.index].blocks[0]): message.blocks[0].text
        for message in transcript.messages
        if message.is_inserted
    }
    # A summary has a line of its own in most formats, in the place of the line of the first message that it replaces.
    edits = {record: {path: value for path, value in own.items() if path} for record, own in rewrite.edits.items()}
    edited = replace(rewrite, edits=edits)
    messages: list[Any] = []
    parsed: tuple[int, Any] = (-1, None)  # A line that lists many messages is edited once.
    for entry in entries:
        key = entry.record, entry.path
        if text := summaries.get(key):
            new_id = derived_uuid(text, entry.value["id"])
            said = {"type": "user", "content": [{"text": text}]}
            messages.append({"id": new_id, "timestamp": entry.value["timestamp"], **said})
        if key not in going and not (key not in staying and _holds_only_responses(entry.value)):
            if parsed[0] != entry.record:
                parsed = entry.record, json_text.parse_text(edited.record(entry.record))
            value = parsed[1]
            for step in entry.path:
                value = value[step]
            # The content is missing if it went as the only thing in the message.
            messages.append({**value, "content": value.get("content", [])})
    line = rewrite.style.dump({"$set": {"messages": messages}})
    data = transcript.source.data
    return data + (b"" if data.endswith(b"\n") else b"\n") + json_text.encode(line) + b"\n"


def _message_of(block: Block) -> tuple[int, JsonPath]:
    """Return the place of the message that a block is part of: a line of the log, or an entry of a list in one."""
    path = block.place.path
    return block.place.record, path[:3] if path[:2] == _LISTED else ()


LOG: Final = Format(
    "gemini-log",
    Family.OPENAI_CHAT,
    "Logs of chats of Gemini CLI (chats/session-*.jsonl)",
    _log_evidence,
    _read_log,
    beside=beside.copies(_not_sent),
    complete=_complete_log,
    going=no_record,
    compaction=_write_log,
    habits=Habit.REPEATS_RESULTS,
    summary_role=Role.USER,
)
