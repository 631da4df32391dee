"""Sessions of opencode: as `opencode export` writes them, and as a plugin of it sees their events.

{"info": {session}, "messages": [{"info": {"id", "role", "parentID"?, "time", ...}, "parts": [part, ...]}, ...]}
    {"type": "tool", "callID", "tool", "state": {"status", "input", "output" | "error", "metadata", "attachments"?}}

The conversation begins at the last finished compaction, or at the message that it names as the first to keep. A message
of the assistant with calls is two turns: what it said, and what came of the calls. Answers that failed are not sent.
https://github.com/anomalyco/opencode/blob/dev/packages/opencode/src/session/message-v2.ts (toModelMessages,
filterCompacted)

`opencode import` leaves alone what its database has already: import a condensed file on another machine, or after the
session was deleted.
https://github.com/anomalyco/opencode/blob/dev/packages/opencode/src/cli/cmd/import.ts

In a log of events a message and each of its parts come again whenever they change: the newest one counts. No client
continues from a log, so it is only read. Of several sessions in it (a session and its subagents) the first is read.
https://opencode.ai/docs/plugins
"""

from __future__ import annotations

import json
from collections import Counter as Tally
from collections.abc import Iterator
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from ..core import json_text
from ..core.json_text import object_in, value_in
from ..core.transcript import Block, JsonPath, Message, Place, Source, Transcript
from ..core.values import BlockKind, Family, Role, Usage
from ..errors import UnknownFormatError
from .engine import beside, client_text
from .engine.base import Evidence, Format, RecordEdits, SignsReader, not_a_message, recorded
from .engine.blocks import attachment_block, listed, text_block, unknown_block
from .engine.container import Document, as_lazy

_CLEARED: Final = "[Old tool result content cleared]"
_INTERRUPTED: Final = "[Tool execution was interrupted]"
"""Texts that opencode sends in place of an output that it cleared, and for a call that has none."""
_STATUSES: Final = ("completed", "error", "pending", "running")
_SAID: Final = {
    "compaction": "What did we do so far?",
    "subtask": "The following tool was executed by the user",
}
"""Texts that it sends for parts without a text."""
_TEXT_FILES: Final = ("text/plain", "application/x-directory")
"""Files whose text opencode puts into a text part of its own."""
_SILENT: Final = frozenset({"agent", "file", "patch", "retry", "snapshot", "step-finish", "step-start"})
"""Parts that are not sent, unless they are read before."""
_ENCRYPTED: Final = ("signature", "redactedData", "reasoningEncryptedContent", "encryptedContent")
_ROLES: Final = {"user": Role.USER, "assistant": Role.ASSISTANT}


def _said_blocks(part: dict[str, Any], record: int, owner: JsonPath, role: Role) -> Iterator[Block]:
    """Yield what a part of a message says itself, calls included."""
    kind, state = part.get("type"), part.get("state")
    if kind == "text" and isinstance(part.get("text"), str):
        if part.get("ignored") is True and role is Role.USER:
            return
        common: dict[str, Any] = {"injected": True} if role is Role.USER and part.get("synthetic") is True else {}
        is_user = role is Role.USER
        yield text_block(part["text"], record, (*owner, "text"), owner, is_user=is_user, **common)
    elif kind == "reasoning" and isinstance(part.get("text"), str):
        # Tokens of reasoning that only its provider can read. Each provider has its own object in the metadata.
        inner = [value for value in object_in(part, "metadata").values() if isinstance(value, dict)]
        estimate = sum(client_text.encrypted_thinking(value.get(key)) for value in inner for key in _ENCRYPTED)
        place = Place(record, (*owner, "text"))
        shown = part["text"]
        yield Block(BlockKind.THINKING, place, owner, content=shown, estimate=0 if shown else estimate)
    elif kind == "tool" and isinstance(part.get("callID"), str) and isinstance(state, dict) and "input" in state:
        yield Block(
            BlockKind.TOOL_CALL,
            Place(record, (*owner, "state", "input")),
            owner,
            content=json_text.dump_compact(state["input"]),
            tool=str(part.get("tool") or ""),
            call_id=part["callID"],
            is_object=True,
        )
    elif kind == "file" and role is Role.USER:
        if part.get("mime") not in _TEXT_FILES:
            yield _file(part, record, owner)
    elif not isinstance(kind, str) or kind not in _SILENT | _SAID.keys():
        yield unknown_block(part, record, owner)
    elif kind in _SAID and role is Role.USER:
        yield Block(BlockKind.OPAQUE, Place(record, owner), owner, content=_SAID[kind], injected=True)


