"""Sessions of opencode: as `opencode export` writes them, and as a plugin of it sees their events.

A tool part holds the call and what came of it: {"type": "tool", "callID", "tool", "state": {"status", "input",
"output" | "error", "metadata", "attachments"?}}. What opencode sends of each part:
https://github.com/anomalyco/opencode/blob/dev/packages/opencode/src/session/message-v2.ts (toModelMessages)

It begins at the last compaction that was finished, or at the message which that names as the first to keep. A message
of the assistant with calls is two turns: what it said, and what came of the calls. Answers that failed are not sent.
https://github.com/anomalyco/opencode/blob/dev/packages/opencode/src/session/message-v2.ts (filterCompacted)

{"info": {session}, "messages": [{"info": {"id", "role", "parentID"?, "time", ...}, "parts": [part, ...]}, ...]}

`opencode import` leaves alone what its database has already: a condensed file is imported on another machine, or
after the session was deleted.
https://github.com/anomalyco/opencode/blob/dev/packages/opencode/src/cli/cmd/import.ts

A message and each of its parts come again whenever they change: the newest one counts. Such a log is a record of
what happened, from which no client continues, so it is only read. Of several sessions in it, that is of a session and
its subagents, the first is read.
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
from ..core.transcript import Block, JsonPath, Message, Place, Source, Transcript
from ..core.values import BlockKind, Family, Role, Usage, WindowSigns
from ..errors import UnknownFormatError
from .anthropic import attachment_block
from .engine import client_text, repeats
from .engine.base import Evidence, Format, RecordEdits, SignsReader, not_a_message, recorded, unknown_block
from .engine.client_text import is_injected
from .engine.container import Document, as_lazy

CLEARED: Final = "[Old tool result content cleared]"
INTERRUPTED: Final = "[Tool execution was interrupted]"
"""What opencode sends in place of an output that it cleared, or for a call that has none."""

_SAID: Final = {
    "compaction": "What did we do so far?",
    "subtask": "The following tool was executed by the user",
}
"""What it says for parts that are no text."""

_TEXT_FILES: Final = ("text/plain", "application/x-directory")
"""Files whose text opencode puts into a text part of its own."""

_SILENT: Final = frozenset({"agent", "file", "patch", "retry", "snapshot", "step-finish", "step-start"})
"""Parts that say nothing to the model where they are not read."""
_ENCRYPTED: Final = ("signature", "redactedData", "reasoningEncryptedContent", "encryptedContent")


def said_blocks(part: dict[str, Any], record: int, owner: JsonPath, role: Role) -> Iterator[Block]:
    """What a part of a message says itself, calls included. Snapshots and the like are not sent."""
    kind = part.get("type")
    if kind == "text" and isinstance(part.get("text"), str):
        if part.get("ignored") is True and role is Role.USER:
            return
        injected = role is Role.USER and (part.get("synthetic") is True or is_injected(part["text"]))
        yield Block(BlockKind.TEXT, Place(record, (*owner, "text")), owner, content=part["text"], injected=injected)
    elif kind == "reasoning" and isinstance(part.get("text"), str):
        place = Place(record, (*owner, "text"))
        estimate = 0 if part["text"] else _encrypted(part.get("metadata"))
        yield Block(BlockKind.THINKING, place, owner, content=part["text"], estimate=estimate)
    elif (
        kind == "tool"
        and isinstance(part.get("callID"), str)
        and isinstance(part.get("state"), dict)
        and "input" in part["state"]
    ):
        yield Block(
            BlockKind.TOOL_CALL,
            Place(record, (*owner, "state", "input")),
            owner,
            content=json_text.dump_compact(part["state"]["input"]),
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


def _encrypted(metadata: Any) -> int:
    """Tokens of reasoning that only its provider can read; each provider has its own object in the metadata."""
    found = metadata.values() if isinstance(metadata, dict) else ()
    inner = [value for value in found if isinstance(value, dict)]
    return sum(client_text.encrypted_thinking(value.get(key)) for value in inner for key in _ENCRYPTED)


def _file(part: dict[str, Any], record: int, owner: JsonPath, **common: Any) -> Block:
    mime, url = str(part.get("mime")), part.get("url")
    if mime.startswith("image/"):
        link = {"type": "image_url", "image_url": {"url": url}}
        return attachment_block(link, record, owner, place=owner, **common)
    data = url.partition(",")[2] if isinstance(url, str) and url.startswith("data:") else None
    return Block(BlockKind.OPAQUE, Place(record, owner), owner, estimate=client_text.document(data), **common)


def result_blocks(part: dict[str, Any], record: int, owner: JsonPath) -> Iterator[Block]:
    """What came of the call in a part; nothing for other parts."""
    state = part.get("state")
    if part.get("type") != "tool" or not isinstance(part.get("callID"), str) or not isinstance(state, dict):
        return
    common: dict[str, Any] = {"call_id": part["callID"], "tool": str(part.get("tool") or "")}
    path = (*owner, "state")
    time = state.get("time")
    cleared = bool(time.get("compacted")) if isinstance(time, dict) else False
    lacks_output = state.get("status") == "completed" and "output" not in state
    if not cleared and ("status" not in state or lacks_output):
        yield unknown_block(state, record, path, owner, **common)
        return
    key = {"completed": "output", "error": "error"}.get(str(state.get("status")), "")
    text = state.get(key)
    if cleared or not isinstance(text, str):
        said = CLEARED if cleared else INTERRUPTED
        yield Block(BlockKind.OPAQUE, Place(record, path), owner, content=said, **common)
        return
    is_error = key == "error"
    yield Block(BlockKind.TOOL_RESULT, Place(record, (*path, key)), owner, content=text, is_error=is_error, **common)
    attachments = state.get("attachments")
    for index, file in enumerate(attachments if isinstance(attachments, list) and key == "output" else ()):
        if isinstance(file, dict):
            # A file part has to stay one there: no text can take the place of an image.
            place = Place(record, (*path, "attachments", index))
            image = _file(file, record, place.path)
            yield Block(BlockKind.OPAQUE, place, owner, estimate=image.estimate, **common)


ROLES: Final = {"user": Role.USER, "assistant": Role.ASSISTANT}


class OpencodePart(Struct, frozen=True):
    value: Any
    record: int
    path: JsonPath


class OpencodeEntry(Struct, frozen=True):
    """A message: what opencode notes about it, and its parts."""

    info: dict[str, Any]
    parts: list[OpencodePart]


def transcript(format_name: str, entries: list[OpencodeEntry], source: Source) -> Transcript:
    beginning, compaction = _beginning(entries)
    sent = [entry for entry in entries[beginning:] if not _has_failed(entry)]
    messages: list[Message] = []
    usages: list[Usage] = []
    for entry in sent:
        is_anchor = compaction is not None and _is_of(entry.info, compaction)
        for role, blocks in _turns(entry, source):
            if is_anchor:
                blocks = [replace(block, anchors=True) for block in blocks]
            if role is Role.ASSISTANT:
                usages += _usage(len(messages), entry.info)
            messages.append(Message(len(messages), role, tuple(blocks)))
    models = [entry.info.get("modelID") for entry in sent]
    model = next((model for model in reversed(models) if isinstance(model, str) and model), None)
    return Transcript(
        format_name,
        Family.OPENAI_CHAT,
        tuple(messages),
        source,
        model=model,
        usages=tuple(usages),
        window_signs=_window_signs(entries),
    )


def _window_signs(entries: list[OpencodeEntry]) -> tuple[WindowSigns, ...]:
    """What the answers and compactions show, those too that are not sent any more."""
    signs = SignsReader()
    for entry in entries:
        for usage in _usage(0, entry.info) if entry.info.get("role") == "assistant" else ():
            signs.used(usage.model, usage.input_tokens, usage.output_tokens)
        if any(part.get("type") == "compaction" and part.get("auto") is True for part in _values(entry)):
            signs.compacted(signs.last)
    return signs.found


def _beginning(entries: list[OpencodeEntry]) -> tuple[int, str | None]:
    """Position of the first message that is sent, and the id of the request whose compaction says so."""
    finished: set[str] = set()
    for position in reversed(range(len(entries))):
        info = entries[position].info
        if info.get("role") == "user" and str(info.get("id")) in finished:
            for part in _values(entries[position]):
                if part.get("type") == "compaction":
                    kept = part.get("tail_start_id")
                    ids = [entry.info.get("id") for entry in entries[:position]]
                    return ids.index(kept) if kept in ids else position, str(info.get("id"))
        if info.get("summary") is True and info.get("finish") and not info.get("error"):
            finished.add(str(info.get("parentID")))
    return 0, None


def _is_of(info: dict[str, Any], compaction: str) -> bool:
    """Whether it is the request of the compaction, or the summary that answers it."""
    return str(info.get("id")) == compaction or (
        info.get("summary") is True and str(info.get("parentID")) == compaction
    )


def _values(entry: OpencodeEntry) -> Iterator[dict[str, Any]]:
    return (part.value for part in entry.parts if isinstance(part.value, dict))


def _has_failed(entry: OpencodeEntry) -> bool:
    """Whether an answer ended in an error. One that the user stopped is sent as far as it got."""
    error = entry.info.get("error")
    if entry.info.get("role") != "assistant" or not error:
        return False
    was_stopped = isinstance(error, dict) and error.get("name") == "MessageAbortedError"
    return not was_stopped or all(part.get("type") in ("step-start", "reasoning") for part in _values(entry))


def _turns(entry: OpencodeEntry, source: Source) -> Iterator[tuple[Role, list[Block]]]:
    role = ROLES[entry.info["role"]]
    said: list[Block] = []
    results: list[Block] = []
    for part in entry.parts:
        if isinstance(part.value, dict):
            said += as_lazy(said_blocks(part.value, part.record, part.path, role), source)
            results += as_lazy(result_blocks(part.value, part.record, part.path), source)
    if entry.info.get("summary") is True:
        said = [replace(block, summarizes=block.kind is BlockKind.TEXT) for block in said]
    if said:
        yield role, said
    if results:
        yield Role.TOOL, results


def _usage(message: int, info: dict[str, Any]) -> Iterator[Usage]:
    """The usage of an answer. That of a summary counted the messages that it takes the place of."""
    tokens = info.get("tokens")
    cache = tokens.get("cache") if isinstance(tokens, dict) else None
    numbers = [tokens.get("input")] if isinstance(tokens, dict) else []
    numbers += [cache.get("read"), cache.get("write")] if isinstance(cache, dict) else []
    yield from recorded(
        message,
        numbers,
        tokens.get("output") if isinstance(tokens, dict) else None,
        is_older=info.get("summary") is True,
        model=info.get("modelID"),
    )


def evidence(value: Any) -> Evidence:
    is_message = isinstance(value, dict) and isinstance(value.get("parts"), list)
    return Evidence.YES if is_message and _info(value).get("role") in tuple(ROLES) else Evidence.NO


def _info(value: Any) -> dict[str, Any]:
    info = value.get("info") if isinstance(value, dict) else None
    return info if isinstance(info, dict) else {}


def read(document: Document, values: Iterator[Any]) -> Transcript:
    entries = []
    for record, value in enumerate(values):
        if record in document.source.unparsed:
            continue
        if evidence(value) is Evidence.NO:
            raise not_a_message(record, value, "it has no parts, or no info with a role")
        parts = [OpencodePart(part, record, ("parts", number)) for number, part in enumerate(value["parts"])]
        entries.append(OpencodeEntry(_info(value), parts))
    return transcript("opencode", entries, document.source)


_METADATA: Final[JsonPath] = ("state", "metadata")
"""Where a tool part repeats its output for display."""


def complete(meant: Transcript, edits: RecordEdits, gone: frozenset[int], style: json_text.Style) -> None:
    repeats.shorten(meant, edits, style, _METADATA)
    if gone:
        _relink(meant, edits, gone)


def _relink(meant: Transcript, edits: RecordEdits, gone: frozenset[int]) -> None:
    """Lead an answer to the request before the one that went, and a compaction to the message after it."""
    source = meant.source
    summaries = {block.place.record for _, block in meant.blocks() if block.is_inserted}
    infos = {record: _info(_value(source, record)) for record in range(len(source.spans))}
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
        for path, kept in _kept_tails(_value(source, record)):
            first = records.get(kept)
            if first in gone:
                after = [other for other in stay if other > first]
                edits[record][path] = json.dumps(infos[after[0]].get("id")) if after else json_text.REMOVE


def _value(source: Source, record: int) -> Any:
    return None if record in source.unparsed else json_text.parse(source.raw(record))


def _kept_tails(value: Any) -> Iterator[tuple[JsonPath, str]]:
    """Where compactions name the first message that they keep."""
    parts = value.get("parts") if isinstance(value, dict) else None
    for number, part in enumerate(parts if isinstance(parts, list) else ()):
        if isinstance(part, dict) and isinstance(part.get("tail_start_id"), str):
            yield ("parts", number, "tail_start_id"), part["tail_start_id"]


_NAMES: Final = ("id", "sessionID")


def new_message(role: Role, literal: str, replaced: str) -> dict[str, str]:
    """A request of the user with the id and the time of the message that it replaces, since these give the order."""
    old = json_text.parse_text(replaced)
    info = _info(old)
    named: dict[str, Any] = {key: info[key] for key in _NAMES if key in info}
    time, model = info.get("time"), info.get("model")
    answered_by = {"providerID": info.get("providerID") or "", "modelID": info.get("modelID") or ""}
    new: dict[str, Any] = {
        **named,
        "role": "user",
        "time": {"created": time.get("created", 0) if isinstance(time, dict) else 0},
        "agent": info.get("agent") or info.get("mode") or "build",
        "model": model if isinstance(model, dict) else answered_by,
    }
    part = {"id": _first_part(old["parts"]), "sessionID": info.get("sessionID"), "messageID": info.get("id")}
    members = json.dumps({**{key: value for key, value in part.items() if value is not None}, "type": "text"})
    return {"info": json.dumps(new), "parts": f'[{members[:-1]}, "text": {literal}}}]'}


def _first_part(parts: list[Any]) -> Any:
    return next((part["id"] for part in parts if isinstance(part, dict) and "id" in part), None)


FORMAT = Format(
    "opencode",
    Family.OPENAI_CHAT,
    "opencode exports (opencode export)",
    evidence,
    read,
    complete=complete,
    display=lambda meant: repeats.display_values(meant, _METADATA),
    new_message=new_message,
    summary_role=Role.USER,
)


def event_evidence(value: Any) -> Evidence:
    if not isinstance(value, list) or len(value) < 2 or not isinstance(value[0], str) or not isinstance(value[1], dict):
        return Evidence.NO
    return Evidence.YES if value[0] == "event" and _event(value) else Evidence.MAYBE


def _event(value: list[Any]) -> dict[str, Any]:
    """The properties of an event, with its type."""
    event = value[1].get("event")
    properties = event.get("properties") if isinstance(event, dict) else None
    if not isinstance(properties, dict) or not isinstance(event.get("type"), str):
        return {}
    return {**properties, "type": event["type"]}


def read_events(document: Document, values: Iterator[Any]) -> Transcript:
    log = _Log()
    for record, value in enumerate(values):
        if event_evidence(value) is not Evidence.NO:
            log.take(record, value)
    entries = log.entries()
    if not entries:
        raise UnknownFormatError("It holds no message.", "Name a log in which an opencode plugin recorded some.")
    return replace(
        transcript("opencode-events", entries, document.source),
        envelope="\n".join(log.envelope.values()),
        unknown=tuple(log.unknown.items()),
    )


_PROMPT: Final = "system prompt"


class _Log:
    """Messages and parts by their ids, in the order in which they first came."""

    def __init__(self) -> None:
        self._session: str | None = None
        self._infos: dict[str, dict[str, Any]] = {}
        self._parts: dict[str, dict[str, OpencodePart]] = {}
        self.envelope: dict[str, str] = {}
        """What is sent with every request: the description of each tool, and the system prompt."""
        self.unknown = Tally[str]()

    def take(self, record: int, value: list[Any]) -> None:
        hook, given = value[0], value[2] if len(value) > 2 else None
        if hook == "event":
            self._event(_event(value), record)
        elif hook == "chat.message" and isinstance(given, dict):
            self._message(given.get("message"))
            parts = given.get("parts")
            for number, part in enumerate(parts if isinstance(parts, list) else ()):
                self._part(part, record, (2, "parts", number))
        elif hook == "tool.definition" and isinstance(given, dict):
            # The schema beside it is that of opencode's own library, many times as long as what is sent.
            self.envelope[str(value[1].get("toolID"))] = str(given.get("description"))
        elif hook == "experimental.chat.system.transform" and isinstance(given, dict):
            system = given.get("system")
            texts = system if isinstance(system, list) else []
            prompt = "\n".join(text for text in texts if isinstance(text, str))
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
            self._infos.pop(str(event.get("messageID")), None)
        elif kind == "message.part.removed":
            self._parts.get(str(event.get("messageID")), {}).pop(str(event.get("partID")), None)
        elif str(kind).startswith("message.") and kind != "message.part.delta":
            self.unknown[f"event {kind}"] += 1

    def _is_ours(self, session: Any) -> bool:
        if self._session is None and isinstance(session, str):
            self._session = session
        return bool(session == self._session)

    def _message(self, info: Any) -> None:
        is_message = isinstance(info, dict) and isinstance(info.get("id"), str) and info.get("role") in tuple(ROLES)
        if is_message and self._is_ours(info.get("sessionID")):
            self._infos[info["id"]] = info
        elif not is_message:
            self.unknown["message without an id or a role"] += 1

    def _part(self, part: Any, record: int, path: JsonPath) -> None:
        if isinstance(part, dict) and isinstance(part.get("id"), str):
            parts = self._parts.setdefault(str(part.get("messageID")), {})
            parts[part["id"]] = OpencodePart(part, record, path)
        else:
            self.unknown["part without an id"] += 1

    def entries(self) -> list[OpencodeEntry]:
        return [
            OpencodeEntry(info, list(self._parts.get(message_id, {}).values()))
            for message_id, info in self._infos.items()
        ]


EVENTS = Format(
    "opencode-events",
    Family.OPENAI_CHAT,
    "Logs of opencode plugins, read-only",
    event_evidence,
    read_events,
    is_writable=False,
)
