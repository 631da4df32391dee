"""Write a transcript back: the bytes of its file with only the changed values exchanged, and links mended."""

from __future__ import annotations

import json
from collections import Counter as Tally
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from io import BytesIO
from itertools import groupby
from typing import Any, Final

from msgspec.structs import replace

from ...core import json_text
from ...core.lazy_pattern import lazy_pattern
from ...core.markers import Gap, gaps_in, short_hash
from ...core.transcript import IN_STRING, Block, JsonPath, Message, Place, Slimmed, Source, Transcript
from ...core.values import Container
from ...core.wording import plural
from ...toolcalls.tools import string_values
from .base import DisplayValue, FileFault, FileRule, Format, RecordEdits, Rewrite, Values, records_of


def write(transcript: Transcript, form: Format) -> bytes:
    """Bytes of the transcript in the format it was read from.

    Blocks in `transcript.removed` go; a record all of whose blocks went goes with them. Every record
    that nothing changed keeps its bytes.
    """
    if not transcript.is_changed:
        return transcript.source.data
    source = transcript.source
    values = Values(source)
    style = json_text.Style.of(source.data)
    begins_anew = transcript.has_new_summary or (form.is_log and bool(transcript.removed))
    gone = frozenset() if form.is_log else gone_records(transcript) - form.fixed(transcript)
    gone |= form.again(source, gone)
    changed: dict[int, list[tuple[Message, Block]]] = defaultdict(list)
    for message, block in transcript.blocks():
        if block.changed and not (block.is_inserted and form.compaction):
            changed[block.place.record].append((message, block))
    edits: RecordEdits = defaultdict(dict)
    for slimmed in transcript.slimmed:
        edits[slimmed.place.record][slimmed.place.path] = slimmed.literal
    for block in transcript.removed:
        if block.place.record not in gone:
            edits[block.place.record][block.owner] = json_text.REMOVE
    _drop_empty_lists(edits, values)
    form.complete(transcript, edits, gone, style)
    rewrite = Rewrite(transcript, edits, gone, style)
    if form.compaction and begins_anew:
        for record, blocks in changed.items():
            edits[record].update(_edits(blocks, source, values, style, form, edits[record]))
        return form.compaction(rewrite)
    records = {record for record, changes in edits.items() if changes} | changed.keys()
    # Of a string of which one part went and another changed, what is left stays: the edits of blocks go before.
    return join(
        source,
        records - gone,
        lambda record: rewrite.data(
            record, _edits(changed.get(record, ()), source, values, style, form, edits[record])
        ),
        gone,
    )


def _drop_empty_lists(edits: RecordEdits, values: Values) -> None:
    """Remove lists of calls that lose all of theirs: OpenAI refuses an empty one."""
    for record, changes in edits.items():
        lists = Tally(path[:-1] for path, new in changes.items() if new is None and path[-2:-1] == ("tool_calls",))
        for path, lost in lists.items():
            found = values(record, path)
            if isinstance(found, list) and len(found) == lost:
                for number in range(lost):
                    del changes[*path, number]
                changes[path] = json_text.REMOVE


def _edits(
    blocks: Iterable[tuple[Message, Block]],
    source: Source,
    values: Values,
    style: json_text.Style,
    form: Format,
    before: Mapping[JsonPath, str | None],
) -> dict[JsonPath, str | None]:
    """What the changed blocks of one record exchange in it. Edits `before` lead a new message to what stays, too."""
    edits: dict[JsonPath, str | None] = {}
    spans: dict[Place, list[Block]] = defaultdict(list)
    strings: dict[Place, dict[JsonPath, Any]] = defaultdict(dict)
    for message, block in blocks:
        path = block.place.path
        if block.is_inserted:
            replaced = json_text.decode(source.raw(block.place.record))
            members = form.new_message(message.role, style.literal(block.text), replaced)
            links = {str(path[0]): literal for path, literal in before.items() if len(path) == 1 and literal}
            members |= {key: literal for key, literal in links.items() if key in members}
            edits[()] = json_text.object_like(replaced, members)
        elif block.span:
            spans[block.place].append(block)
        elif IN_STRING in path:
            step = path.index(IN_STRING)
            string, inner = Place(block.place.record, path[:step]), path[step + 1 :]
            values_inside = _values(block) if block.is_object else [((), block.text)]
            strings[string] |= {(*inner, *deeper): value for deeper, value in values_inside}
        elif block.stands_in:
            edits[path] = _text_part(block, values, style)
        elif block.is_object:
            edits |= {(*path, *deeper): style.dump(value) for deeper, value in _values(block)}
        else:
            edits[path] = style.literal(block.text[block.lead :])
    for place, parts in spans.items():
        edits[place.path] = style.literal(_respanned(values(place.record, place.path), parts))
    for place, replacements in strings.items():
        text = values(place.record, place.path)
        edits[place.path] = style.literal(json_text.replace_values(text, replacements, _inside(text, style)))
    return edits


