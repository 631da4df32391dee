"""Find what a Codex rollout holds for display alone, and how many bytes it takes.

The client builds its requests from `response_item` and `compacted` records and shows what the `event_msg`
records tell. Texts of these that repeat the output of the same call can go, and so can the lines that
a patch adds and a second copy of an image. What only an event holds stays, and so do unified diffs, which
are drawn, and items before a compaction, to which a rolled back or forked session returns.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Final

from ...core import json_text
from ...core.transcript import JsonPath, Place, Transcript
from ...core.values import BlockKind
from ...toolcalls.tools import string_values
from ..engine.base import DisplayValue, records_of
from ..engine.writing import known_lines, long_strings, objects_with, repeats_lines
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


_OUTPUTS: Final = ("aggregated_output", "stdout", "stderr", "formatted_output", "result", "content_items")
"""Keys of an event, or of its item, that hold what a call put out. The first repeats all that the next three hold."""


def display_values(transcript: Transcript) -> Iterator[DisplayValue]:
    known: dict[str, set[str]] = defaultdict(set)
    for _, block in transcript.blocks():
        if block.kind is BlockKind.TOOL_RESULT and block.answers:
            known[block.answers] |= known_lines(block.text)
    patches: dict[str, set[str]] = {}
    data: set[str] = set()
    for _, value in objects_with(transcript.source, "response_item"):
        item = value.get("payload")
        call = item.get("call_id") if isinstance(item, dict) else None
        if not isinstance(item, dict):
            continue
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
    shown, path = (item, ("payload", "item")) if isinstance(item, dict) else (event, ("payload",))
    call = str(shown.get("call_id", shown.get("id")))
    lines = known.get(call, set())
    for key in _OUTPUTS:
        for where, text in long_strings(shown.get(key), (*path, key)):
            if text in data:
                yield DisplayValue(Place(record, where), "image_copies", text, is_image=True)
            elif repeats_lines(text, lines):
                yield DisplayValue(Place(record, where), "result_copies", text)
            elif key == _OUTPUTS[0]:
                lines = lines | known_lines(text)
    for where, text in long_strings(shown.get("changes"), (*path, "changes")):
        if where[-1] == "content" and repeats_lines(text, patches.get(call, set())):
            yield DisplayValue(Place(record, where), "argument_copies", text)


def _texts(output: Any) -> Iterator[str]:
    """The texts of an output; older clients wrote JSON into the string."""
    for _, text in string_values(output):
        yield text
        if text.startswith("{"):
            try:
                yield from (inner for _, inner in string_values(json_text.parse_text(text)))
            except (ValueError, RecursionError):
                continue
