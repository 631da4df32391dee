"""Text that a Claude Code record repeats for display: `toolUseResult` beside the tool result itself.

The model never sees it. When the result was shortened, the strings that repeat it are shortened too,
or the file would keep what the user asked to leave out; the second copy of an image that
was left out becomes its marker. The value's shape stays: renderers parse it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from .. import jsontext
from ..markers import Gap, content_hash, gaps_in
from ..transcript import Block, BlockKind, JsonPath, Transcript
from .base import RecordEdits

KEY: Final = "toolUseResult"

_SHORT: Final = 200
"""Strings of fewer characters are not worth a marker."""

_LINE_NUMBER: Final = re.compile(r"^\s*\d+[→\t|:] ?")


def shorten(transcript: Transcript, edits: RecordEdits, style: jsontext.Style) -> None:
    """Add edits for the strings that repeat a changed tool result of the same record."""
    for _, block in transcript.blocks():
        if not (block.changed and (block.kind is BlockKind.TOOL_RESULT or block.stands_in)):
            continue
        raw = transcript.source.raw(block.place.record)
        if b'"' + KEY.encode() + b'"' not in raw:
            continue
        value = jsontext.parse(raw)
        if not isinstance(value, dict) or KEY not in value:
            continue
        if block.stands_in:
            for path in _image_copies(value, block):
                edits[block.place.record][path] = style.literal(block.text)
            continue
        old = _text_at(value, block)
        if set(gaps_in(block.text)) <= set(gaps_in(old)):
            continue  # Nothing was left out: lines are said by reference, or restored.
        for path, text in _repeats(value[KEY], (KEY,), _known_lines(old)):
            edits[block.place.record][path] = style.literal(_shortened(text, block.text))


def _image_copies(value: Any, block: Block) -> set[JsonPath]:
    """Where the image stands again. The copy of an image file may have another size, so it is known by its place."""
    found: set[JsonPath] = set()
    shown = value[KEY]
    if isinstance(shown, dict) and shown.get("type") == "image" and block.answers:
        file = shown.get("file")
        if isinstance(file, dict) and isinstance(file.get("base64"), str):
            found.add((KEY, "file", "base64"))
    for key in block.place.path:
        value = value[key]
    source = value.get("source") if isinstance(value, dict) else None
    data = source.get("data") if isinstance(source, dict) else None
    return found | set(_copies(shown, (KEY,), data)) if isinstance(data, str) and data else found


def _copies(value: Any, path: JsonPath, data: str) -> Iterator[JsonPath]:
    if isinstance(value, str):
        if value == data:
            yield path
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _copies(item, (*path, key), data)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _copies(item, (*path, index), data)


def _text_at(value: Any, block: Block) -> str:
    """The result as the file has it."""
    for key in block.place.path:
        value = value[key]
    return str(value)


def _known_lines(text: str) -> set[str]:
    """Lines of the result before it was changed, with and without line numbers."""
    lines = [line.rstrip() for line in text.split("\n")]
    return {*lines, *(_LINE_NUMBER.sub("", line) for line in lines)}


def _repeats(value: Any, path: JsonPath, known: set[str]) -> Iterator[tuple[JsonPath, str]]:
    if isinstance(value, str):
        if len(value) >= _SHORT and all(line.rstrip() in known for line in value.split("\n")):
            yield path, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _repeats(item, (*path, key), known)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _repeats(item, (*path, index), known)


def _shortened(repeat: str, result: str) -> str:
    """The marker for the whole repeat; it names the result's hash, where that has one."""
    gaps = [gap for gap in gaps_in(result) if not gap.is_image]
    lines = repeat.count("\n") + 1
    return str(Gap(gaps[0].hash if gaps else content_hash(repeat), lines))