def _inside(text: str, style: json_text.Style) -> json_text.Style:
    """The style of a JSON text inside a string of a file, whose bad bytes it has as the file has them."""
    inner = json_text.Style.of(text.encode("utf-8", "surrogatepass"))
    return json_text.Style(inner.escapes_non_ascii, inner.is_utf8 and style.is_utf8)


def _values(block: Block) -> Iterator[tuple[JsonPath, Any]]:
    """The values that were exchanged in arguments that are an object, by their paths."""
    for path, text in block.edits:
        value: Any = text if text is None else str(text)
        if text is None:
            value = json_text.parse_text(block.text)
            for key in path:
                value = value[key]
        yield path, value


def slimmed_source(transcript: Transcript) -> bytes:
    """The bytes of the source without what only a client shows, and nothing else changed."""
    if not transcript.slimmed:
        return transcript.source.data
    edits: RecordEdits = defaultdict(dict)
    for slimmed in transcript.slimmed:
        edits[slimmed.place.record][slimmed.place.path] = slimmed.literal
    slim = Rewrite(transcript, edits, frozenset(), json_text.Style.of(b""))
    return join(transcript.source, edits, lambda record: slim.data(record, {}), frozenset())


def new_record(source: Source, place: Place, members: Mapping[str, str]) -> str:
    """Text of an object with these members (keys and JSON literals), laid out as the record at a place is."""
    return json_text.object_like(json_text.decode(source.raw(place.record)), members)


def gone_records(transcript: Transcript) -> frozenset[int]:
    """Records that lost every block they had."""
    touched = {block.place.record for block in transcript.removed}
    if not touched:
        return frozenset()
    return frozenset(touched - {block.place.record for _, block in transcript.blocks()})


def _text_part(block: Block, values: Values, style: json_text.Style) -> str:
    """The text part that takes an image's place. A cache breakpoint set on the image moves to it, and so do ids."""
    part = values(block.place.record, block.place.path)
    part = part if isinstance(part, dict) else {}
    kind = '"type":"input_text",' if part.get("type") == "input_image" else '"type":"text",'
    moved = "".join(f',"{key}":{json.dumps(part[key])}' for key in _MOVED if key in part)
    # Gemini's parts are told apart by their keys, and it refuses one that it does not know.
    return f'{{{"" if "inlineData" in part else kind}"text":{style.literal(block.text)}{moved}}}'


_MOVED: Final = ("cache_control", "id", "sessionID", "messageID")


def _respanned(text: str, blocks: list[Block]) -> str:
    """The text with the parts that changed exchanged."""
    pieces: list[str] = []
    position = 0
    for block in sorted(blocks, key=lambda block: block.span or (0, 0)):
        start, end = block.span or (0, 0)
        pieces += (text[position:start], block.text)
        position = end
    return "".join([*pieces, text[position:]])


def join(source: Source, records: Iterable[int], rewritten: Callable[[int], bytes], gone: frozenset[int]) -> bytes:
    """The file's bytes with some records written anew and some taken out, each with its line or comma.

    Each record is asked for when its turn comes, so that the new texts are never there all at once.
    """
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
        return [(start, end) for start, end, _ in json_text.remove_members(source.spans[: source.listed], gone)]
    spans = []
    for record in gone:
        start, end = source.spans[record]
        line_start = source.data.rfind(b"\n", 0, start) + 1
        line_end = source.data.find(b"\n", end)
        spans.append((line_start, len(source.data) if line_end < 0 else line_end + 1))
    return spans


