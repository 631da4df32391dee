"""Sessions of pi (`~/.pi/agent/sessions/*/*.jsonl`) and Oh My Pi: a header, then entries that form a tree.

A compaction stands on the path behind what it kept; what is sent is its summary, then the entries from the first
one that it kept on, then what follows it.
https://github.com/badlogic/pi-mono/blob/main/packages/coding-agent/src/core/session-manager.ts (buildSessionContext)

A summary in place of a stretch of the conversation is an entry `branch_summary`: what pi writes when it goes back to
an earlier entry and sums up the branch that it leaves. The entries that it stands for stay in the file, off the path to
the last entry. (A compaction of pi always comes first in what it sends, so it cannot stand behind the first request.
One that is summarized again is left for a new one at the end.) Version 1 has neither ids nor branches: there the
summary is a message, and what it stands for goes.
https://github.com/badlogic/pi-mono/blob/main/packages/coding-agent/src/core/session-manager.ts (branchWithSummary)

{"type": "session", "version": 3, "id", "timestamp", "cwd"}
    {"type": "message" | "compaction" | "branch_summary" | "custom_message" | ..., "id", "parentId", "timestamp", ...}

The conversation is the path to the last entry (`path`). Version 1 has no ids: its entries form a line.
https://github.com/badlogic/pi-mono/blob/main/packages/coding-agent/docs/session.md
"""

from __future__ import annotations

import json
from collections import Counter as Tally
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from ..core import json_text
from ..core.transcript import Block, JsonPath, Message, Place, Source, Transcript
from ..core.values import BlockKind, Container, Family, Role, Usage
from .anthropic import attachment_block
from .engine import client_text
from .engine.base import Evidence, Format, RecordEdits, Rewrite, derived_uuid, recorded
from .engine.client_text import is_injected
from .engine.container import Document, as_lazy
from .engine.writing import gone_records, join, not_reached, parents_exist


class PiEntry(Struct, frozen=True):
    record: int
    value: dict[str, Any]

    @property
    def id(self) -> str | None:
        return self._string("id")

    @property
    def parent(self) -> str | None:
        return self._string("parentId")

    @property
    def is_compaction(self) -> bool:
        return self.value.get("type") == "compaction"

    def _string(self, key: str) -> str | None:
        found = self.value.get(key)
        return found if isinstance(found, str) else None


def is_tree(entries: Sequence[PiEntry]) -> bool:
    """Whether the entries have ids, as those of version 2 and later have."""
    return any("parentId" in entry.value for entry in entries)


def path(entries: Sequence[PiEntry]) -> list[PiEntry]:
    """The entries from the root to the last one, without the header."""
    found = [entry for entry in entries if entry.value.get("type") != "session"]
    if not found or not is_tree(entries):
        return found
    named = {entry.id: entry for entry in found if entry.id is not None}
    upwards: list[PiEntry] = []
    at: PiEntry | None = found[-1]
    seen: set[int] = set()
    while at is not None and at.record not in seen:
        seen.add(at.record)
        upwards.append(at)
        at = named.get(at.parent) if at.parent is not None else None
    return upwards[::-1]


def sent(entries: Sequence[PiEntry]) -> list[PiEntry]:
    """The entries of the path that may be sent, in the order in which they are."""
    on_path = path(entries)
    newest = max((position for position, entry in enumerate(on_path) if entry.is_compaction), default=None)
    if newest is None:
        return on_path
    compaction = on_path[newest]
    kept = on_path[first_kept(on_path, newest, entries) : newest]
    # Of older compactions nothing is sent, wherever they stand.
    rest = [entry for entry in (*kept, *on_path[newest + 1 :]) if not entry.is_compaction]
    return [compaction, *rest]


def first_kept(on_path: Sequence[PiEntry], newest: int, entries: Sequence[PiEntry]) -> int:
    """Position on the path of the first entry that a compaction kept; its own position where it kept none."""
    value = on_path[newest].value
    index = value.get("firstKeptEntryIndex")
    if isinstance(index, int) and not is_tree(entries):
        records = [entry.record for entry in on_path[:newest]]
        record = entries[index].record if 0 < index < len(entries) else -1
        return records.index(record) if record in records else newest
    ids = [entry.id for entry in on_path[:newest]]
    kept = value.get("firstKeptEntryId")
    return ids.index(kept) if isinstance(kept, str) and kept in ids else newest