def _file(part: dict[str, Any], record: int, owner: JsonPath) -> Block:
    mime, url = str(part.get("mime")), part.get("url")
    if mime.startswith("image/"):
        return attachment_block({"type": "image_url", "image_url": {"url": url}}, record, owner)
    data = url.partition(",")[2] if isinstance(url, str) and url.startswith("data:") else None
    return Block(BlockKind.OPAQUE, Place(record, owner), owner, estimate=client_text.document(data))


def _result_blocks(part: dict[str, Any], record: int, owner: JsonPath) -> Iterator[Block]:
    """Yield what came of the call in a part; nothing for other parts."""
    state = part.get("state")
    if part.get("type") != "tool" or not isinstance(part.get("callID"), str) or not isinstance(state, dict):
        return
    common: dict[str, Any] = {"call_id": part["callID"], "tool": str(part.get("tool") or "")}
    path = (*owner, "state")
    time = state.get("time")
    cleared = bool(time.get("compacted")) if isinstance(time, dict) else False
    output, status = state.get("output", ...), state.get("status")
    is_odd = not isinstance(output, str | None) if status == "completed" else status not in _STATUSES and output != ...
    if not cleared and ("status" not in state or is_odd):
        yield unknown_block(state, record, path, owner, **common)
        return
    key = {"completed": "output", "error": "error"}.get(str(state.get("status")), "")
    text = state.get(key)
    if cleared or not isinstance(text, str):
        said = _CLEARED if cleared else _INTERRUPTED
        yield Block(BlockKind.OPAQUE, Place(record, path), owner, content=said, **common)
        return
    is_error = key == "error"
    yield text_block(text, record, (*path, key), owner, kind=BlockKind.TOOL_RESULT, is_error=is_error, **common)
    for index, file in enumerate(listed(state, "attachments") if key == "output" else ()):
        if isinstance(file, dict):
            # A file part has to stay one there: no text can take the place of an image.
            place = Place(record, (*path, "attachments", index))
            estimate = _file(file, record, place.path).estimate
            yield Block(BlockKind.OPAQUE, place, owner, estimate=estimate, **common)


class _Part(Struct, frozen=True):
    value: Any
    record: int
    path: JsonPath


class _Entry(Struct, frozen=True):
    """A message: what opencode notes about it, and its parts."""

    info: dict[str, Any]
    parts: list[_Part]

    @property
    def values(self) -> Iterator[dict[str, Any]]:
        return (part.value for part in self.parts if isinstance(part.value, dict))

    @property
    def has_failed(self) -> bool:
        """Return whether the answer ended in an error. One that the user stopped is sent as far as it got."""
        error = self.info.get("error")
        if self.info.get("role") != "assistant" or not error:
            return False
        was_stopped = isinstance(error, dict) and error.get("name") == "MessageAbortedError"
        return not was_stopped or all(part.get("type") in ("step-start", "reasoning") for part in self.values)

    def turns(self, source: Source) -> Iterator[tuple[Role, list[Block]]]:
        role = _ROLES[self.info["role"]]
        said: list[Block] = []
        results: list[Block] = []
        for part in self.parts:
            if not isinstance(part.value, dict):
                said.append(unknown_block(part.value, part.record, part.path))
            else:
                said += as_lazy(_said_blocks(part.value, part.record, part.path, role), source)
                results += as_lazy(_result_blocks(part.value, part.record, part.path), source)
        if self.info.get("summary") is True:
            said = [replace(block, summarizes=block.kind is BlockKind.TEXT) for block in said]
        if said:
            yield role, said
        if results:
            yield Role.TOOL, results

    def usage(self, message: int) -> Iterator[Usage]:
        """Yield the usage of an answer. That of a summary counted the messages that it replaces."""
        tokens = object_in(self.info, "tokens")
        numbers = [value_in(tokens, *keys) for keys in (("input",), ("cache", "read"), ("cache", "write"))]
        is_older, model = self.info.get("summary") is True, self.info.get("modelID")
        yield from recorded(message, numbers, tokens.get("output"), is_older=is_older, model=model)


