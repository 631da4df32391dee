"""What a client keeps for display in the object that holds a tool's result: most often the same text."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from ...core import json_text
from ...core.markers import gaps_in
from ...core.transcript import Block, JsonPath, Place, Transcript
from ...core.values import BlockKind
from .base import DisplayValue, RecordEdits
from .display_text import known_lines, long_strings, marker_of, repeats_lines


def shorten(transcript: Transcript, edits: RecordEdits, style: json_text.Style, beside: JsonPath) -> None:
    """Add edits for strings that repeat a result which was shortened; they stand at the path `beside` of its owner."""
    changed: dict[int, list[Block]] = defaultdict(list)
    for _, block in transcript.blocks():
        if block.changed and block.kind is BlockKind.TOOL_RESULT:
            changed[block.place.record].append(block)
    for record, blocks in changed.items():
        value = json_text.parse(transcript.source.raw(record))
        for block in blocks:
            old = _at(value, block.place.path)
            if set(gaps_in(block.text)) <= set(gaps_in(old)):
                continue  # Nothing was left out: lines are said by reference, or restored.
            known = known_lines(old)
            for path, text in _beside(value, (*block.owner, *beside)):
                if repeats_lines(text, known):
                    edits[record][path] = style.literal(marker_of(text, block.text))


def display_values(transcript: Transcript, beside: JsonPath) -> Iterator[DisplayValue]:
    """Strings at the path `beside` of a result's owner that repeat the result."""
    blocks = [block for _, block in transcript.blocks() if block.kind is BlockKind.TOOL_RESULT]
    found: dict[int, list[Block]] = defaultdict(list)
    for block in blocks:
        found[block.place.record].append(block)
    for record in sorted(found):
        value = json_text.parse(transcript.source.raw(record))
        for block in found[record]:
            known = known_lines(_at(value, block.place.path)) | known_lines(block.text)
            for path, text in _beside(value, (*block.owner, *beside)):
                if repeats_lines(text, known):
                    yield DisplayValue(Place(record, path), "result_copies", text)


def _at(value: Any, path: JsonPath) -> str:
    for key in path:
        value = value[key]
    return str(value)


def _beside(value: Any, path: JsonPath) -> Iterator[tuple[JsonPath, str]]:
    for key in path[:-1]:
        value = value[key]
    return long_strings(value.get(path[-1]), path)
