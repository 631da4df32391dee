"""What the bytes of a Codex rollout are for: most of a file may never reach the model."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, Final

from ...core import json_text
from ...core.transcript import JsonPath, Transcript
from ..engine.base import records_of
from .history import item_path

_ITEMS: Final = ("response_item", "compacted")


def sizes(transcript: Transcript) -> dict[str, int]:
    """Bytes by what they are for; they add up to the file.

    `sent` items of the conversation, `display_copies` events that the client shows and does not send, `keys` all
    else in the records of the conversation, `not_live` items before the last compaction or taken back,
    `other_records` settings and states of the client, `between` what separates the records.
    """
    source = transcript.source
    items: dict[int, set[JsonPath]] = defaultdict(set)
    for _, block in transcript.blocks():
        items[block.place.record].add(item_path(block.owner))
    found = dict.fromkeys(("sent", "display_copies", "keys", "not_live", "other_records", "between"), 0)
    for record, value in records_of(source):
        start, end = source.spans[record]
        if record not in items:
            found[_use(value)] += end - start
            continue
        text = json_text.decode(source.raw(record))
        keys = len(json_text.encode(json_text.splice(text, dict.fromkeys(items[record], ""))))
        found["keys"] += keys
        found["sent"] += end - start - keys
    found["between"] = len(source.data) - sum(found.values())
    return found


def _use(value: Any) -> str:
    kind = value.get("type") if isinstance(value, dict) else None
    if kind == "event_msg":
        return "display_copies"
    return "not_live" if kind in _ITEMS else "other_records"
