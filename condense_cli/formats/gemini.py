"""Chats of Gemini CLI: one JSON object (`chats/session-*.json`), or a log (`chats/session-*.jsonl`).

{"id", "timestamp", "type": "user" | "gemini" | "info" | ..., "content": str | part | [part, ...],
     "thoughts"?: [{"subject", "description"}],  (shown to the user and never sent)
     "toolCalls"?: [{"id", "name", "args", "result": str | part | [part, ...], "status", "resultDisplay"}]}

Newer versions hold calls and thoughts in the content, and what came of the calls in `toolCalls` still, or in messages
of the user with nothing but `functionResponse` parts. Where both are there, the client sends results twice once it
goes on with a session; here they count once. A session that it goes on with in a later minute has, beside each of
several calls, the results of all of them (updateMessagesFromHistory in chatRecordingService.ts).
https://github.com/google-gemini/gemini-cli/blob/main/packages/core/src/utils/sessionUtils.ts
(convertSessionToClientHistory)

{"sessionId", "projectHash", "startTime", "lastUpdated", "messages": [message, ...]}

Newer versions of the client read these files and go on in a log beside them (`log`).
https://github.com/google-gemini/gemini-cli/blob/main/packages/core/src/services/chatRecordingTypes.ts

That line is the client's own `{"$set": {"messages": [...]}}`, with which it begins each time that it goes on with a
session. All lines before it stay as they are.

{"sessionId", "projectHash", ...}     what the chat is
    {"id", "type", "content", ...}        a message; one that comes again replaces the earlier one, in its place
    {"$set": {...}}                       changes to the header; with "messages" to all messages
    {"$rewindTo": id}                     this message and all after it are gone

What a message said before it was replaced stays in such a file: a line taken out might bring it back. So no line goes.
https://github.com/google-gemini/gemini-cli/blob/main/packages/core/src/services/chatRecordingService.ts
"""

from __future__ import annotations

import json
from collections import Counter as Tally
from collections.abc import Iterable, Iterator
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from ..core import json_text
from ..core.transcript import Block, JsonPath, Message, Place, Source, Transcript
from ..core.values import BlockKind, Family, Role, Usage
from ..errors import UnknownFormatError
from .anthropic import attachment_block
from .engine import client_text, repeats
from .engine.base import (
    Evidence,
    Format,
    RecordEdits,
    Rewrite,
    Values,
    derived_uuid,
    not_a_message,
    recorded,
    records_of,
    unknown_block,
)
from .engine.client_text import is_injected
from .engine.container import Document, as_lazy
from .engine.turns import WHOLE

TYPES: Final = ("user", "gemini", "info", "error", "warning")
_LISTS: Final = frozenset({"content", "displayContent", "thoughts", "toolCalls"})
_NOT_SENT: Final = ("/", "?", "<session_context>", "<hook_context>")
"""How messages of the user begin that were for the client, or that it writes anew."""


class GeminiEntry(Struct, frozen=True):
    """A message, and where it stands."""

    value: dict[str, Any]
    record: int
    path: JsonPath = ()


def is_message(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.get("type") in TYPES
        and isinstance(value.get("id"), str)
        and isinstance(value.get("timestamp"), str)
        and "content" in value
    )


def read_entries(
    format_name: str, entries: list[GeminiEntry], source: Source, unknown: Iterable[str] = ()
) -> Transcript:
    messages: list[Message] = []
    model = None
    usages: list[Usage] = []
    answered: set[str] = set()
    for entry in entries:
        for role, found in _turns(entry, answered):
            blocks = tuple(as_lazy(found, source))
            answered.update(block.answers for block in blocks if block.answers)
            if role is Role.ASSISTANT and blocks:
                model = entry.value["model"] if isinstance(entry.value.get("model"), str) else model
                usages += _usage(len(messages), entry.value.get("tokens"), model)
            if blocks:
                messages.append(Message(len(messages), role, blocks))
    not_read = Tally([*unknown, *(f"message with {key}" for entry in entries for key in _unknown_lists(entry.value))])
    return Transcript(
        format_name,
        Family.OPENAI_CHAT,
        tuple(messages),
        source,
        model=model,
        usages=tuple(usages),
        unknown=tuple(not_read.items()),
    )


def _unknown_lists(message: dict[str, Any]) -> Iterator[str]:
    """Keys with objects in a list, as calls and parts are, that nobody knows."""
    for key in message.keys() - _LISTS:
        if isinstance(message[key], list) and any(isinstance(one, dict) for one in message[key]):
            yield key


