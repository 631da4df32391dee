"""Write a Claude Code session: mend links, append summaries as compact boundaries, and find what is only displayed.

The client resumes by walking from the newest leaf through `parentUuid`. It stops without a word at a parent that is not
there, so a broken link costs everything before it: every link to a record that goes is moved to its nearest ancestor
that stays.

The client sends what follows the last boundary, so what is before it stays. The file grows by the boundary, the
summary, and copies of the messages that stay, under ids of their own. Copies of one reply share a new `message.id`;
under the old one the client would find the lines before the boundary as well.

The model never sees `toolUseResult`. If a result was cut, the strings there that repeat it are cut too, or the file
would keep what the user asked to leave out; the second copy of an image that was left out becomes its marker. The
value's shape stays: renderers parse it.

`--slim` leaves out only what is in the file a second time, and old versions of files that nothing draws. Version 2.1 of
the client itself empties `originalFile` of more than 10,000 characters when it writes a session, and the same fields of
older results in memory. A patch and the content of a created file stay: from these it draws and counts changed lines.
Snapshots of the file history stay, because `/rewind` needs them.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from ...core import json_text
from ...core.json_text import value_in
from ...core.markers import REFERENCE_PREFIX, gaps_in
from ...core.transcript import Block, JsonPath, Place, Source, Transcript
from ...core.values import BlockKind, Role
from ...toolcalls.tools import string_values
from ..engine.base import (
    INPUT_TOKENS,
    DisplayValue,
    FileFault,
    FileRule,
    RecordEdits,
    Rewrite,
    derived_uuid,
    messages_understood,
    objects_with,
)
from ..engine.beside import FAILED, known_lines, long_strings, marker_of, repeats_lines, text_at
from ..engine.blocks import listed
from ..engine.writing import slimmed_source, surviving
from .chain import is_stand_in, stand_ins
from .records import BESIDE_TREE, OVERHEAD, REPLAY, SENT, TREE

LINKS: Final = ("parentUuid", "leafUuid", "sourceToolAssistantUUID", "logicalParentUuid")


class Links(msgspec.Struct):
    """The uuid and type of a record, and the records that it names."""

    uuid: str | None = None
    type: str | None = None
    parentUuid: str | None = None
    leafUuid: str | None = None
    sourceToolAssistantUUID: str | None = None
    logicalParentUuid: str | None = None


_decode_links = msgspec.json.Decoder(Links).decode


def relink(transcript: Transcript, edits: RecordEdits, gone: frozenset[int]) -> None:
    """Add edits to every record that names one of the records that go, or whose parent is missing."""
    source = transcript.source
    links = read_links(source)
    parents = _parents(found for record, found in links.items() if record in gone)
    for record, found in links.items():
        if record in gone:
            continue
        for key in LINKS:
            target = getattr(found, key)
            if target in parents:
                edits[record][(key,)] = json.dumps(surviving(target, parents))
        if found.type == "system" and b'"preserved' in source.raw(record):
            metadata = json_text.parse(source.raw(record)).get("compactMetadata")
            edits[record].update(_kept_by_boundary(metadata, parents, _parents(links.values())))
    _join(transcript, links, edits, gone)


def _join(transcript: Transcript, links: Mapping[int, Links], edits: RecordEdits, gone: frozenset[int]) -> None:
    """Let a record whose parent is missing name the one before it in the conversation.

    The client goes on at the record that was written shortly before, and finds none if that goes.
    """
    uuids = {found.uuid for found in links.values()}
    before: str | None = None
    for record in dict.fromkeys(block.place.record for _, block in transcript.blocks()):
        found = links.get(record)
        if found is None or record in gone:
            continue
        if before is not None and found.parentUuid is not None and found.parentUuid not in uuids:
            edits[record]["parentUuid",] = json.dumps(before)
        before = found.uuid or before


def going(transcript: Transcript, gone: frozenset[int]) -> frozenset[int]:
    """Delete records that share the uuid of one that goes, too: the client would take the one before it."""
    links = read_links(transcript.source) if gone else {}
    uuids = {links[record].uuid for record in gone if record in links} - {None}
    return gone | {record for record, found in links.items() if found.uuid in uuids}


_Parents = Mapping[str, str | None]
"""The parent of each record, by its uuid."""


def _parents(links: Iterable[Links]) -> _Parents:
    return {found.uuid: found.parentUuid for found in links if found.uuid is not None}


def _kept_by_boundary(metadata: Any, gone: _Parents, above: _Parents) -> dict[JsonPath, str | None]:
    """Return edits to what a compact boundary keeps: a list that names one missing record is void as a whole."""
    edits: dict[JsonPath, str | None] = {}
    for key in ("preservedMessages", "preservedSegment"):
        kept = value_in(metadata, key)
        if not isinstance(kept, dict):
            continue
        path = ("compactMetadata", key)
        anchor, head, tail = (str(kept.get(name)) for name in ("anchorUuid", "headUuid", "tailUuid"))
        if anchor in gone:
            edits[*path, "anchorUuid"] = json.dumps(surviving(anchor, gone))
        for name in ("uuids", "allUuids"):
            for position, uuid in enumerate(listed(kept, name)):
                if str(uuid) in gone:
                    edits[*path, name, position] = json_text.REMOVE
        if head in gone or tail in gone:
            piece = [tail]
            while piece[-1] != head and (parent := above.get(piece[-1])) is not None and len(piece) <= len(above):
                piece.append(parent)
            left = [uuid for uuid in reversed(piece) if uuid not in gone]
            if not left:
                return {path: json_text.REMOVE}
            edits |= {(*path, "headUuid"): json.dumps(left[0]), (*path, "tailUuid"): json.dumps(left[-1])}
    return edits


def named(link: Any) -> str | None:
    """Return the uuid that a link names. A value that is no text names a record that is in no file."""
    return link if link is None or isinstance(link, str) else f"{json_text.dump_compact(link)} (not a string)"


def read_links(source: Source) -> dict[int, Links]:
    """Return the links of every record that is an object, by its number."""
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


_NAMED: Final = {
    "parents_exist": "parentUuid",
    "leaves_exist": "leafUuid",
    "callers_exist": "sourceToolAssistantUUID",
}
"""Rules, and the key that names a record in each."""


def links_are_whole(transcript: Transcript) -> Iterator[FileFault]:
    links = read_links(transcript.source)
    uuids = {found.uuid for found in links.values() if found.type in TREE}
    for rule, key in _NAMED.items():
        for record, found in links.items():
            target = getattr(found, key)
            if target is None or target in uuids:
                continue
            # Older clients open a session file with the summaries of other sessions, whose leaves are in other files.
            is_note = found.type == "summary"
            where = " (a summary of another session)" if is_note else ""
            yield FileFault(rule, record, f"{key} names no record in the file: {target}{where}", is_note)
    # Of records that share their uuid with one of the live conversation, the client takes the last it finds.
    live = {block.place.record for _, block in transcript.blocks()}
    records: dict[str, list[int]] = defaultdict(list)
    for record, found in links.items():
        if found.uuid is not None:
            records[found.uuid].append(record)
    for uuid, doubled in records.items():
        if len(doubled) > 1 and not live.isdisjoint(doubled):
            numbers = ", ".join(str(record + 1) for record in doubled)
            yield FileFault("live_uuids_unique", doubled[-1], f"records {numbers} share the uuid {uuid}")
    yield from _in_circles(links, live)


def _in_circles(links: Mapping[int, Links], live: set[int]) -> Iterator[FileFault]:
    """Find parents of the live conversation that lead back to one of them."""
    records = {found.uuid: record for record, found in links.items() if found.uuid is not None}
    done: set[int] = set()
    for start in sorted(live):
        path: dict[int, None] = {}
        record: int | None = start
        while record is not None and record not in path and record not in done:
            path[record] = None
            parent = links[record].parentUuid
            record = records.get(parent) if parent is not None else None
        if record is not None and record in path:
            circle = list(path)[list(path).index(record) :]
            first = min(circle)
            yield FileFault("parents_end", first, f"the parents of the record lead back to it ({len(circle)} records)")
        done.update(path)


def lacking(value: Any) -> str:
    """Name what a message lacks that the client needs to read it; empty for a whole one, and for no message."""
    if not isinstance(value, dict):
        return ""
    kind, has_message = str(value.get("type")), isinstance(value.get("message"), dict)
    if kind not in ("user", "assistant"):
        return "a known type" if has_message and kind not in TREE and kind not in BESIDE_TREE else ""
    if not has_message:
        return "message"
    if not isinstance(value["message"].get("content"), str | list):
        return "content"
    if not isinstance(value.get("uuid"), str):
        return "uuid"
    return "" if "parentUuid" in value else "parentUuid"


RULES: Final = (FileRule(links_are_whole), messages_understood(lacking))


COMMON: Final = ("userType", "entrypoint", "cwd", "sessionId", "version", "gitBranch", "slug")
"""Keys that say where and when a line was written; a new line takes them from the newest one."""


class Appended:
    """Write the lines that go to the end of the file, each linked to the one before."""

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
        """Return records of results that another reply cut off from their calls, by these calls.

        The client does not send them, but they show that the call was answered: without one the call goes too.
        """
        blocks = [block for _, block in self.rewrite.transcript.blocks()]
        calls = {block.call_id for block in blocks if block.kind is BlockKind.TOOL_CALL}
        lost = [call for call in calls - {block.answers for block in blocks} if call]
        found: dict[str, int] = {}
        for record, value in objects_with(self.rewrite.transcript.source, *lost) if lost else ():
            message = value.get("message") if value.get("type") == "user" and record not in self.records else None
            for part in listed(message, "content") if isinstance(value.get("uuid"), str) else ():
                if isinstance(part, dict) and str(part.get("tool_use_id")) in lost:
                    found.setdefault(part["tool_use_id"], record)
        return found

    def _notes(self) -> Iterator[int]:
        """Yield notes that the client cut results which stay: it looks for them only behind the boundary."""
        cut = {block.answers for _, block in self.rewrite.transcript.blocks() if is_stand_in(block)}
        for record, value in objects_with(self.rewrite.transcript.source, "tool_results_cut") if cut else ():
            calls = dict(stand_ins([value.get("attachment")]))
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
        """Return the tokens of the last request, as the API reported them; the client shows this number."""
        for record in reversed(self.records):
            value = json_text.parse(self.rewrite.transcript.source.view(record))
            message = value.get("message")
            usage = value_in(message, "usage")
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
        line |= {key: self.newest[key] for key in COMMON if key in self.newest}
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
        """Return the id of a reply's copies. The old one may come again in another turn, which they would join."""
        return "msg_" + self._id(f"{turn} {old}").replace("-", "")


