"""Sessions of pi (`~/.pi/agent/sessions/*/*.jsonl`) and Oh My Pi: a header, then entries that form a tree.

{"type": "session", "version": 3, "id", "timestamp", "cwd"}
{"type": "message" | "compaction" | "branch_summary" | "custom_message" | ..., "id", "parentId", "timestamp", ...}

The conversation is the path to the last entry. A compaction comes on the path behind what it kept: sent is its summary,
then the entries from the first one that it kept on, then what follows it. Version 1 has neither ids nor branches: its
entries form a line. https://github.com/badlogic/pi-mono/blob/main/packages/coding-agent/docs/session.md
https://github.com/badlogic/pi-mono/blob/main/packages/coding-agent/src/core/session-manager.ts (buildSessionContext)

A new summary is an entry `branch_summary`: what pi writes when it goes back to an earlier entry and sums up the branch
that it leaves. The entries that it replaces stay in the file, off the path to the last entry. (pi sends a compaction
first, so it cannot replace what follows the first request. One that is summarized again is left for a new one at the
end.) In version 1 the summary is a message, and what it replaces goes.
https://github.com/badlogic/pi-mono/blob/main/packages/coding-agent/src/core/session-manager.ts (branchWithSummary)
"""

from __future__ import annotations

import json
from collections import Counter as Tally
from collections.abc import Iterator, Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from ..core import json_text
from ..core.json_text import object_in, value_in
from ..core.transcript import Block, JsonPath, Message, Place, Source, Transcript
from ..core.values import BlockKind, Container, Family, Role, Usage
from .engine import client_text
from .engine.base import Evidence, Format, RecordEdits, Rewrite, derived_uuid, recorded, records_of
from .engine.blocks import attachment_block, call_block, image_block, of_call, text_block
from .engine.container import Document, as_lazy
from .engine.writing import gone_records, join, not_reached, parents_exist, surviving

_TYPES: Final = frozenset({
    "message", "compaction", "branch_summary", "custom_message", "model_change", "thinking_level_change", "custom",
    "label", "session_info",
})  # fmt: skip
_ROLES: Final = {"user": Role.USER, "assistant": Role.ASSISTANT, "toolResult": Role.TOOL}
_OTHERS: Final = ("bashExecution", "branchSummary", "compactionSummary", "custom", "hookMessage")
"""Further roles of messages."""
_SUMMARIES: Final = ("compaction", "branch_summary")


class _Entry(Struct, frozen=True):
    record: int
    value: dict[str, Any]

    @property
    def id(self) -> str | None:
        return self.string("id")

    @property
    def parent(self) -> str | None:
        return self.string("parentId")

    @property
    def is_compaction(self) -> bool:
        return self.value.get("type") == "compaction"

    def string(self, key: str) -> str | None:
        found = self.value.get(key)
        return found if isinstance(found, str) else None


def _entries(source: Source) -> list[_Entry]:
    return [_Entry(record, value) for record, value in records_of(source) if isinstance(value, dict)]


def _is_tree(entries: Sequence[_Entry]) -> bool:
    """Return whether the entries have ids, as those of version 2 and later have."""
    return any("parentId" in entry.value for entry in entries)


def _path(entries: Sequence[_Entry]) -> list[_Entry]:
    """Return the entries from the root to the last one, without the header."""
    found = [entry for entry in entries if entry.value.get("type") != "session"]
    if not found or not _is_tree(entries):
        return found
    named = {entry.id: entry for entry in found if entry.id is not None}
    upwards: list[_Entry] = []
    at: _Entry | None = found[-1]
    seen: set[int] = set()
    while at is not None and at.record not in seen:
        seen.add(at.record)
        upwards.append(at)
        at = named.get(at.parent) if at.parent is not None else None
    return upwards[::-1]


