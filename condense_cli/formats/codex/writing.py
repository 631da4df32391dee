"""Write a Codex rollout: records stay where they were; a summary is one `compacted` record at the end.

The client resumes with the `replacement_history` of the last such record and what follows it. Records before it keep
their bytes. Tried with Codex CLI 0.169, which wants an `ordinal` in the last record of a file that has any.

Codex keeps the turns that it lists in `~/.codex/thread_history_1.sqlite`, and with them up to which byte and which
`ordinal` of the rollout it has read, and where turns begin and end. It reads on from that byte: in a shorter file it
finds nothing there, and lists no later turn (tried with Codex CLI 0.171). Files with no ordinals have no such index.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ...core import json_text
from ...core.transcript import JsonPath
from ...core.values import Role
from ...errors import OutputError
from ..engine.base import Rewrite, records_of
from ..engine.container import open_document
from ..engine.writing import slimmed_source
from .history import is_replaced, item_path


def write(rewrite: Rewrite) -> bytes:
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
    """What the client sends, in order: items of the file, as passes left them, and summaries."""
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
        if records[record].get("type") == "compacted" and not is_replaced(path):
            yield _summary(block.text)  # An old client wrote it as a text alone.
        else:
            yield _edited(records[record], path, rewrite.edits.get(record, {}))


def _edited(value: Any, path: JsonPath, edits: Mapping[JsonPath, str | None]) -> Any:
    """The item at a path of a record, with the edits inside it. Others of the record may go."""
    for key in path:
        value = value[key]
    inside = {place[len(path) :]: new for place, new in edits.items() if place[: len(path)] == path}
    return json_text.parse_text(json_text.splice(json_text.dump_compact(value), inside)) if inside else value


def _summary(text: str) -> dict[str, Any]:
    return {"type": "message", "role": Role.USER.value, "content": [{"type": "input_text", "text": text}]}


class _Numbered(NamedTuple):
    """A record: its ordinal, how many before it have the same, and its span."""

    ordinal: int | None
    again: int
    start: int
    end: int


def in_old_places(old: bytes, new: bytes) -> bytes:
    """The new bytes of a file, with blanks behind its records so that each begins where it did and the last one that
    has an ordinal ends there. What is new follows.

    A record that has grown begins earlier. Raises OutputError where that does not do.
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
        ordinal = value.get("ordinal") if isinstance(value, dict) else None
        ordinal = ordinal if isinstance(ordinal, int) else None
        yield _Numbered(ordinal, seen[ordinal], start, end)
        seen[ordinal] += 1
