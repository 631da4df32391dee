"""Text that a Claude Code record repeats for display: `toolUseResult` beside the tool result itself.

The model never sees it. When the result was shortened, the strings that repeat it are shortened too,
or the file would keep what the user asked to leave out. The value's shape stays: renderers parse it.
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
        if not (block.changed and block.kind is BlockKind.TOOL_RESULT):
            continue
        raw = transcript.source.raw(block.place.record)
        if b'"' + KEY.encode() + b'"' not in raw:
            continue
        value = jsontext.parse(raw)
        if not isinstance(value, dict) or KEY not in value:
            continue
        for path, text in _repeats(value[KEY], (KEY,), _known_lines(value, block)):
            edits[block.place.record][path] = style.literal(_shortened(text, block.text))


def _known_lines(value: Any, block: Block) -> set[str]:
    """Lines of the result before it was changed, with and without line numbers."""
    for key in block.place.path:
        value = value[key]
    lines = [line.rstrip() for line in value.split("\n")]
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
    gaps = gaps_in(result)
    lines = repeat.count("\n") + 1
    return str(Gap(gaps[0].hash if gaps else content_hash(repeat), lines))