KEY: Final = "toolUseResult"


def cut(transcript: Transcript, edits: RecordEdits, gone: frozenset[int], style: json_text.Style) -> None:
    """Add edits for the strings that repeat a changed result of the same record."""
    everywhere: set[str] = set()
    for _, block in transcript.blocks():
        if not (block.changed and (block.kind is BlockKind.TOOL_RESULT or block.replaces_image)):
            continue
        raw = transcript.source.raw(block.place.record)
        if b'"' + KEY.encode() + b'"' not in raw:
            continue
        written = block.text
        gaps = set(gaps_in(written))
        if not (gaps or block.replaces_image):
            continue  # Nothing was left out: lines are said by reference, or restored.
        value = json_text.parse(raw)
        if not isinstance(value, dict) or KEY not in value:
            continue
        if block.replaces_image:
            for path in _image_copies(value, block):
                edits[block.place.record][path] = style.literal(written)
            continue
        shown = list(long_strings(value[KEY], (KEY,)))
        old = text_at(value, block.place.path) if shown else ""
        if not shown or gaps <= set(gaps_in(old)):
            continue
        known: set[str] = set()
        for path, text in shown:
            if text.removeprefix(FAILED) == old:
                edits[block.place.record][path] = style.literal(marker_of(text, written))
                continue
            known = known or known_lines(old)
            if REFERENCE_PREFIX in old:
                everywhere = everywhere or _all_lines(transcript)  # Those that a reference names are among them.
                known |= everywhere
            if repeats_lines(text, known):
                edits[block.place.record][path] = style.literal(marker_of(text, written))