def _sent(entries: Sequence[_Entry]) -> list[_Entry]:
    """Return the entries of the path that may be sent, in the order in which they are."""
    path = _path(entries)
    newest = max((position for position, entry in enumerate(path) if entry.is_compaction), default=None)
    if newest is None:
        return path
    compaction, earlier = path[newest], path[:newest]
    index, kept = compaction.value.get("firstKeptEntryIndex"), compaction.string("firstKeptEntryId")
    first = newest  # It kept none.
    if isinstance(index, int) and not _is_tree(entries):
        records = [entry.record for entry in earlier]
        record = entries[index].record if 0 < index < len(entries) else -1
        first = records.index(record) if record in records else newest
    elif kept is not None and kept in (ids := [entry.id for entry in earlier]):
        first = ids.index(kept)
    # Of older compactions nothing is sent, wherever they are.
    rest = [entry for entry in (*path[first:newest], *path[newest + 1 :]) if not entry.is_compaction]
    return [compaction, *rest]


def evidence(value: Any) -> Evidence:
    if not isinstance(value, dict):
        return Evidence.NO
    if value.get("type") == "title" and isinstance(value.get("updatedAt"), str):
        return Evidence.MAYBE  # Oh My Pi, a fork, writes it before the header.
    if not isinstance(value.get("timestamp"), str):
        return Evidence.NO
    if value.get("type") == "session":
        # Session traces, which name the agent, have such a header as well, but no version of pi's format.
        is_own = "harness" not in value or isinstance(value.get("version"), int)
        return Evidence.YES if isinstance(value.get("id"), str) and "cwd" in value and is_own else Evidence.NO
    return Evidence.MAYBE if value.get("type") in tuple(_TYPES) else Evidence.NO


def _read(document: Document, values: Iterator[Any]) -> Transcript:
    entries = [
        _Entry(record, value)
        for record, value in enumerate(values)
        if record not in document.source.unparsed and isinstance(value, dict)
    ]
    unknown = Tally(f"entry {kind}" for kind in map(_unknown, entries) if kind)
    turns: list[tuple[Role, list[Block]]] = []
    model = None
    usages: list[Usage] = []
    sent = _sent(entries)
    compaction = sent[0] if sent and sent[0].is_compaction else None
    for entry in sent:
        message = entry.value.get("message") if entry.value.get("type") == "message" else None
        for role, found in _turn(entry.record, entry.value):
            blocks = as_lazy(found, document.source)
            if role is Role.TOOL and turns and turns[-1][0] is Role.TOOL:
                turns[-1][1].extend(blocks)
                continue
            if role is Role.ASSISTANT and isinstance(message, dict):
                model = message["model"] if isinstance(message.get("model"), str) else model
                usage = object_in(message, "usage")
                numbers = [usage.get(key) for key in ("input", "cacheRead", "cacheWrite")]
                is_older = compaction is not None and _is_older(entry, compaction)
                usages += recorded(len(turns), numbers, usage.get("output"), is_older=is_older, model=model)
            if blocks:  # An empty message is not sent.
                turns.append((role, blocks))
    broken_at = _broken_at(entries, sent)
    warnings: tuple[str, ...] = ()
    if broken_at is not None:
        earlier = sum(entry.record < broken_at and entry.value.get("type") == "message" for entry in entries)
        warnings = not_reached(broken_at, "parentId", earlier)
    return Transcript(
        "pi",
        Family.OPENAI_CHAT,
        tuple(Message(index, role, tuple(blocks)) for index, (role, blocks) in enumerate(turns)),
        document.source,
        model=model,
        begins_in_middle=broken_at is not None,
        usages=tuple(usages),
        unknown=tuple(unknown.items()),
        warnings=warnings,
    )


def _unknown(entry: _Entry) -> str:
    """Name the kind of an entry that is not known; empty for one that is."""
    kind, message = entry.value.get("type"), entry.value.get("message")
    if kind in _SUMMARIES and entry.string("summary") is None:
        return f"{kind} without a summary"
    if kind != "message":
        return "" if kind in ("session", "title", "leaf", *_TYPES) else str(kind)
    role = value_in(message, "role")
    return "" if role in (*_ROLES, *_OTHERS) else f"message of {role}"


def _broken_at(entries: list[_Entry], sent: list[_Entry]) -> int | None:
    """Return the record of the path's first entry if it hangs on a missing one from which on messages would be sent.

    What a compaction left out may be missing, but not the first entry that it kept.
    """
    if not sent or not _is_tree(entries):
        return None
    path = _path(entries)
    kept = sent[0].value.get("firstKeptEntryId") if sent[0].is_compaction else None
    is_whole = sent[0].is_compaction and (kept is None or any(entry.id == kept for entry in path))
    return None if is_whole or path[0].value.get("parentId", 0) is None else path[0].record