def _transcript(format_name: str, entries: list[_Entry], source: Source) -> Transcript:
    beginning, compaction = _beginning(entries)
    sent = [entry for entry in entries[beginning:] if not entry.has_failed]
    messages: list[Message] = []
    usages: list[Usage] = []
    for entry in sent:
        info = entry.info
        of_compaction = (info.get("id"), info.get("parentID") if info.get("summary") is True else None)
        is_anchor = compaction is not None and compaction in map(str, of_compaction)
        for role, blocks in entry.turns(source):
            if is_anchor:
                blocks = [replace(block, anchors=True) for block in blocks]
            if role is Role.ASSISTANT:
                usages += entry.usage(len(messages))
            messages.append(Message(len(messages), role, tuple(blocks)))
    signs = SignsReader()  # Of answers and compactions that are not sent any more, too.
    for entry in entries:
        for usage in entry.usage(0) if entry.info.get("role") == "assistant" else ():
            signs.used(usage.model, usage.input_tokens, usage.output_tokens)
        if any(part.get("type") == "compaction" and part.get("auto") is True for part in entry.values):
            signs.compacted(signs.last)
    models = (entry.info.get("modelID") for entry in reversed(sent))
    return Transcript(
        format_name,
        Family.OPENAI_CHAT,
        tuple(messages),
        source,
        model=next((model for model in models if isinstance(model, str) and model), None),
        usages=tuple(usages),
        window_signs=signs.found,
    )


def _beginning(entries: list[_Entry]) -> tuple[int, str | None]:
    """Return the position of the first message that is sent, and the id of the request of its compaction, if any."""
    finished: set[str] = set()
    for position in reversed(range(len(entries))):
        info = entries[position].info
        if info.get("role") == "user" and str(info.get("id")) in finished:
            for part in entries[position].values:
                if part.get("type") == "compaction":
                    kept = part.get("tail_start_id")
                    ids = [entry.info.get("id") for entry in entries[:position]]
                    return ids.index(kept) if kept in ids else position, str(info.get("id"))
        if info.get("summary") is True and info.get("finish") and not info.get("error"):
            finished.add(str(info.get("parentID")))
    return 0, None


def evidence(value: Any) -> Evidence:
    is_message = isinstance(value, dict) and isinstance(value.get("parts"), list)
    return Evidence.YES if is_message and object_in(value, "info").get("role") in tuple(_ROLES) else Evidence.NO


def _read(document: Document, values: Iterator[Any]) -> Transcript:
    entries = []
    for record, value in enumerate(values):
        if record in document.source.unparsed:
            continue
        if evidence(value) is Evidence.NO:
            raise not_a_message(record, value, "it has no parts, or no info with a role")
        parts = [_Part(part, record, ("parts", number)) for number, part in enumerate(value["parts"])]
        entries.append(_Entry(object_in(value, "info"), parts))
    return _transcript("opencode", entries, document.source)


def _complete(meant: Transcript, edits: RecordEdits, gone: frozenset[int], style: json_text.Style) -> None:
    """Lead an answer to the request before the one that goes, and a compaction to the message after it."""
    if not gone:
        return
    source = meant.source
    summaries = {block.place.record for _, block in meant.blocks() if block.is_inserted}
    infos = {record: object_in(_value(source, record), "info") for record in range(len(source.spans))}
    records = {info.get("id"): record for record, info in infos.items() if isinstance(info.get("id"), str)}
    stay = [record for record in infos if record not in gone]
    requests = [record for record in stay if infos[record].get("role") == "user" or record in summaries]
    for record in stay:
        parent = infos[record].get("parentID")
        target = records.get(parent) if isinstance(parent, str) else None
        if target in gone and record not in summaries:
            before = [request for request in requests if request < record]
            if before:
                edits[record]["info", "parentID"] = json.dumps(infos[before[-1]]["id"])
        for number, part in enumerate(listed(_value(source, record), "parts")):
            kept = value_in(part, "tail_start_id")
            first = records.get(kept) if isinstance(kept, str) else None
            if first is not None and first in gone:
                after = [other for other in stay if other > first]
                literal = json.dumps(infos[after[0]].get("id")) if after else json_text.REMOVE
                edits[record]["parts", number, "tail_start_id"] = literal


def _value(source: Source, record: int) -> Any:
    return None if record in source.unparsed else json_text.parse(source.raw(record))


def _new_message(role: Role, literal: str, replaced: str) -> dict[str, str]:
    """Return a request of the user with the id and the time of the message that it replaces: these give the order."""
    old = json_text.parse_text(replaced)
    info = object_in(old, "info")
    time, model = info.get("time"), info.get("model")
    answered_by = {"providerID": info.get("providerID") or "", "modelID": info.get("modelID") or ""}
    new: dict[str, Any] = {
        **{key: info[key] for key in ("id", "sessionID") if key in info},
        "role": "user",
        "time": {"created": time.get("created", 0) if isinstance(time, dict) else 0},
        "agent": info.get("agent") or info.get("mode") or "build",
        "model": model if isinstance(model, dict) else answered_by,
    }
    first = next((part["id"] for part in old["parts"] if isinstance(part, dict) and "id" in part), None)
    part = {"id": first, "sessionID": info.get("sessionID"), "messageID": info.get("id")}
    members = json.dumps({**{key: value for key, value in part.items() if value is not None}, "type": "text"})
    return {"info": json.dumps(new), "parts": f'[{members[:-1]}, "text": {literal}}}]'}