def _image_copies(value: Any, block: Block) -> set[JsonPath]:
    """Return the paths of copies of an image. That of an image file may have another size: its place tells."""
    found: set[JsonPath] = set()
    shown = value[KEY]
    if isinstance(shown, dict) and shown.get("type") == "image" and block.answers:
        file = shown.get("file")
        if isinstance(file, dict) and isinstance(file.get("base64"), str):
            found.add((KEY, "file", "base64"))
    for key in block.place.path:
        value = value[key]
    source = value_in(value, "source")
    data = value_in(source, "data")
    if isinstance(data, str) and data:
        found.update(path for path, text in string_values(shown, (KEY,)) if text == data)
    return found


def _all_lines(transcript: Transcript) -> set[str]:
    """Return every line of the conversation as the file has it."""
    blocks = [*(block for _, block in transcript.blocks()), *transcript.removed]
    lines: set[str] = set()
    for record in {block.place.record for block in blocks}:
        for _, text in string_values(json_text.parse(transcript.source.raw(record)).get("message")):
            lines |= known_lines(text)
    return lines


_CONTENT: Final[tuple[JsonPath, ...]] = (("message", "content"), ("attachment",), ("content",))
_FOR: Final = ("sent", "display_copies", "keys", "not_live", "prompt", "request_copies", "other_records", "between")


