"""Write a Claude Code session: find faulty links, relink records, append summaries as compact boundaries.

Resuming walks from the newest leaf through `parentUuid` and stops without a word at the first parent
that is missing, so every link to a record that went is moved to its nearest ancestor that stays.

The client resumes by walking from the newest leaf through `parentUuid`. It stops without a word at a
parent that is not there, so a broken link costs everything before it.

The client sends what follows the last boundary, so what stands before it stays. The file grows by the boundary, the
summary, and copies of the messages that stay, under ids of their own. Copies of one reply share a new `message.id`;
under the old one the client would find the lines before the boundary as well.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from ...core import json_text
from ...core.transcript import JsonPath, Source, Transcript
from ...core.values import BlockKind, Role
from ..engine.base import INPUT_TOKENS, FileFault, FileRule, RecordEdits, Rewrite, derived_uuid, messages_understood
from ..engine.writing import objects_with, slimmed_source
from . import chain as claude_cut
from .records import BESIDE_TREE, TREE

LINKS: Final = ("parentUuid", "leafUuid", "sourceToolAssistantUUID", "logicalParentUuid")


class Links(msgspec.Struct):
    """What one record is called, and the records that it names."""

    uuid: str | None = None
    type: str | None = None
    parentUuid: str | None = None
    leafUuid: str | None = None
    sourceToolAssistantUUID: str | None = None
    logicalParentUuid: str | None = None


_decode_links = msgspec.json.Decoder(Links).decode


def relink(source: Source, edits: RecordEdits, gone: frozenset[int]) -> None:
    """Add edits to every record that names one of the records that go."""
    links = read_links(source)
    parents = _parents(found for record, found in links.items() if record in gone)
    for record, found in links.items():
        if record in gone:
            continue
        for key in LINKS:
            target = getattr(found, key)
            if target in parents:
                edits[record][(key,)] = json.dumps(_surviving(target, parents))
        if found.type == "system" and b'"preserved' in source.raw(record):
            metadata = json_text.parse(source.raw(record)).get("compactMetadata")
            edits[record].update(_kept_by_boundary(metadata, parents, _parents(links.values())))


def written_again(source: Source, gone: frozenset[int]) -> frozenset[int]:
    """Records that share the uuid of one that goes: the client takes the last, or else the one before it."""
    links = read_links(source) if gone else {}
    uuids = {links[record].uuid for record in gone if record in links} - {None}
    return frozenset(record for record, found in links.items() if found.uuid in uuids)


_Parents = Mapping[str, str | None]
"""The parent of each record, by its uuid."""


def _parents(links: Iterable[Links]) -> _Parents:
    return {found.uuid: found.parentUuid for found in links if found.uuid is not None}


def _kept_by_boundary(metadata: Any, gone: _Parents, above: _Parents) -> dict[JsonPath, str | None]:
    """Edits to what a compact boundary keeps: a list that names one missing record is void as a whole."""
    edits: dict[JsonPath, str | None] = {}
    for key in ("preservedMessages", "preservedSegment"):
        kept = metadata.get(key) if isinstance(metadata, dict) else None
        if not isinstance(kept, dict):
            continue
        path = ("compactMetadata", key)
        anchor, head, tail = (str(kept.get(name)) for name in ("anchorUuid", "headUuid", "tailUuid"))
        if anchor in gone:
            edits[*path, "anchorUuid"] = json.dumps(_surviving(anchor, gone))
        for name in ("uuids", "allUuids"):
            listed = kept.get(name)
            for position, uuid in enumerate(listed if isinstance(listed, list) else ()):
                if str(uuid) in gone:
                    edits[*path, name, position] = json_text.REMOVE
        if head in gone or tail in gone:
            left = [uuid for uuid in _piece(head, tail, above) if uuid not in gone]
            if not left:
                return {path: json_text.REMOVE}
            edits |= {(*path, "headUuid"): json.dumps(left[0]), (*path, "tailUuid"): json.dumps(left[-1])}
    return edits


def _piece(head: str, tail: str, above: _Parents) -> list[str]:
    """The uuids from head to tail."""
    uuids = [tail]
    while uuids[-1] != head and (parent := above.get(uuids[-1])) is not None and len(uuids) <= len(above):
        uuids.append(parent)
    return uuids[::-1]


def named(link: Any) -> str | None:
    """The uuid that a link names. A value that is no text names a record that is in no file."""
    return link if link is None or isinstance(link, str) else f"{json_text.dump_compact(link)} (not a string)"


def read_links(source: Source) -> dict[int, Links]:
    """The links of every record that is an object, by its number."""
    return {record: found for record in range(len(source.spans)) if (found := _links(source, record))}


def _links(source: Source, record: int) -> Links | None:
    if record in source.unparsed:
        return None
    try:
        return _decode_links(source.raw(record))
    except (msgspec.DecodeError, UnicodeDecodeError):
        value = json_text.parse(source.raw(record))
        if not isinstance(value, dict):
            return None
        own = {key: value[key] for key in ("uuid", "type") if isinstance(value.get(key), str)}
        return Links(**own, **{key: named(value.get(key)) for key in LINKS})


def _surviving(uuid: str, parents: _Parents) -> str | None:
    seen: set[str] = set()
    target: str | None = uuid
    while target is not None and target in parents and target not in seen:
        seen.add(target)
        target = parents[target]
    return None if target in seen else target


_NAMED: Final = {
    "parents_exist": "parentUuid",
    "leaves_exist": "leafUuid",
    "callers_exist": "sourceToolAssistantUUID",
}
"""Rules, and the key that names a record in each."""


def links_are_whole(transcript: Transcript) -> Iterator[FileFault]:
    links = read_links(transcript.source)
    for rule, key in _NAMED.items():
        yield from _missing(links, rule, key)
    yield from _doubled(links, {block.place.record for _, block in transcript.blocks()})


def _missing(links: Mapping[int, Links], rule: str, key: str) -> Iterator[FileFault]:
    uuids = {found.uuid for found in links.values() if found.type in TREE}
    for record, found in links.items():
        target = getattr(found, key)
        if target is None or target in uuids:
            continue
        # Older clients open a session file with the summaries of other sessions, whose leaves are in other files.
        is_note = found.type == "summary"
        where = " (a summary of another session)" if is_note else ""
        yield FileFault(rule, record, f"{key} names no record in the file: {target}{where}", is_note)


def _doubled(links: Mapping[int, Links], live: set[int]) -> Iterator[FileFault]:
    """Records that share their uuid with one of the live conversation: the client takes the last it finds."""
    records: dict[str, list[int]] = defaultdict(list)
    for record, found in links.items():
        if found.uuid is not None:
            records[found.uuid].append(record)
    for uuid, doubled in records.items():
        if len(doubled) > 1 and not live.isdisjoint(doubled):
            numbers = ", ".join(str(record + 1) for record in doubled)
            yield FileFault("live_uuids_unique", doubled[-1], f"records {numbers} share the uuid {uuid}")


def lacking(value: Any) -> str:
    """Name what a record lacks that the client reads each message by; empty for one that is whole, or no message."""
    if not isinstance(value, dict):
        return ""
    kind, has_message = str(value.get("type")), isinstance(value.get("message"), dict)
    if kind not in ("user", "assistant"):
        return "a known type" if has_message and kind not in TREE and kind not in BESIDE_TREE else ""
    if not has_message:
        return "message"
    if not isinstance(value.get("uuid"), str):
        return "uuid"
    return "" if "parentUuid" in value else "parentUuid"


RULES: Final[tuple[FileRule, ...]] = (links_are_whole, messages_understood(lacking))


_COMMON: Final = ("userType", "entrypoint", "cwd", "sessionId", "version", "gitBranch", "slug")
"""Keys that say where and when a line was written; a new line takes them from the newest one."""


def write(rewrite: Rewrite) -> bytes:
    return _Appended(rewrite).data()


class _Appended:
    """The lines that go to the end of the file, each linked to the one before."""

    def __init__(self, rewrite: Rewrite) -> None:
        transcript = rewrite.transcript
        blocks = [block for _, block in transcript.blocks()]
        summaries = [block.text for block in blocks if block.is_inserted]
        records = sorted({block.place.record for block in (*blocks, *transcript.removed)})
        self.rewrite = rewrite
        self.records = records
        self.newest: dict[str, Any] = json_text.parse(transcript.source.view(records[-1]))
        self.seed = derived_uuid(*summaries, str(self.newest.get("uuid")))
        self.lines: list[bytes] = []
        self.uuids: dict[str, str] = {}
        self.parent: str | None = None

    def data(self) -> bytes:
        self._boundary()
        done: set[int] = set()
        too_late = self._too_late()
        waiting: list[int] = []
        for turn, message in enumerate(self.rewrite.transcript.messages):
            for block in message.blocks:
                record = block.place.record
                if block.is_inserted:
                    self._summary(block.text)
                elif record not in done:
                    done.add(record)
                    self._copy(record, turn)
            if message.role is Role.ASSISTANT:
                for record in waiting:
                    self._copy(record, turn)
                calls = [block.call_id or "" for block in message.blocks if block.kind is BlockKind.TOOL_CALL]
                waiting = sorted({too_late[call] for call in calls if call in too_late})
        for record in self._notes():
            self._copy(record, -1)
        data = slimmed_source(self.rewrite.transcript)
        between = b"" if data.endswith(b"\n") else b"\n"
        # At once: a sum of such sizes would hold the whole file once more.
        return b"".join([data, between, *self.lines])

    def _id(self, name: str) -> str:
        return derived_uuid(self.seed, name)

    def _too_late(self) -> dict[str, int]:
        """Records of results that another reply cut off from their calls, by these calls.

        The client sends no such result, but it shows that the call was answered: without one the call goes too.
        """
        blocks = [block for _, block in self.rewrite.transcript.blocks()]
        calls = {block.call_id for block in blocks if block.kind is BlockKind.TOOL_CALL}
        lost = [call for call in calls - {block.answers for block in blocks} if call]
        found: dict[str, int] = {}
        for record, value in objects_with(self.rewrite.transcript.source, *lost) if lost else ():
            message = value.get("message") if value.get("type") == "user" and record not in self.records else None
            content = message.get("content") if isinstance(message, dict) else None
            for part in content if isinstance(content, list) else ():
                if (
                    isinstance(part, dict)
                    and str(part.get("tool_use_id")) in lost
                    and isinstance(value.get("uuid"), str)
                ):
                    found.setdefault(part["tool_use_id"], record)
        return found

    def _notes(self) -> Iterator[int]:
        """Notes that results which stay were cut by the client: it looks for them behind the boundary only."""
        cut = {block.answers for _, block in self.rewrite.transcript.blocks() if claude_cut.is_stand_in(block)}
        for record, value in objects_with(self.rewrite.transcript.source, "tool_results_cut") if cut else ():
            calls = dict(claude_cut.stand_ins([value.get("attachment")]))
            if isinstance(value.get("uuid"), str) and not cut.isdisjoint(calls):
                yield record

    def _boundary(self) -> None:
        self._line(
            "boundary",
            {
                "logicalParentUuid": self.newest.get("uuid"),
                "type": "system",
                "subtype": "compact_boundary",
                "content": "Conversation compacted",
                "isMeta": False,
                "level": "info",
                "compactMetadata": {"trigger": "manual", "preTokens": self._tokens_sent()},
            },
        )

    def _tokens_sent(self) -> int:
        """Tokens of the last request, as the API reported them; the client shows this number."""
        for record in reversed(self.records):
            value = json_text.parse(self.rewrite.transcript.source.view(record))
            message = value.get("message")
            usage = message.get("usage") if isinstance(message, dict) else None
            if isinstance(usage, dict):
                return sum(number for key in INPUT_TOKENS if isinstance(number := usage.get(key), int))
        return 0

    def _summary(self, text: str) -> None:
        message = {"role": "user", "content": text}
        flags = {"isVisibleInTranscriptOnly": True, "isCompactSummary": True}
        self._line(f"summary {len(self.lines)}", {"type": "user", "message": message, **flags})

    def _line(self, name: str, members: dict[str, Any]) -> None:
        uuid = self._id(name)
        line: dict[str, Any] = {"parentUuid": self.parent, "isSidechain": self.newest.get("isSidechain", False)}
        line |= {key: self.newest[key] for key in _COMMON if key in self.newest}
        line |= {**members, "uuid": uuid, "timestamp": self.newest.get("timestamp")}
        self._add(self.rewrite.style.dump(line))
        self.parent = uuid

    def _copy(self, record: int, turn: int) -> None:
        value = json_text.parse(self.rewrite.transcript.source.raw(record))
        uuid = self.uuids[value["uuid"]] = self._id(value["uuid"])
        literals: dict[JsonPath, str | None] = {("uuid",): json.dumps(uuid)}
        if "parentUuid" in value:
            literals["parentUuid",] = json.dumps(self.parent)
        caller = value.get("sourceToolAssistantUUID")
        if isinstance(caller, str) and caller in self.uuids:
            literals["sourceToolAssistantUUID",] = json.dumps(self.uuids[caller])
        reply = value["message"].get("id") if value["type"] == "assistant" else None
        # Other models behind the client may leave it empty; then each line is a reply of its own.
        if reply and isinstance(reply, str):
            literals["message", "id"] = json.dumps(self._reply(reply, turn))
        line = self.rewrite.record(record, literals)
        if "parentUuid" not in value:
            line = json_text.with_member(line, "parentUuid", json.dumps(self.parent))
        self._add(line)
        self.parent = uuid

    def _add(self, line: str) -> None:
        self.lines.append(json_text.encode(line) + b"\n")

    def _reply(self, old: str, turn: int) -> str:
        """The id of a reply's copies. The old one may have come again in another turn, with which they would join."""
        return "msg_" + self._id(f"{turn} {old}").replace("-", "")