def _is_older(entry: _Entry, compaction: _Entry) -> bool:
    """Return whether an entry is older than the compaction. Copies of older entries follow it and keep their times."""
    times = [str(each.value.get("timestamp") or "") for each in (entry, compaction)]
    return entry.record < compaction.record or (times[0] != "" and times[0] <= times[1])


def _turn(record: int, value: dict[str, Any]) -> Iterator[tuple[Role, Iterator[Block]]]:
    """Yield role and blocks of an entry; nothing for one that is not sent."""
    kind, message = value.get("type"), value.get("message")
    if kind in _SUMMARIES and isinstance(value.get("summary"), str):
        yield Role.USER, iter([text_block(value["summary"], record, ("summary",), injected=True, summarizes=True)])
    elif kind == "custom_message":
        yield Role.USER, _injected(_content(value.get("content"), record, ("content",)))
    elif kind == "message" and isinstance(message, dict):
        role, path = message.get("role"), ("message", "content")
        if role == "bashExecution":
            if message.get("excludeFromContext") is not True:
                yield Role.USER, _command(message, record)
        elif role in ("custom", "hookMessage"):
            yield Role.USER, _injected(_content(message.get("content"), record, path))
        elif role == "assistant" and message.get("stopReason") in ("error", "aborted"):
            return  # Not sent again: it may be cut off anywhere.
        elif role == "toolResult":
            yield Role.TOOL, _result(message, record, path)
        elif isinstance(role, str) and role in _ROLES:
            yield _ROLES[role], _content(message.get("content"), record, path, is_user=role == "user")


def _injected(blocks: Iterator[Block]) -> Iterator[Block]:
    return (replace(block, injected=True) for block in blocks)


def _command(message: dict[str, Any], record: int) -> Iterator[Block]:
    """Yield a command that the user ran, and what it printed; pi sends both as a message of the user."""
    said, owner = f"Ran `{message.get('command')}`", ("message",)
    place = Place(record, ("message", "command"))
    yield Block(BlockKind.OPAQUE, place, owner, content=said, api_type="bashExecution", is_readable=True)
    output = message.get("output")
    if isinstance(output, str) and output:
        path = ("message", "output")
        yield text_block(output, record, path, owner, kind=BlockKind.TOOL_RESULT, tool="bash", injected=True)


def _result(message: dict[str, Any], record: int, path: JsonPath) -> Iterator[Block]:
    failed = message.get("isError") is True
    common = of_call(message.get("toolCallId"), {}, message.get("toolName"), is_error=failed)
    blocks = list(_content(message.get("content"), record, path))
    for block in blocks or [text_block("", record, path)]:
        kind = BlockKind.TOOL_RESULT if block.kind is BlockKind.TEXT else block.kind
        yield replace(block, kind=kind, owner=("message",), **common)


def _content(content: Any, record: int, path: JsonPath, *, is_user: bool = False) -> Iterator[Block]:
    if isinstance(content, str):
        yield text_block(content, record, path, is_user=is_user)
    for number, part in enumerate(content if isinstance(content, list) else ()):
        yield _part(part, record, (*path, number), is_user)


def _part(part: Any, record: int, owner: JsonPath, is_user: bool) -> Block:
    kind = value_in(part, "type")
    if kind == "text" and isinstance(part.get("text"), str):
        return text_block(part["text"], record, (*owner, "text"), owner, is_user=is_user)
    if kind == "thinking" and isinstance(part.get("thinking"), str):
        text, signature = part["thinking"], part.get("thinkingSignature")
        encrypted = _encrypted(signature)
        if encrypted is not None:
            text, signature = "", encrypted  # What is shown is a summary, which is not sent.
        estimate = 0 if text else client_text.encrypted_thinking(signature)
        return Block(BlockKind.THINKING, Place(record, (*owner, "thinking")), owner, content=text, estimate=estimate)
    if kind == "toolCall" and isinstance(part.get("id"), str) and "arguments" in part:
        return call_block(part, record, owner, {})
    if kind == "image":
        return image_block(part.get("data"), record, owner)
    return attachment_block(part, record, owner)