def _usage(message: int, tokens: Any, model: str | None) -> Iterator[Usage]:
    """Gemini's count of what was sent includes what came from the cache."""
    if isinstance(tokens, dict):
        yield from recorded(message, [tokens.get("input")], tokens.get("output"), model=model)


def _turns(entry: GeminiEntry, answered: set[str]) -> Iterator[tuple[Role, Iterator[Block]]]:
    """Who says what in a message. `answered` are calls whose results came before."""
    value = entry.value
    if value.get("type") == "user":
        parts = list(_parts(value.get("content"), (*entry.path, "content")))
        text = "".join(_text(part) for part, _ in parts).strip()
        if holds_only_responses(value):
            yield Role.TOOL, _responses(parts, entry.record, answered)
        elif not text.startswith(_NOT_SENT):
            yield Role.USER, (_part(part, entry.record, path, is_user=True) for part, path in parts)
    elif value.get("type") == "gemini":
        yield Role.ASSISTANT, _said(entry)
        yield Role.TOOL, _results(entry)


def holds_only_responses(value: dict[str, Any]) -> bool:
    """Whether a message says nothing but results of calls."""
    parts = [part for part, _ in _parts(value.get("content"), ())]
    return all(isinstance(part, dict) and "functionResponse" in part for part in parts)


def _responses(parts: list[tuple[Any, JsonPath]], record: int, answered: set[str]) -> Iterator[Block]:
    told: set[str] = set()
    for part, path in parts:
        call_id = _answers(part)
        if call_id is not None and call_id not in answered and call_id not in told:
            told.add(call_id)
            common: dict[str, Any] = {"call_id": call_id, "tool": str(part["functionResponse"].get("name") or "")}
            yield _result(part, record, path, path, False, common)


def _answers(part: Any) -> str | None:
    """The id of the call that a part says it answers."""
    response = part.get("functionResponse") if isinstance(part, dict) else None
    call_id = response.get("id") if isinstance(response, dict) else None
    return call_id if isinstance(call_id, str) else None


def _parts(content: Any, path: JsonPath) -> Iterator[tuple[Any, JsonPath]]:
    """The parts of a content, which may be one part or a list of them, and where each stands."""
    if isinstance(content, list):
        yield from ((part, (*path, number)) for number, part in enumerate(content))
    elif content:
        yield content, path


def _text(part: Any) -> str:
    text = part.get("text") if isinstance(part, dict) else part
    return text if isinstance(text, str) else ""


def _said(entry: GeminiEntry) -> Iterator[Block]:
    value, record = entry.value, entry.record
    parts = list(_parts(value.get("content"), (*entry.path, "content")))
    holds_all = any(isinstance(part, dict) and (part.get("functionCall") or part.get("thought")) for part, _ in parts)
    for part, path in parts:
        yield _part(part, record, path, is_user=False)
    if not holds_all:
        for call, path in _calls(entry):
            yield _call(call, record, path)


def _calls(entry: GeminiEntry) -> Iterator[tuple[dict[str, Any], JsonPath]]:
    calls = entry.value.get("toolCalls")
    for number, call in enumerate(calls if isinstance(calls, list) else ()):
        if isinstance(call, dict) and isinstance(call.get("id"), str):
            yield call, (*entry.path, "toolCalls", number)


def _call(call: dict[str, Any], record: int, owner: JsonPath, inside: JsonPath = ()) -> Block:
    place = Place(record, (*owner, *inside, "args"))
    text = json_text.dump_compact(call.get("args", {}))
    tool = str(call.get("name") or "")
    return Block(BlockKind.TOOL_CALL, place, owner, content=text, tool=tool, call_id=call["id"], is_object=True)


def _part(part: Any, record: int, owner: JsonPath, *, is_user: bool) -> Block:
    if isinstance(part, str):
        return Block(BlockKind.TEXT, Place(record, owner), owner, content=part, injected=is_user and is_injected(part))
    if not isinstance(part, dict):
        return unknown_block(part, record, owner)
    call, text = part.get("functionCall"), part.get("text")
    if isinstance(call, dict) and isinstance(call.get("id"), str):
        return _call(call, record, owner, ("functionCall",))
    if isinstance(text, str):
        place = Place(record, (*owner, "text"))
        if part.get("thought"):
            return Block(BlockKind.THINKING, place, owner, content=text)
        return Block(BlockKind.TEXT, place, owner, content=text, injected=is_user and is_injected(text))
    return _attachment(part, record, owner)


