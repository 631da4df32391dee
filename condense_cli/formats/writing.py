"""Writing a transcript back: the bytes of its file, with only the changed values exchanged."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable
from io import BytesIO

from .. import jsontext
from ..transcript import Block, Container, JsonPath, Place, Source, Transcript
from .base import Format, RecordEdits


def write(transcript: Transcript, form: Format) -> bytes:
    """Bytes of the transcript in the format it was read from.

    Blocks in `transcript.removed` go; a record all of whose blocks went goes with them. Every record
    that nothing changed keeps its bytes.
    """
    if not transcript.is_changed:
        return transcript.source.data
    source = transcript.source
    gone = _gone(transcript)
    style = jsontext.Style.of(source.data)
    changed: dict[int, list[Block]] = defaultdict(list)
    for _, block in transcript.blocks():
        if block.changed:
            changed[block.place.record].append(block)
    edits: RecordEdits = defaultdict(dict)
    for block in transcript.removed:
        if block.place.record not in gone:
            edits[block.place.record][block.owner] = jsontext.REMOVE
    form.complete(transcript, edits, gone, style)

    def rewritten(record: int) -> bytes:
        # Of a string of which one part went and another changed, what is left stays.
        all_edits = edits[record] | _edits(changed[record], source, style)
        return jsontext.encode(jsontext.splice(jsontext.decode(source.raw(record)), all_edits))

    return _join(source, (edits.keys() | changed.keys()) - gone, rewritten, gone)


def _edits(blocks: list[Block], source: Source, style: jsontext.Style) -> dict[JsonPath, str | None]:
    """What the changed blocks of one record exchange in it."""
    edits: dict[JsonPath, str | None] = {}
    spans: dict[Place, list[Block]] = defaultdict(list)
    for block in blocks:
        if block.span:
            spans[block.place].append(block)
        elif block.stands_in:
            edits[block.place.path] = _text_part(block, source, style)
        elif block.is_object:
            path = block.place.path
            edits |= {(*path, *inner): style.literal(str(value)) for inner, value in block.edits}
        else:
            edits[block.place.path] = style.literal(block.text)
    for place, parts in spans.items():
        edits[place.path] = style.literal(_respanned(source, place, parts))
    return edits


def _gone(transcript: Transcript) -> frozenset[int]:
    """Records that lost every block they had."""
    touched = {block.place.record for block in transcript.removed}
    if not touched:
        return frozenset()
    return frozenset(touched - {block.place.record for _, block in transcript.blocks()})


def _text_part(block: Block, source: Source, style: jsontext.Style) -> str:
    """The text part that takes an image's place. A cache breakpoint set on the image moves to it."""
    part = jsontext.parse(source.raw(block.place.record))
    for key in block.place.path:
        part = part[key]
    literal = f'{{"type":"text","text":{style.literal(block.text)}'
    if isinstance(part, dict) and "cache_control" in part:
        literal += f',"cache_control":{json.dumps(part["cache_control"])}'
    return literal + "}"


def _respanned(source: Source, place: Place, blocks: list[Block]) -> str:
    """The string at a place with the parts that changed exchanged."""
    text = jsontext.parse(source.raw(place.record))
    for key in place.path:
        text = text[key]
    pieces: list[str] = []
    position = 0
    for block in sorted(blocks, key=lambda block: block.span or (0, 0)):
        start, end = block.span or (0, 0)
        pieces += (text[position:start], block.text)
        position = end
    return "".join([*pieces, text[position:]])


def _join(source: Source, records: Iterable[int], rewritten: Callable[[int], bytes], gone: frozenset[int]) -> bytes:
    """The file's bytes with some records written anew and some taken out, each with its line or comma."""
    cuts: list[tuple[int, int, int | None]] = [(*source.spans[record], record) for record in records]
    cuts += [(start, end, None) for start, end in _removals(source, gone)]
    # Room for all of it at once: a buffer that grows moves, and leaves a hole where it was. Memory that is never
    # written to is not taken from the system.
    data, output = memoryview(source.data), BytesIO(bytes(len(source.data)))
    position = 0
    for start, end, record in sorted(cuts, key=lambda cut: cut[:2]):
        output.write(data[position:start])
        if record is not None:
            output.write(rewritten(record))
        position = end
    output.write(data[position:])
    output.truncate()
    return output.getvalue()


def _removals(source: Source, gone: frozenset[int]) -> list[tuple[int, int]]:
    if source.container is not Container.LINES:
        return [(start, end) for start, end, _ in jsontext.remove_members(source.spans, gone)]
    spans = []
    for record in gone:
        start, end = source.spans[record]
        line_start = source.data.rfind(b"\n", 0, start) + 1
        line_end = source.data.find(b"\n", end)
        spans.append((line_start, len(source.data) if line_end < 0 else line_end + 1))
    return spans