def sizes(transcript: Transcript) -> dict[str, int]:
    """Count bytes by their use; they add up to the file.

    `sent`: content of the conversation; `display_copies`: copies of results that only the client shows; `keys`:
    everything else in these records (ids, times, usage); `not_live`: messages of older branches, of sub-agents and
    before the last compaction; `prompt`: the system prompt and tools; `request_copies`: requests written once more;
    `other_records`: whole records that are no messages (snapshots, progress, summaries); `between`: what separates the
    records.
    """
    source = transcript.source
    live = {block.place.record for _, block in transcript.blocks()}
    found = dict.fromkeys(_FOR, 0)
    links = read_links(source)
    for record, (start, end) in enumerate(source.spans):
        size = end - start
        if record in live:
            text = json_text.decode(source.raw(record))
            sent = sum(_size(text, path) for path in _CONTENT)
            display = _size(text, (KEY,)) if f'"{KEY}"' in text else 0
            found["sent"] += sent
            found["display_copies"] += display
            found["keys"] += size - sent - display
        else:
            found[_aside(source, record, links.get(record, Links()))] += size
    found["between"] = len(source.data) - sum(found.values())
    return found


def _aside(source: Source, record: int, links: Links) -> str:
    """Return the use of a record that is not sent."""
    if links.type in REPLAY:
        return "request_copies"
    if links.type == "attachment":
        value = json_text.parse(source.raw(record))
        attachment = value.get("attachment")
        kind = str(attachment.get("type")) if isinstance(attachment, dict) else ""
        if kind in OVERHEAD:
            return "prompt"
        return "not_live" if "rendered" in value or kind in SENT else "other_records"
    return "not_live" if links.type in ("user", "assistant") else "other_records"


def _size(text: str, path: JsonPath) -> int:
    """Count the bytes of the value at a path of a JSON text; 0 if there is none."""
    try:
        without = json_text.splice(text, {path: ""})
    except KeyError:
        return 0
    return len(json_text.encode(text)) - len(json_text.encode(without))


_ORIGINALS: Final = {"originalFile", "originalFileContents"}
_DRAWN: Final = "structuredPatch"