def fixed(transcript: Transcript) -> frozenset[int]:
    """The last entry of a tree stays, empty if need be: it is what leads to all others."""
    records = list(_records(transcript.source))
    has_parents = any(b'"parentId"' in transcript.source.view(record).tobytes() for record in records[-1:])
    return frozenset(records[-1:]) if has_parents else frozenset()


def complete(transcript: Transcript, edits: RecordEdits, gone: frozenset[int], style: json_text.Style) -> None:
    """Lead links past entries that go, and count anew what version 1 names by its number in the file."""
    if not gone:
        return
    entries = _entries(transcript.source)
    if is_tree(entries):
        if not transcript.has_new_summary:
            _relink(entries, edits, gone)
        return
    for entry in entries:
        index = entry.value.get("firstKeptEntryIndex")
        if isinstance(index, int) and entry.record not in gone:
            before = sum(other.record in gone for other in entries[: max(0, index)])
            if before:
                edits[entry.record]["firstKeptEntryIndex",] = str(index - before)


def _records(source: Source) -> Iterator[int]:
    return (record for record in range(len(source.spans)) if record not in source.unparsed)


def _entries(source: Source) -> list[PiEntry]:
    values = ((record, json_text.parse(source.raw(record))) for record in _records(source))
    return [PiEntry(record, value) for record, value in values if isinstance(value, dict)]


def _relink(entries: list[PiEntry], edits: RecordEdits, gone: frozenset[int]) -> None:
    parents = {entry.id: entry.parent for entry in entries if entry.record in gone and entry.id is not None}
    for position, entry in enumerate(entries):
        if entry.record in gone:
            continue
        if entry.parent in parents:
            edits[entry.record]["parentId",] = json.dumps(_surviving(entry.parent, parents))
        kept = entry.value.get("firstKeptEntryId")
        if isinstance(kept, str) and kept in parents:
            ids = [other.id for other in path(entries[: position + 1])]
            kept_ids = ids[ids.index(kept) :] if kept in ids else ids[-1:]
            left = [entry_id for entry_id in kept_ids if entry_id not in parents]
            edits[entry.record]["firstKeptEntryId",] = json.dumps(left[0])
        origin = entry.value.get("fromId")
        if isinstance(origin, str) and origin in parents:
            edits[entry.record]["fromId",] = json.dumps(_surviving(origin, parents) or "root")


def _surviving(record_id: str | None, parents: Mapping[str, str | None]) -> str | None:
    seen = set()
    while record_id is not None and record_id in parents and record_id not in seen:
        seen.add(record_id)
        record_id = parents[record_id]
    return None if record_id in seen else record_id


def write(rewrite: Rewrite) -> bytes:
    source = rewrite.transcript.source
    entries = _entries(source)
    inserted = [(message.role, message.blocks[0]) for message in rewrite.transcript.messages if message.is_inserted]
    if is_tree(entries):
        return _Branch(rewrite, entries, [block for _, block in inserted]).data()
    changed = {record for record, edits in rewrite.edits.items() if edits}
    texts = {record: rewrite.record(record) for record in changed - rewrite.gone}
    for _, block in inserted:
        texts[block.place.record] = _in_line(rewrite, block)
    return join(source, texts, lambda record: json_text.encode(texts[record]), rewrite.gone)


def _in_line(rewrite: Rewrite, block: Block) -> str:
    """The entry that takes the place of another one in version 1."""
    old = json_text.decode(rewrite.transcript.source.raw(block.place.record))
    value, literal = json_text.parse_text(old), rewrite.style.literal(block.text)
    if value.get("type") == "compaction":
        return json_text.splice(old, {("summary",): literal})
    message = f'{{"role":"user","content":[{{"type":"text","text":{literal}}}]}}'
    return json_text.object_like(
        old, {"type": '"message"', "timestamp": json.dumps(value.get("timestamp")), "message": message}
    )


