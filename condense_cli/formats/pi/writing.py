"""Writing a pi session: links past entries that went, and summaries as pi leaves them behind.

A summary in place of a stretch of the conversation is an entry `branch_summary`: what pi writes when it goes back to
an earlier entry and sums up the branch that it leaves. The entries that it stands for stay in the file, off the path to
the last entry. (A compaction of pi always comes first in what it sends, so it cannot stand behind the first request.
One that is summarized again is left for a new one at the end.) Version 1 has neither ids nor branches: there the
summary is a message, and what it stands for goes.
https://github.com/badlogic/pi-mono/blob/main/packages/coding-agent/src/core/session-manager.ts (branchWithSummary)
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...core import json_text
from ...core.transcript import Block, JsonPath, Source, Transcript
from ...core.values import Container
from ..engine.base import RecordEdits, Rewrite, derived_uuid
from ..engine.writing import gone_records, join
from .path import PiEntry, is_tree, path


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