FORMAT: Final = Format(
    "opencode",
    Family.OPENAI_CHAT,
    "opencode exports (opencode export)",
    evidence,
    _read,
    beside=beside.copies_of_results(("state", "metadata")),
    complete=_complete,
    new_message=_new_message,
    summary_role=Role.USER,
)


def _event_evidence(value: Any) -> Evidence:
    if not isinstance(value, list) or len(value) < 2 or not isinstance(value[0], str) or not isinstance(value[1], dict):
        return Evidence.NO
    return Evidence.YES if value[0] == "event" and _event(value) else Evidence.MAYBE


def _event(value: list[Any]) -> dict[str, Any]:
    """Return the properties of an event, with its type."""
    event = value[1].get("event")
    properties = value_in(event, "properties")
    if not isinstance(properties, dict) or not isinstance(event.get("type"), str):
        return {}
    return {**properties, "type": event["type"]}


def _read_events(document: Document, values: Iterator[Any]) -> Transcript:
    log = _Log()
    for record, value in enumerate(values):
        if _event_evidence(value) is not Evidence.NO:
            log.take(record, value)
    entries = [_Entry(info, list(log.parts.get(message_id, {}).values())) for message_id, info in log.infos.items()]
    if not entries:
        raise UnknownFormatError("It holds no message.", "Name a log in which an opencode plugin recorded some.")
    return replace(
        _transcript("opencode-events", entries, document.source),
        envelope="\n".join(log.envelope.values()),
        unknown=tuple(log.unknown.items()),
    )


_PROMPT: Final = "system prompt"


class _Log:
    """Messages and parts by their ids, in the order in which they first came."""

    def __init__(self) -> None:
        self._session: str | None = None
        self.infos: dict[str, dict[str, Any]] = {}
        self.parts: dict[str, dict[str, _Part]] = {}
        self.envelope: dict[str, str] = {}
        """What is sent with every request: the description of each tool, and the system prompt."""
        self.unknown = Tally[str]()

    def take(self, record: int, value: list[Any]) -> None:
        hook, given = value[0], value[2] if len(value) > 2 else None
        if hook == "event":
            self._event(_event(value), record)
        elif hook == "chat.message" and isinstance(given, dict):
            self._message(given.get("message"))
            for number, part in enumerate(listed(given, "parts")):
                self._part(part, record, (2, "parts", number))
        elif hook == "tool.definition" and isinstance(given, dict):
            # The schema beside it is that of opencode's own library, many times as long as what is sent.
            self.envelope[str(value[1].get("toolID"))] = str(given.get("description"))
        elif hook == "experimental.chat.system.transform" and isinstance(given, dict):
            prompt = "\n".join(text for text in listed(given, "system") if isinstance(text, str))
            # The prompt of the session, not that by which its title is made.
            if self._is_ours(value[1].get("sessionID")) and len(prompt) > len(self.envelope.get(_PROMPT, "")):
                self.envelope[_PROMPT] = prompt

    def _event(self, event: dict[str, Any], record: int) -> None:
        kind = event.get("type")
        if kind == "message.updated":
            self._message(event.get("info"))
        elif kind == "message.part.updated":
            self._part(event.get("part"), record, (1, "event", "properties", "part"))
        elif kind == "message.removed":
            self.infos.pop(str(event.get("messageID")), None)
        elif kind == "message.part.removed":
            self.parts.get(str(event.get("messageID")), {}).pop(str(event.get("partID")), None)
        elif str(kind).startswith("message.") and kind != "message.part.delta":
            self.unknown[f"event {kind}"] += 1

    def _is_ours(self, session: Any) -> bool:
        if self._session is None and isinstance(session, str):
            self._session = session
        return bool(session == self._session)

    def _message(self, info: Any) -> None:
        is_message = isinstance(info, dict) and isinstance(info.get("id"), str) and info.get("role") in tuple(_ROLES)
        if is_message and self._is_ours(info.get("sessionID")):
            self.infos[info["id"]] = info
        elif not is_message:
            self.unknown["message without an id or a role"] += 1

    def _part(self, part: Any, record: int, path: JsonPath) -> None:
        if isinstance(part, dict) and isinstance(part.get("id"), str):
            parts = self.parts.setdefault(str(part.get("messageID")), {})
            parts[part["id"]] = _Part(part, record, path)
        else:
            self.unknown["part without an id"] += 1


EVENTS: Final = Format(
    "opencode-events",
    Family.OPENAI_CHAT,
    "Logs of opencode plugins, read-only",
    _event_evidence,
    _read_events,
    is_writable=False,
)