def _attachment(part: dict[str, Any], record: int, owner: JsonPath, **common: Any) -> Block:
    inline = part.get("inlineData")
    if not isinstance(inline, dict) and not WHOLE.isdisjoint(part):
        return Block(BlockKind.OPAQUE, Place(record, owner), owner, content=json_text.dump_compact(part), **common)
    if not isinstance(inline, dict):
        return attachment_block(part, record, owner, **common)
    if str(inline.get("mimeType")).startswith("image/"):
        image = {"type": "image", "source": {"data": inline.get("data")}}
        return attachment_block(image, record, owner, **common)
    estimate = client_text.document(inline.get("data"))
    return Block(BlockKind.OPAQUE, Place(record, owner), owner, estimate=estimate, **common)


def _results(entry: GeminiEntry) -> Iterator[Block]:
    calls = list(_calls(entry))
    asked = {call["id"] for call, _ in calls}
    for call, owner in calls:
        common: dict[str, Any] = {"call_id": call["id"], "tool": str(call.get("name") or "")}
        for part, path in _own(_parts(call.get("result"), (*owner, "result")), call["id"], asked):
            yield _result(part, entry.record, path, owner, call.get("status") == "error", common)


def _own(parts: Iterator[tuple[Any, JsonPath]], call_id: str, asked: set[str]) -> Iterator[tuple[Any, JsonPath]]:
    """The result of a call without those of others that were `asked` beside it. What follows a response is part of it.

    Some may be told again: the first counts.
    """
    is_own, is_told = True, False
    for part, path in parts:
        answers = _answers(part)
        if answers == call_id:
            is_own, is_told = not is_told, True
        elif answers in asked:
            is_own = False
        if is_own:
            yield part, path


def _result(part: Any, record: int, path: JsonPath, owner: JsonPath, has_failed: bool, common: dict[str, Any]) -> Block:
    if isinstance(part, str):
        return Block(BlockKind.TOOL_RESULT, Place(record, path), owner, content=part, is_error=has_failed, **common)
    if not isinstance(part, dict):
        return unknown_block(part, record, path, owner, **common)
    envelope = part.get("functionResponse")
    response = envelope.get("response") if isinstance(envelope, dict) else None
    if not isinstance(response, dict):
        response = {}
    inside = (*path, "functionResponse", "response")
    texts: tuple[tuple[Any, JsonPath], ...] = (
        (response.get("output"), (*inside, "output")),
        (response.get("error"), (*inside, "error")),
        (part.get("text"), (*path, "text")),
    )
    for text, where in texts:
        if isinstance(text, str):
            is_error = has_failed or where[-1] == "error"
            return Block(BlockKind.TOOL_RESULT, Place(record, where), owner, content=text, is_error=is_error, **common)
    found = _attachment(part, record, path, **common)
    return replace(found, owner=owner, is_error=has_failed, is_unknown=found.is_unknown and not response)


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
    return read_entries("gemini", entries, document.source)


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


def complete_log(transcript: Transcript, edits: RecordEdits, gone: frozenset[int], style: json_text.Style) -> None:
    """What the client sends besides a result, the same result, says what the result says; older copies go."""
    _older_copies(transcript, edits, gone, style)
    values = Values(transcript.source)
    changed = {
        (block.answers, values(block.place.record, block.place.path)): style.literal(block.text)
        for _, block in transcript.blocks()
        if block.changed and block.kind is BlockKind.TOOL_RESULT
    }
    for record, path, message in _messages(transcript) if changed else ():
        for where, call_id, text in _log_results(message):
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


def _log_results(message: Any) -> Iterator[tuple[JsonPath, str, str]]:
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


def log_evidence(value: Any) -> Evidence:
    if not isinstance(value, dict):
        return Evidence.NO
    if isinstance(value.get("sessionId"), str) and isinstance(value.get("projectHash"), str):
        return Evidence.YES
    is_change = isinstance(value.get("$set"), dict) or isinstance(value.get("$rewindTo"), str)
    return Evidence.MAYBE if is_change or is_message(value) else Evidence.NO


def read_log(document: Document, values: Iterator[Any]) -> Transcript:
    records = [*values]
    entries = current(enumerate(records))
    if not entries:
        raise UnknownFormatError("It holds no message.", "Name a chat that has messages.")
    strange = (f"record {value.get('type')}" for value in records if isinstance(value, dict) and _is_strange(value))
    return read_entries("gemini-log", entries, document.source, strange)


def _is_strange(value: dict[str, Any]) -> bool:
    return "id" in value and "sessionId" not in value and not is_message(value)


LOG = Format(
    "gemini-log",
    Family.OPENAI_CHAT,
    "Logs of chats of Gemini CLI (chats/session-*.jsonl)",
    log_evidence,
    read_log,
    complete=complete_log,
    compaction=write,
    is_log=True,
    repeats_results=True,
    summary_role=Role.USER,
)