class _Branch:
    """The path anew: what stays on it is linked around what leaves it, with the summaries in between."""

    def __init__(self, rewrite: Rewrite, entries: list[PiEntry], summaries: Sequence[Block]) -> None:
        self._rewrite = rewrite
        self._path = path(entries)
        self._ids = {entry.id for entry in entries}
        self._summaries = {block.place.record: block for block in summaries}
        self._again = next((entry for entry in self._path if entry.is_compaction and self._is_new(entry)), None)
        """The compaction that is summarized again."""

        self._leaving = set(gone_records(rewrite.transcript)) | ({self._again.record} if self._again else set())
        self._lines: list[tuple[int, str]] = []
        """New entries, each with the record that it comes behind in the file."""

        self._edits: dict[int, dict[JsonPath, str | None]] = {}
        self._ahead: dict[str | None, str | None] = {}
        """For each old id on the path the id that stands there now, or comes next."""

    def _is_new(self, entry: PiEntry) -> bool:
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
                above = self._summary(entry, above)
            else:
                edits = self._edits_of(entry, above)
                if edits:
                    self._edits[entry.record] = edits
                above = entry.id
            self._ahead |= dict.fromkeys(waiting, above)
            waiting = []
        if self._again:
            self._compaction(self._again, above, end)
        elif self._lines and end in self._leaving | self._summaries.keys():
            self._lines[-1] = (end, self._lines[-1][1])

    def _edits_of(self, entry: PiEntry, above: str | None) -> dict[JsonPath, str | None]:
        """Edits to an entry that stays on the path."""
        edits: dict[JsonPath, str | None] = {}
        if entry.parent != above:
            edits["parentId",] = json.dumps(above)
        kept = entry.value.get("firstKeptEntryId")
        if isinstance(kept, str) and self._ahead.get(kept, kept) != kept:
            edits["firstKeptEntryId",] = json.dumps(self._ahead[kept])
        return edits

    def _summary(self, entry: PiEntry, above: str | None) -> str:
        text = self._summaries[entry.record].text
        return self._new(
            {"type": "branch_summary", "parentId": above, "fromId": above or "root", "summary": text},
            entry,
            entry.record,
        )

    def _compaction(self, old: PiEntry, above: str | None, end: int) -> None:
        """A compaction behind all that stays, which keeps what the old one kept or came before."""
        value = {
            "type": "compaction",
            "parentId": above,
            "summary": self._summaries[old.record].text,
            "tokensBefore": old.value.get("tokensBefore", 0),
        }
        kept = old.value.get("firstKeptEntryId")
        ids = [entry.id for entry in self._path]
        first = ids[ids.index(kept)] if kept in ids else old.id
        self._new(value | {"firstKeptEntryId": self._ahead.get(first)}, old, end)

    def _new(self, value: dict[str, Any], old: PiEntry, behind: int) -> str:
        """Add an entry with an id of eight digits, as pi makes them, that no other has."""
        number = 0
        while (new_id := derived_uuid(value["summary"], str(old.id), str(number))[:8]) in self._ids:
            number += 1
        self._ids.add(new_id)
        if value["type"] == "compaction" and value["firstKeptEntryId"] is None:
            value["firstKeptEntryId"] = new_id
        value = {"type": value.pop("type"), "id": new_id, "timestamp": old.value.get("timestamp"), **value}
        self._lines.append((behind, self._rewrite.style.dump(value)))
        return new_id


_TYPES: Final = frozenset({
    "message", "compaction", "branch_summary", "custom_message", "model_change", "thinking_level_change", "custom",
    "label", "session_info",
})  # fmt: skip
_ROLES: Final = {"user": Role.USER, "assistant": Role.ASSISTANT, "toolResult": Role.TOOL}
_OTHERS: Final = ("bashExecution", "branchSummary", "compactionSummary", "custom", "hookMessage")
"""Further roles of messages."""
_TEXT_OF_SUMMARY: Final = "summary"


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