def _encrypted(signature: Any) -> str | None:
    """Return the encrypted text of a reasoning item of OpenAI's, which pi keeps as JSON; None for other signatures."""
    if not isinstance(signature, str) or not signature.startswith("{"):
        return None
    try:
        item = json_text.parse_text(signature)
    except (ValueError, RecursionError):
        return None
    is_item = isinstance(item, dict) and item.get("type") == "reasoning"
    return str(item.get("encrypted_content") or "") if is_item else None


def _going(transcript: Transcript, gone: frozenset[int]) -> frozenset[int]:
    """Keep the last entry of a tree, empty if need be: it leads to all others."""
    source = transcript.source
    records = [record for record in range(len(source.spans)) if record not in source.unparsed]
    has_parent = bool(records) and b'"parentId"' in source.raw(records[-1])
    return gone - frozenset(records[-1:]) if has_parent else gone


def _complete(transcript: Transcript, edits: RecordEdits, gone: frozenset[int], style: json_text.Style) -> None:
    """Lead links past entries that go. Version 1 names entries by their numbers in the file: count these anew."""
    if not gone:
        return
    entries = _entries(transcript.source)
    if _is_tree(entries):
        if not transcript.has_new_summary:
            _relink(entries, edits, gone)
        return
    for entry in entries:
        index = entry.value.get("firstKeptEntryIndex")
        if isinstance(index, int) and entry.record not in gone:
            before = sum(other.record in gone for other in entries[: max(0, index)])
            if before:
                edits[entry.record]["firstKeptEntryIndex",] = str(index - before)


def _relink(entries: list[_Entry], edits: RecordEdits, gone: frozenset[int]) -> None:
    parents = {entry.id: entry.parent for entry in entries if entry.record in gone and entry.id is not None}
    for position, entry in enumerate(entries):
        if entry.record in gone:
            continue
        if entry.parent in parents:
            edits[entry.record]["parentId",] = json.dumps(surviving(entry.parent, parents))
        kept = entry.string("firstKeptEntryId")
        if kept is not None and kept in parents:
            ids = [other.id for other in _path(entries[: position + 1])]
            kept_ids = ids[ids.index(kept) :] if kept in ids else ids[-1:]
            left = [entry_id for entry_id in kept_ids if entry_id not in parents]
            edits[entry.record]["firstKeptEntryId",] = json.dumps(left[0])
        origin = entry.string("fromId")
        if origin is not None and origin in parents:
            edits[entry.record]["fromId",] = json.dumps(surviving(origin, parents) or "root")


def _write(rewrite: Rewrite) -> bytes:
    source = rewrite.transcript.source
    entries = _entries(source)
    inserted = [message.blocks[0] for message in rewrite.transcript.messages if message.is_inserted]
    if _is_tree(entries):
        return _Branch(rewrite, entries, inserted).data()
    changed = {record for record, edits in rewrite.edits.items() if edits}
    texts = {record: rewrite.record(record) for record in changed - rewrite.gone}
    for block in inserted:
        old = json_text.decode(source.raw(block.place.record))
        value, literal = json_text.parse_text(old), rewrite.style.literal(block.text)
        if value.get("type") == "compaction":
            text = json_text.splice(old, {("summary",): literal})
        else:
            message = f'{{"role":"user","content":[{{"type":"text","text":{literal}}}]}}'
            time = json.dumps(value.get("timestamp"))
            text = json_text.object_like(old, {"type": '"message"', "timestamp": time, "message": message})
        texts[block.place.record] = text
    return join(source, texts, lambda record: json_text.encode(texts[record]), rewrite.gone)