def shown(transcript: Transcript) -> Iterator[DisplayValue]:
    """Yield values of `toolUseResult` that are copies or are not drawn, progress of answered calls, requests."""
    said: dict[int, set[str]] = {}
    for _, block in transcript.blocks():
        if block.kind is BlockKind.TOOL_RESULT:
            said.setdefault(block.place.record, set()).update(known_lines(block.text))
    held = _held(transcript.source)
    for record, value in objects_with(transcript.source, KEY, "progress", *REPLAY):
        if str(value.get("type")) in REPLAY:
            yield from _of_request(record, value)
            continue
        calls = [str(value.get(key)) for key in ("toolUseID", "parentToolUseID")]
        if value.get("type") == "progress" and not held.answered.isdisjoint(calls):
            for path, text in long_strings(value.get("data"), ("data",)):
                yield DisplayValue(Place(record, path), "progress", text)
        if KEY in value:
            yield from _of_result(record, value, said.get(record, set()), held)


def _of_request(record: int, value: dict[str, Any]) -> Iterator[DisplayValue]:
    """Yield the lists of a request: system prompt and tools, or the content of a message."""
    for path in (("shape", "system"), ("shape", "tools"), ("message", "content")):
        content = value_in(value, path[0], path[1])
        if isinstance(content, list) and content:
            yield DisplayValue(Place(record, path), "request_copies", None)
        elif isinstance(content, str):
            for where, text in long_strings(content, path):
                yield DisplayValue(Place(record, where), "request_copies", text)


class _Held(msgspec.Struct):
    """Content of messages: arguments of calls, images and documents, and the ids of calls that have a result.

    `todo_lists` are those that results so far have set.
    """

    arguments: set[str]
    data: set[str]
    answered: set[str]
    todo_lists: set[str]


def _held(source: Source) -> _Held:
    held = _Held(set(), set(), set(), set())
    for _, value in objects_with(source, "tool_use", "tool_result", "image", "document"):
        if str(value.get("type")) in REPLAY:
            continue
        for part in _parts(value):
            if part.get("type") == "tool_use":
                held.arguments.update(text for _, text in long_strings(part.get("input"), ()))
            elif part.get("type") == "tool_result" and isinstance(part.get("tool_use_id"), str):
                held.answered.add(part["tool_use_id"])
            elif isinstance(data := _data(part), str):
                held.data.add(data)
    return held


def _of_result(record: int, value: dict[str, Any], known: set[str], held: _Held) -> Iterator[DisplayValue]:
    shown = value[KEY]
    # In a record with a display copy, a text part belongs to a result.
    texts = [part.get(key) for part in _parts(value) for key in ("text", "content")]
    known = known.union(*(known_lines(text) for text in texts if isinstance(text, str)))
    has_image = any(_data(part) is not None for part in _parts(value))
    is_created = isinstance(shown, dict) and shown.get("type") == "create"
    emptied = False
    if isinstance(shown, dict):
        old, new = (json_text.dump_compact(shown.get(key)) for key in ("oldTodos", "newTodos"))
        emptied = isinstance(shown.get("oldTodos"), list) and old in held.todo_lists
        if emptied and shown["oldTodos"]:
            yield DisplayValue(Place(record, (KEY, "oldTodos")), "todo_lists", None)
        held.todo_lists.add(new)
    for path, text in long_strings(shown, (KEY,)):
        if _DRAWN in path or (emptied and path[1] == "oldTodos") or (is_created and path == (KEY, "content")):
            continue
        place = Place(record, path)
        if path[-1] in _ORIGINALS:
            yield DisplayValue(place, "original_files", text)
        elif text in held.data or (has_image and path == (KEY, "file", "base64")):
            yield DisplayValue(place, "image_copies", text, is_image=True)
        elif repeats_lines(text, known):
            yield DisplayValue(place, "result_copies", text)
        elif text in held.arguments:
            yield DisplayValue(place, "argument_copies", text)


def _parts(value: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the parts of a record's message, and those of the results in it."""
    for part in listed(value.get("message"), "content"):
        if isinstance(part, dict):
            yield part
            inner = listed(part, "content") if part.get("type") == "tool_result" else []
            yield from (item for item in inner if isinstance(item, dict))


def _data(part: dict[str, Any]) -> str | None:
    source = part.get("source")
    data = value_in(source, "data")
    return data if isinstance(data, str) and data else None