def read(document: Document, values: Iterator[Any]) -> Transcript:
    entries = [
        PiEntry(record, value)
        for record, value in enumerate(values)
        if record not in document.source.unparsed and isinstance(value, dict)
    ]
    unknown = Tally(f"entry {kind}" for kind in map(_unknown, entries) if kind)
    turns: list[tuple[Role, list[Block]]] = []
    model = None
    usages: list[Usage] = []
    sent_entries = sent(entries)
    broken_at = _broken_at(entries, sent_entries)
    compaction = sent_entries[0] if sent_entries and sent_entries[0].is_compaction else None
    for entry in sent_entries:
        message = entry.value.get("message") if entry.value.get("type") == "message" else None
        for role, found in _turn(entry.record, entry.value):
            blocks = list(as_lazy(found, document.source))
            if role is Role.TOOL and turns and turns[-1][0] is Role.TOOL:
                turns[-1][1].extend(blocks)
                continue
            if role is Role.ASSISTANT and isinstance(message, dict):
                model = message["model"] if isinstance(message.get("model"), str) else model
                usages += _usage(len(turns), message.get("usage"), model, is_older=_is_older(entry, compaction))
            if blocks:  # An empty message is not sent.
                turns.append((role, blocks))
    messages = tuple(Message(index, role, tuple(blocks)) for index, (role, blocks) in enumerate(turns))
    return Transcript(
        "pi",
        Family.OPENAI_CHAT,
        messages,
        document.source,
        model=model,
        begins_in_middle=broken_at is not None,
        usages=tuple(usages),
        unknown=tuple(unknown.items()),
        warnings=() if broken_at is None else _not_reached(entries, broken_at),
    )


def _unknown(entry: PiEntry) -> str:
    """The kind of an entry that nobody knows; empty for one that is known."""
    kind, message = entry.value.get("type"), entry.value.get("message")
    if kind in ("compaction", "branch_summary") and not isinstance(entry.value.get(_TEXT_OF_SUMMARY), str):
        return f"{kind} without a summary"
    if kind != "message":
        return "" if kind in ("session", "title", "leaf", *_TYPES) else str(kind)
    role = message.get("role") if isinstance(message, dict) else None
    return "" if role in (*_ROLES, *_OTHERS) else f"message of {role}"


def _broken_at(entries: list[PiEntry], sent: list[PiEntry]) -> int | None:
    """The record of the path's first entry, where it hangs on a missing one from which on messages would be sent.

    What a compaction left out may be missing, but not the first entry that it kept.
    """
    if not sent or not is_tree(entries):
        return None
    on_path = path(entries)
    kept = sent[0].value.get("firstKeptEntryId") if sent[0].is_compaction else None
    is_whole = sent[0].is_compaction and (kept is None or any(entry.id == kept for entry in on_path))
    return None if is_whole or on_path[0].value.get("parentId", 0) is None else on_path[0].record


def _not_reached(entries: list[PiEntry], start: int) -> tuple[str, ...]:
    earlier = sum(entry.record < start and entry.value.get("type") == "message" for entry in entries)
    return not_reached(start, "parentId", earlier)


def _is_older(entry: PiEntry, compaction: PiEntry | None) -> bool:
    """Whether an entry was there before the compaction. Copies of such entries follow it, and keep their times."""
    if compaction is None:
        return False
    times = [str(each.value.get("timestamp") or "") for each in (entry, compaction)]
    return entry.record < compaction.record or (times[0] != "" and times[0] <= times[1])


def _usage(message: int, usage: Any, model: str | None, *, is_older: bool) -> Iterator[Usage]:
    if isinstance(usage, dict):
        numbers = [usage.get(key) for key in ("input", "cacheRead", "cacheWrite")]
        yield from recorded(message, numbers, usage.get("output"), is_older=is_older, model=model)


def _turn(record: int, value: dict[str, Any]) -> Iterator[tuple[Role, Iterator[Block]]]:
    """Who speaks in an entry, and what; nothing for an entry that is not sent."""
    kind, message = value.get("type"), value.get("message")
    if kind in ("compaction", "branch_summary") and isinstance(value.get(_TEXT_OF_SUMMARY), str):
        yield Role.USER, iter([_summary(value[_TEXT_OF_SUMMARY], record, (_TEXT_OF_SUMMARY,))])
    elif kind == "custom_message":
        yield Role.USER, _injected(_content(value.get("content"), record, ("content",), is_user=True))
    elif kind == "message" and isinstance(message, dict):
        role, path = message.get("role"), ("message", "content")
        if role == "bashExecution":
            if message.get("excludeFromContext") is not True:
                yield Role.USER, _command(message, record)
        elif role in ("custom", "hookMessage"):
            yield Role.USER, _injected(_content(message.get("content"), record, path, is_user=True))
        elif role == "assistant" and message.get("stopReason") in ("error", "aborted"):
            return  # Not sent again: it may be cut off anywhere.
        elif role == "toolResult":
            yield Role.TOOL, _result(message, record, path)
        elif isinstance(role, str) and role in _ROLES:
            yield _ROLES[role], _content(message.get("content"), record, path, is_user=role == "user")