def relink(source: Source, edits: RecordEdits, gone: frozenset[int], *, key: str, parent: str) -> None:
    """Add edits to the records that stay: what named a record that goes names the one before that.

    `key` and `parent` are the keys of a record's name and of its link.
    """
    values = {record: value for record, value in records_of(source) if isinstance(value, dict)} if gone else {}
    before = {str(values[record].get(key)): values[record].get(parent) for record in gone if record in values}
    for record, value in values.items():
        target = value.get(parent)
        if record in gone or not isinstance(target, str) or target not in before:
            continue
        seen: set[str] = set()
        while isinstance(target, str) and target in before and target not in seen:
            seen.add(target)
            target = before[target]
        is_known = isinstance(target, str) and target not in seen
        edits[record][(parent,)] = json.dumps(target if is_known else None)


def not_reached(first: int, link: str, earlier: int) -> tuple[str, ...]:
    """A warning about a conversation that begins at record `first`, whose `link` leads to no record of the file.

    `earlier` is how many messages are before it; none where there are none.
    """
    if not earlier:
        return ()
    return (
        f"The {link} of record {first + 1} names no record in the file. The client begins there and never sends "
        f"{plural(earlier, 'message')} before it; they stay in the file.",
    )


def parents_exist(link: str) -> FileRule:
    """The rule that the first record of the conversation is a root, which the client would read on from otherwise."""

    def missing(transcript: Transcript) -> Iterator[FileFault]:
        if transcript.begins_in_middle:
            first = min((block.place.record for _, block in transcript.blocks()), default=0)
            yield FileFault("parents_exist", first, f"{link} names no record in the file")

    return missing


_SHORT: Final = 200
"""Strings of fewer characters are not worth a marker."""

FAILED: Final = "Error: "
"""What Claude Code writes before some texts that it shows."""

_LINE_NUMBER: Final = lazy_pattern(r"^\s*\d+(?:[→\t]|[|:] ?)")


def known_lines(text: str) -> set[str]:
    """Lines of a text, with and without line numbers."""
    lines = list(map(str.rstrip, text.split("\n")))
    return {
        *lines,
        *(line[match.end() :] for line, match in zip(lines, map(_LINE_NUMBER.match, lines), strict=True) if match),
    }


def repeats_lines(text: str, known: set[str]) -> bool:
    """Whether all lines of a text are known."""
    return known.issuperset(map(str.rstrip, text.removeprefix(FAILED).split("\n")))


def marker_of(repeat: str, result: str) -> str:
    """The marker for a text that repeats a result; it names the hash in the shortened result, where that has one."""
    gaps = [gap for gap in gaps_in(result) if not gap.is_image]
    lines = repeat.count("\n") + 1
    return str(Gap(gaps[0].hash if gaps else short_hash(repeat), lines))


def long_strings(value: Any, path: JsonPath) -> Iterator[tuple[JsonPath, str]]:
    """Strings inside a value that stands at a path of its record, where they are worth a marker."""
    return ((where, text) for where, text in string_values(value, path) if len(text) >= _SHORT)


def objects_with(source: Source, *words: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Records that are objects and hold one of the words as a string."""
    needles = [f'"{word}"'.encode() for word in words]
    for record in range(len(source.spans)):
        raw = source.raw(record)
        if record in source.unparsed or not any(needle in raw for needle in needles):
            continue
        value = json_text.parse(raw)
        if isinstance(value, dict):
            yield record, value


def slimmed(transcript: Transcript, plain: tuple[Message, ...], form: Format) -> Iterator[Slimmed]:
    """What of the source only a client shows, in records that stay. `plain` are its messages without references."""
    if form.display is None:
        return
    source = transcript.source
    style = json_text.Style.of(source.data)
    keeps_all = form.compaction is not None and transcript.has_new_summary
    gone = frozenset() if keeps_all else gone_records(transcript)
    found = form.display(replace(transcript, messages=plain))
    for record, values in groupby(found, lambda value: value.place.record):
        if record in gone:
            continue
        literals = {value.place.path: (value, _literal(value, style)) for value in values}
        text = json_text.decode(source.raw(record))
        for path, (start, end) in json_text.locate(text, literals).items():
            value, literal = literals[path]
            saved = len(json_text.encode(text[start:end])) - len(json_text.encode(literal))
            yield Slimmed(value.place, value.kind, literal, saved)


def _literal(value: DisplayValue, style: json_text.Style) -> str:
    if value.text is None:
        return "[]"
    digest = short_hash(value.text)
    gap = Gap(digest, is_image=True) if value.is_image else Gap(digest, value.text.count("\n") + 1)
    return style.literal(str(gap))
