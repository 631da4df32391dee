"""Text that a Claude Code record repeats for display: `toolUseResult` beside the tool result itself.

The model never sees it. When the result was shortened, the strings that repeat it are shortened too,
or the file would keep what the user asked to leave out; the second copy of an image that
was left out becomes its marker. The value's shape stays: renderers parse it.
"""

from __future__ import annotations

from typing import Any, Final

from ...core import json_text
from ...core.markers import REFERENCE_PREFIX, gaps_in
from ...core.transcript import Block, JsonPath, Transcript
from ...core.values import BlockKind
from ...toolcalls.tools import string_values
from ..engine.base import RecordEdits
from ..engine.display_text import FAILED, known_lines, long_strings, marker_of, repeats_lines

KEY: Final = "toolUseResult"


def shorten(transcript: Transcript, edits: RecordEdits, style: json_text.Style) -> None:
    """Add edits for the strings that repeat a changed tool result of the same record."""
    everywhere: set[str] = set()
    for _, block in transcript.blocks():
        if not (block.changed and (block.kind is BlockKind.TOOL_RESULT or block.stands_in)):
            continue
        raw = transcript.source.raw(block.place.record)
        if b'"' + KEY.encode() + b'"' not in raw:
            continue
        written = block.text
        gaps = set(gaps_in(written))
        if not (gaps or block.stands_in):
            continue  # Nothing was left out: lines are said by reference, or restored.
        value = json_text.parse(raw)
        if not isinstance(value, dict) or KEY not in value:
            continue
        if block.stands_in:
            for path in _image_copies(value, block):
                edits[block.place.record][path] = style.literal(written)
            continue
        shown = list(long_strings(value[KEY], (KEY,)))
        old = _text_at(value, block) if shown else ""
        if not shown or gaps <= set(gaps_in(old)):
            continue
        known: set[str] = set()
        for path, text in shown:
            if text.removeprefix(FAILED) == old:
                edits[block.place.record][path] = style.literal(marker_of(text, written))
                continue
            known = known or known_lines(old)
            if REFERENCE_PREFIX in old:
                everywhere = everywhere or _all_lines(transcript)
                known |= everywhere
            if repeats_lines(text, known):
                edits[block.place.record][path] = style.literal(marker_of(text, written))


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
    if isinstance(data, str) and data:
        found.update(path for path, text in string_values(shown, (KEY,)) if text == data)
    return found


def _text_at(value: Any, block: Block) -> str:
    """The result as the file has it."""
    for key in block.place.path:
        value = value[key]
    return str(value)


def _all_lines(transcript: Transcript) -> set[str]:
    """Every line of the conversation as the file has it; what a reference stands for is among them."""
    blocks = [*(block for _, block in transcript.blocks()), *transcript.removed]
    lines: set[str] = set()
    for record in {block.place.record for block in blocks}:
        for _, text in string_values(json_text.parse(transcript.source.raw(record)).get("message")):
            lines |= known_lines(text)
    return lines
