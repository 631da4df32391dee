"""Write a Codex rollout, and find what it holds for display alone.

Records stay where they were; a summary is one `compacted` record at the end. The client resumes with the
`replacement_history` of the last such record and what follows it. Tried with Codex CLI 0.169, which wants an `ordinal`
in the last record of a file that has any.

In `~/.codex/thread_history_1.sqlite` Codex lists turns, with the byte and the `ordinal` up to which it has read the
rollout, and the bytes at which turns begin and end. It reads on from that byte: in a shorter file it finds nothing
there, and lists no later turn (tried with Codex CLI 0.171). There is no such index for files without ordinals.

The client builds its requests from `response_item` and `compacted` records and shows what the `event_msg` records tell.
Texts of these that repeat the output of the same call can go, and so can the lines that a patch adds and a second copy
of an image. What only an event holds stays, and so do unified diffs, which are drawn, and items before a compaction, to
which a rolled back or forked session returns.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from ..core import json_text
from ..core.json_text import value_in
from ..core.transcript import JsonPath, Place, Transcript
from ..core.values import BlockKind
from ..errors import OutputError
from ..toolcalls.tools import string_values
from .engine.base import DisplayValue, Rewrite, objects_with, records_of
from .engine.beside import known_lines, long_strings, repeats_lines
from .engine.container import open_document
from .engine.writing import slimmed_source

REPLACED: Final = ("payload", "replacement_history")


def is_replaced(path: JsonPath) -> bool:
    """Return whether a path leads into the list that a compaction holds."""
    return path[:2] == REPLACED


def item_path(path: JsonPath) -> JsonPath:
    """Return the path of the item that a path leads into."""
    return path[:3] if is_replaced(path) else path[:1]


def write(rewrite: Rewrite) -> bytes:
    """Append a `compacted` record: Codex resumes from its `replacement_history` and ignores earlier records."""
    source = rewrite.transcript.source
    last = next(value for _, value in records_of(source, backwards=True) if isinstance(value, dict))
    summary = next(message.blocks[0].text for message in rewrite.transcript.messages if message.is_inserted)
    payload = {"message": summary, "replacement_history": list(_items(rewrite))}
    record = {"timestamp": last.get("timestamp"), "type": "compacted", "payload": payload}
    if isinstance(last.get("ordinal"), int):
        record["ordinal"] = last["ordinal"] + 1
    data = slimmed_source(rewrite.transcript)
    between = b"" if data.endswith(b"\n") else b"\n"
    # At once: a sum of such sizes would hold the whole file once more.
    return b"".join([data, between, json_text.encode(rewrite.style.dump(record)), b"\n"])


def _items(rewrite: Rewrite) -> Iterator[Any]:
    """Yield what the client sends, in order: items of the file, as passes left them, and summaries."""
    records: dict[int, Any] = {}
    done: set[tuple[int, JsonPath]] = set()
    for _, block in rewrite.transcript.blocks():
        if block.is_inserted:
            yield _summary(block.text)
            continue
        record, path = block.place.record, item_path(block.place.path)
        if (record, path) in done:
            continue
        done.add((record, path))
        if record not in records:
            records[record] = json_text.parse(rewrite.transcript.source.raw(record))
        value, edits = records[record], rewrite.edits.get(record, {})
        if value.get("type") == "compacted" and not is_replaced(path):
            yield _summary(block.text)  # An old client wrote it as a text alone.
            continue
        for key in path:
            value = value[key]
        # Other edits of the record are not of this item.
        inside = {place[len(path) :]: new for place, new in edits.items() if place[: len(path)] == path}
        yield json_text.parse_text(json_text.splice(json_text.dump_compact(value), inside)) if inside else value


def _summary(text: str) -> dict[str, Any]:
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}


class _Numbered(NamedTuple):
    """A record: its ordinal, how many before it have the same, and its span."""

    ordinal: int | None
    again: int
    start: int
    end: int


def in_old_places(old: bytes, new: bytes) -> bytes:
    """Return the new bytes with blanks behind records, so that each begins where it did in the old file.

    The last record that has an ordinal ends where it did, and what is new follows. A record that has grown begins
    earlier. Raises OutputError if there is no room for that.
    """
    before, after = list(_numbered(old)), list(_numbered(new))
    numbered = [number for number, each in enumerate(before) if each.ordinal is not None]
    if not numbered:
        return new
    known = before[: numbered[-1] + 1]
    stop = before[len(known)].start if len(known) < len(before) else len(old) + (not old.endswith(b"\n"))
    starts = {each[:2]: each.start for each in known}
    last = next((number for number, each in enumerate(after) if each[:2] == known[-1][:2]), -1)
    pieces = [new[after[last + 1].start :]] if last + 1 < len(after) else []
    for number in range(last, -1, -1):
        each = after[number]
        latest = stop - (each.end - each.start) - 1
        start = min(starts.get(each[:2], latest), latest)
        pieces += [b"\n", b" " * (latest - start), new[each.start : each.end]]
        stop = start
    if stop:
        raise OutputError(
            "Codex has noted where the records of this session are, and they would be elsewhere.",
            "Nothing was changed. Use --new-session instead.",
        )
    return b"".join(reversed(pieces))


def _numbered(data: bytes) -> Iterator[_Numbered]:
    document = open_document(data, "", lenient=True)
    seen: Counter[int | None] = Counter()
    for value, (start, end) in zip(document.values, document.source.spans, strict=True):
        ordinal = value_in(value, "ordinal")
        ordinal = ordinal if isinstance(ordinal, int) else None
        yield _Numbered(ordinal, seen[ordinal], start, end)
        seen[ordinal] += 1


def sizes(transcript: Transcript) -> dict[str, int]:
    """Count bytes by their use; they add up to the file.

    `sent`: items of the conversation; `display_copies`: events that the client shows and does not send; `keys`:
    everything else in the records of the conversation; `not_live`: items before the last compaction or taken back;
    `other_records`: settings and states of the client; `between`: what separates the records.
    """
    source = transcript.source
    items: dict[int, set[JsonPath]] = defaultdict(set)
    for _, block in transcript.blocks():
        items[block.place.record].add(item_path(block.owner))
    found = dict.fromkeys(("sent", "display_copies", "keys", "not_live", "other_records", "between"), 0)
    uses = {"event_msg": "display_copies", "response_item": "not_live", "compacted": "not_live"}
    for record, value in records_of(source):
        start, end = source.spans[record]
        if record not in items:
            kind = value_in(value, "type")
            found[uses.get(str(kind), "other_records")] += end - start
            continue
        text = json_text.decode(source.raw(record))
        keys = len(json_text.encode(json_text.splice(text, dict.fromkeys(items[record], ""))))
        found["keys"] += keys
        found["sent"] += end - start - keys
    found["between"] = len(source.data) - sum(found.values())
    return found


_OUTPUTS: Final = ("aggregated_output", "stdout", "stderr", "formatted_output", "result", "content_items")
"""Keys of an event, or of its item, that hold what a call put out. The first repeats all that the next three hold."""


def shown(transcript: Transcript) -> Iterator[DisplayValue]:
    known: dict[str, set[str]] = defaultdict(set)
    for _, block in transcript.blocks():
        if block.kind is BlockKind.TOOL_RESULT and block.answers:
            known[block.answers] |= known_lines(block.text)
    patches: dict[str, set[str]] = {}
    data: set[str] = set()
    for _, value in objects_with(transcript.source, "response_item"):
        item = value.get("payload")
        if not isinstance(item, dict):
            continue
        call = item.get("call_id")
        if isinstance(call, str):
            for text in _texts(item.get("output")):
                known[call] |= known_lines(text)
            if isinstance(item.get("input"), str):
                patches[call] = {line.removeprefix("+").rstrip() for line in item["input"].split("\n")}
        if item.get("type") == "image_generation_call" and isinstance(item.get("result"), str):
            data.add(item["result"])
    for record, value in objects_with(transcript.source, "event_msg"):
        event = value.get("payload")
        if value.get("type") == "event_msg" and isinstance(event, dict):
            yield from _of_event(record, event, known, patches, data)


def _of_event(
    record: int,
    event: dict[str, Any],
    known: Mapping[str, set[str]],
    patches: Mapping[str, set[str]],
    data: set[str],
) -> Iterator[DisplayValue]:
    item = event.get("item")
    holder, path = (item, ("payload", "item")) if isinstance(item, dict) else (event, ("payload",))
    call = str(holder.get("call_id", holder.get("id")))
    lines = known.get(call, set())
    for key in _OUTPUTS:
        for where, text in long_strings(holder.get(key), (*path, key)):
            if text in data:
                yield DisplayValue(Place(record, where), "image_copies", text, is_image=True)
            elif repeats_lines(text, lines):
                yield DisplayValue(Place(record, where), "result_copies", text)
            elif key == _OUTPUTS[0]:
                lines = lines | known_lines(text)
    for where, text in long_strings(holder.get("changes"), (*path, "changes")):
        if where[-1] == "content" and repeats_lines(text, patches.get(call, set())):
            yield DisplayValue(Place(record, where), "argument_copies", text)


def _texts(output: Any) -> Iterator[str]:
    """Yield the texts of an output; older clients wrote JSON into the string."""
    for _, text in string_values(output):
        yield text
        if text.startswith("{"):
            try:
                yield from (inner for _, inner in string_values(json_text.parse_text(text)))
            except (ValueError, RecursionError):
                continue
