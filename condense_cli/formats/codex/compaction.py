"""A summary in a Codex rollout: one `compacted` record at the end, which holds all that the client sends from then on.

The client resumes with the `replacement_history` of the last such record and what follows it. Records before it keep
their bytes. Tried with Codex CLI 0.169, which wants an `ordinal` in the last record of a file that has any.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ...core import json_text
from ...core.transcript import JsonPath
from ...core.values import Role
from ..engine.base import Rewrite, records_of
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