def _summary(text: str, record: int, path: JsonPath) -> Block:
    return Block(BlockKind.TEXT, Place(record, path), path, content=text, injected=True, summarizes=True)


def _injected(blocks: Iterator[Block]) -> Iterator[Block]:
    return (replace(block, injected=True) for block in blocks)


def _command(message: dict[str, Any], record: int) -> Iterator[Block]:
    """A command that the user ran; pi sends it and what it printed as a message of the user."""
    said = f"Ran `{message.get('command')}`"
    place = Place(record, ("message", "command"))
    yield Block(BlockKind.OPAQUE, place, ("message",), content=said, api_type="bashExecution", is_readable=True)
    output = message.get("output")
    if isinstance(output, str) and output:
        place = Place(record, ("message", "output"))
        yield Block(BlockKind.TOOL_RESULT, place, ("message",), content=output, tool="bash", injected=True)


def _result(message: dict[str, Any], record: int, path: JsonPath) -> Iterator[Block]:
    call_id, tool = message.get("toolCallId"), message.get("toolName")
    common: dict[str, Any] = {
        "call_id": call_id if isinstance(call_id, str) else None,
        "tool": tool if isinstance(tool, str) else None,
        "is_error": message.get("isError") is True,
    }
    blocks = list(_content(message.get("content"), record, path, is_user=False))
    if not blocks:
        yield Block(BlockKind.TOOL_RESULT, Place(record, path), ("message",), **common)
    for block in blocks:
        kind = BlockKind.TOOL_RESULT if block.kind is BlockKind.TEXT else block.kind
        yield replace(block, kind=kind, owner=("message",), **common)


def _content(content: Any, record: int, path: JsonPath, *, is_user: bool) -> Iterator[Block]:
    if isinstance(content, str):
        injected = is_user and is_injected(content)
        yield Block(BlockKind.TEXT, Place(record, path), path, content=content, injected=injected)
    for number, part in enumerate(content if isinstance(content, list) else ()):
        yield _part(part, record, (*path, number), is_user)


def _part(part: Any, record: int, owner: JsonPath, is_user: bool) -> Block:
    kind = part.get("type") if isinstance(part, dict) else None
    if kind == "text" and isinstance(part.get("text"), str):
        text = part["text"]
        injected = is_user and is_injected(text)
        return Block(BlockKind.TEXT, Place(record, (*owner, "text")), owner, content=text, injected=injected)
    if kind == "thinking" and isinstance(part.get("thinking"), str):
        text, signature = part["thinking"], part.get("thinkingSignature")
        encrypted = _encrypted(signature)
        if encrypted is not None:
            text, signature = "", encrypted  # What is shown is a summary, which is not sent.
        estimate = 0 if text else client_text.encrypted_thinking(signature)
        place = Place(record, (*owner, "thinking"))
        return Block(BlockKind.THINKING, place, owner, content=text, estimate=estimate)
    if kind == "toolCall" and isinstance(part.get("id"), str) and "arguments" in part:
        return Block(
            BlockKind.TOOL_CALL,
            Place(record, (*owner, "arguments")),
            owner,
            content=json_text.dump_compact(part["arguments"]),
            tool=str(part.get("name") or ""),
            call_id=part["id"],
            is_object=True,
        )
    if kind == "image":
        return attachment_block({"type": "image", "source": {"data": part.get("data")}}, record, owner)
    return attachment_block(part, record, owner)


def _encrypted(signature: Any) -> str | None:
    """The encrypted text of a reasoning item of OpenAI's, which pi keeps as JSON; None for any other signature."""
    if not isinstance(signature, str) or not signature.startswith("{"):
        return None
    try:
        item = json_text.parse_text(signature)
    except ValueError:
        return None
    is_item = isinstance(item, dict) and item.get("type") == "reasoning"
    return str(item.get("encrypted_content") or "") if is_item else None


FORMAT = Format(
    "pi",
    Family.OPENAI_CHAT,
    "pi session file (~/.pi/agent/sessions/*/*.jsonl)",
    evidence,
    read,
    complete=complete,
    fixed=fixed,
    rules=(parents_exist("parentId"),),
    compaction=write,
    summary_role=Role.USER,
)