class _Branch:
    """Write the path anew: what stays on it is linked around what leaves it, with the summaries in between."""

    def __init__(self, rewrite: Rewrite, entries: list[_Entry], summaries: Sequence[Block]) -> None:
        self._rewrite = rewrite
        self._path = _path(entries)
        self._ids = {entry.id for entry in entries}
        self._summaries = {block.place.record: block.text for block in summaries}
        self._again = next((entry for entry in self._path if entry.is_compaction and self._is_new(entry)), None)
        """The compaction that is summarized again."""

        self._leaving = set(gone_records(rewrite.transcript)) | ({self._again.record} if self._again else set())
        self._lines: list[tuple[int, str]] = []
        """New entries, each with the record that it comes behind in the file."""

        self._edits: dict[int, dict[JsonPath, str | None]] = {}
        self._ahead: dict[str | None, str | None] = {}
        """Ids that replace old ids on the path: the same one if its entry stays, otherwise the next one."""

    def _is_new(self, entry: _Entry) -> bool:
        return entry.record in self._summaries

    def data(self) -> bytes:
        last = self._path[-1]
        staying = [entry for entry in self._path if entry.record not in self._leaving]
        # The last entry in the file is the end of the path: it may leave only where a new one comes behind it.
        if not self._again and not (staying and self._is_new(staying[-1])):
            self._leaving.discard(last.record)
        self._link()
        staying_records = {record for record, edits in self._rewrite.edits.items() if edits} - self._leaving
        texts = {
            record: self._rewrite.record(record, self._edits.get(record))
            for record in (staying_records | self._edits.keys()) - self._summaries.keys()
        }
        source = self._rewrite.transcript.source
        between = "\n" if source.container is Container.LINES else ","
        for record, line in self._lines:
            texts[record] = texts.get(record, json_text.decode(source.raw(record))) + between + line
        return join(source, texts, lambda record: json_text.encode(texts[record]), frozenset())

    def _link(self) -> None:
        above, end = self._path[0].parent, self._path[-1].record
        waiting: list[str | None] = []
        for entry in self._path:
            waiting.append(entry.id)
            if entry.record in self._leaving:
                continue
            if self._is_new(entry):
                text, origin = self._summaries[entry.record], above or "root"
                value = {"type": "branch_summary", "parentId": above, "fromId": origin, "summary": text}
                above = self._add(value, entry, entry.record)
            else:
                edits: dict[JsonPath, str | None] = {}
                if entry.parent != above:
                    edits["parentId",] = json.dumps(above)
                kept = entry.string("firstKeptEntryId")
                if kept is not None and self._ahead.get(kept, kept) != kept:
                    edits["firstKeptEntryId",] = json.dumps(self._ahead[kept])
                if edits:
                    self._edits[entry.record] = edits
                above = entry.id
            self._ahead |= dict.fromkeys(waiting, above)
            waiting = []
        if self._again:
            self._compaction(self._again, above, end)
        elif self._lines and end in self._leaving | self._summaries.keys():
            self._lines[-1] = (end, self._lines[-1][1])

    def _compaction(self, old: _Entry, above: str | None, end: int) -> None:
        """Add a compaction behind all that stays, which keeps what the old one kept or came before."""
        value = {
            "type": "compaction",
            "parentId": above,
            "summary": self._summaries[old.record],
            "tokensBefore": old.value.get("tokensBefore", 0),
        }
        kept = old.value.get("firstKeptEntryId")
        ids = [entry.id for entry in self._path]
        first = ids[ids.index(kept)] if kept in ids else old.id
        self._add(value | {"firstKeptEntryId": self._ahead.get(first)}, old, end)

    def _add(self, value: dict[str, Any], old: _Entry, behind: int) -> str:
        """Add an entry and return its id: eight digits, as pi makes them, that no other entry has."""
        number = 0
        while (new_id := derived_uuid(value["summary"], str(old.id), str(number))[:8]) in self._ids:
            number += 1
        self._ids.add(new_id)
        if value["type"] == "compaction" and value["firstKeptEntryId"] is None:
            value["firstKeptEntryId"] = new_id
        value = {"type": value.pop("type"), "id": new_id, "timestamp": old.value.get("timestamp"), **value}
        self._lines.append((behind, self._rewrite.style.dump(value)))
        return new_id


FORMAT: Final = Format(
    "pi",
    Family.OPENAI_CHAT,
    "pi session file (~/.pi/agent/sessions/*/*.jsonl)",
    evidence,
    _read,
    rules=(parents_exist("parentId"),),
    complete=_complete,
    going=_going,
    compaction=_write,
    summary_role=Role.USER,
)
