"""Write a transcript back: exchange the changed values in the bytes of its file, and mend links between records."""

from __future__ import annotations

import json
from collections import Counter as Tally
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from io import BytesIO
from itertools import pairwise
from typing import Any, Final

from ...core import json_text
from ...core.transcript import IN_STRING, Block, JsonPath, Message, Place, Source, Transcript
from ...core.values import Container
from ...core.wording import plural
from .base import FileFault, FileRule, Format, RecordEdits, Rewrite, Values, derived_uuid, records_of


def write(transcript: Transcript, form: Format) -> bytes:
    """Return the bytes of the transcript in the format that it was read from.

    A record goes once all of its blocks are in `transcript.removed`. A record that nothing changed keeps its bytes.
    """
    if not transcript.is_changed:
        return transcript.source.data
    source = transcript.source
    values = Values(source)
    style = json_text.Style.of(source.data)
    begins_anew = transcript.has_new_summary or (form.is_log and bool(transcript.removed))
    gone = form.going(transcript, gone_records(transcript))
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
    form.beside.cut(transcript, edits, gone, style)
    form.complete(transcript, edits, gone, style)
    rewrite = Rewrite(transcript, edits, gone, style)
    if form.compaction and begins_anew:
        for record, blocks in changed.items():
            edits[record].update(_edits(blocks, source, values, style, form, edits[record]))
        return form.compaction(rewrite)
    records = {record for record, changes in edits.items() if changes} | changed.keys()
    staying = {block.place.record for _, block in transcript.blocks() if not block.is_inserted}

    def rewritten(record: int) -> bytes:
        # Edits of blocks take precedence: of a string of which one part goes and another changes, the rest stays.
        blocks = changed.get(record, ())
        new = [(message, block) for message, block in blocks if block.is_inserted and record in staying]
        kept = [(message, block) for message, block in blocks if not (new and block.is_inserted)]
        pieces = [rewrite.data(record, _edits(kept, source, values, style, form, edits[record]))]
        if not new:
            return pieces[0]
        for message, block in new:  # It replaces what a record holds behind what stays.
            members = form.new_message(message.role, style.literal(block.text), json_text.decode(source.raw(record)))
            if "id" in members:
                members["id"] = json.dumps(derived_uuid(members["id"], block.text))
            pieces.append(json_text.encode(new_record(source, block.place, members)))
        return separator_of(source).join(pieces)

    return join(source, records - gone, rewritten, gone)


def separator_of(source: Source) -> bytes:
    """Return what is between the records of a file, or what may be if it has only one."""
    between = (source.data[end:start] for (_, end), (start, _) in pairwise(source.spans[: source.listed]))
    return next(between, b"\n" if source.container is Container.LINES else b", ")


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
    """Return the edits of one record by its changed blocks. A new message takes over links among the edits `before`."""
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
            inside = _values(block) if block.is_object else [((), block.text)]
            string = strings[Place(block.place.record, path[:step])]
            string |= {(*path[step + 1 :], *deeper): value for deeper, value in inside}
        elif block.replaces_image:
            edits[path] = _text_part(block, values, style)
        elif block.is_object:
            edits |= {(*path, *deeper): style.dump(value) for deeper, value in _values(block)}
        else:
            edits[path] = style.literal(block.text[block.lead :])
    for place, parts in spans.items():
        text, position = values(place.record, place.path), 0
        pieces: list[str] = []
        for block in sorted(parts, key=lambda block: block.span or (0, 0)):
            start, end = block.span or (0, 0)
            pieces += (text[position:start], block.text)
            position = end
        edits[place.path] = style.literal("".join([*pieces, text[position:]]))
    for place, replacements in strings.items():
        text = values(place.record, place.path)
        # Bad bytes in the JSON text inside a string are as the file has them.
        of_text = json_text.Style.of(text.encode("utf-8", "surrogatepass"))
        inner = json_text.Style(of_text.escapes_non_ascii, of_text.is_utf8 and style.is_utf8)
        edits[place.path] = style.literal(json_text.replace_values(text, replacements, inner))
    return edits


def _values(block: Block) -> Iterator[tuple[JsonPath, Any]]:
    """Yield path and new value of each argument that changed, of arguments that are an object."""
    for path, text in block.edits:
        value: Any = text if text is None else str(text)
        if text is None:
            value = json_text.parse_text(block.text)
            for key in path:
                value = value[key]
        yield path, value


def slimmed_source(transcript: Transcript) -> bytes:
    """Return the bytes of the source without the values that `--slim` leaves out, and otherwise unchanged."""
    if not transcript.slimmed:
        return transcript.source.data
    edits: RecordEdits = defaultdict(dict)
    for slimmed in transcript.slimmed:
        edits[slimmed.place.record][slimmed.place.path] = slimmed.literal
    slim = Rewrite(transcript, edits, frozenset(), json_text.Style.of(b""))
    return join(transcript.source, edits, lambda record: slim.data(record, {}), frozenset())


def new_record(source: Source, place: Place, members: Mapping[str, str]) -> str:
    """Return the text of an object with these members (keys and JSON literals), laid out like the record at a place."""
    return json_text.object_like(json_text.decode(source.raw(place.record)), members)


def gone_records(transcript: Transcript) -> frozenset[int]:
    """Return the records that lost every block they had."""
    touched = {block.place.record for block in transcript.removed}
    if not touched:
        return frozenset()
    return frozenset(touched - {block.place.record for _, block in transcript.blocks()})


def _text_part(block: Block, values: Values, style: json_text.Style) -> str:
    """Return the text part that takes an image's place. The image's cache breakpoint and ids move to it."""
    part = values(block.place.record, block.place.path)
    part = part if isinstance(part, dict) else {}
    kind = '"type":"input_text",' if part.get("type") == "input_image" else '"type":"text",' if "type" in part else ""
    moved = "".join(f',"{key}":{json.dumps(part[key])}' for key in _MOVED if key in part)
    # Google's and Bedrock's parts are told apart by their keys, and they refuse one that they do not know.
    return f'{{{kind}"text":{style.literal(block.text)}{moved}}}'


_MOVED: Final = ("cache_control", "id", "sessionID", "messageID")


def join(source: Source, records: Iterable[int], rewritten: Callable[[int], bytes], gone: frozenset[int]) -> bytes:
    """Return the file's bytes with some `records` `rewritten` and the `gone` ones taken out with their lines or commas.

    Rewrites each record when its turn comes, so that the new texts are never in memory all at once.
    """
    cuts: list[tuple[int, int, int | None]] = [(*source.spans[record], record) for record in records]
    if source.container is Container.LINES:
        for record in gone:
            start, end = source.spans[record]
            line_end = source.data.find(b"\n", end)
            cuts.append((source.data.rfind(b"\n", 0, start) + 1, line_end + 1 or len(source.data), None))
    else:
        members = json_text.remove_members(source.spans[: source.listed], gone)
        cuts += [(start, end, None) for start, end, _ in members]
    # Room for all of it at once: a buffer that grows moves, and leaves a hole where it was. Memory that is never
    # written to is not taken from the system.
    data, output = memoryview(source.data), BytesIO(bytes(len(source.data)))
    position = 0
    for start, end, new in sorted(cuts, key=lambda cut: cut[:2]):
        output.write(data[position:start])
        if new is not None:
            output.write(rewritten(new))
        position = end
    output.write(data[position:])
    output.truncate()
    return output.getvalue()


def relink(source: Source, edits: RecordEdits, gone: frozenset[int], *, key: str, parent: str) -> None:
    """Add edits to the records that stay: a link to a record that goes leads to the nearest one above it that stays.

    `key` and `parent` are the keys of a record's name and of its link.
    """
    values = {record: value for record, value in records_of(source) if isinstance(value, dict)} if gone else {}
    parents = {str(values[record].get(key)): values[record].get(parent) for record in gone if record in values}
    for record, value in values.items():
        target = value.get(parent)
        if record not in gone and isinstance(target, str) and target in parents:
            edits[record][(parent,)] = json.dumps(surviving(target, parents))


def surviving(name: str | None, parents: Mapping[str, Any]) -> str | None:
    """Return the nearest record above one that goes that stays, None if there is none.

    `parents` are the links of the records that go, keyed by their names. Links may form a loop.
    """
    seen: set[str] = set()
    target: Any = name
    while isinstance(target, str) and target in parents and target not in seen:
        seen.add(target)
        target = parents[target]
    return target if isinstance(target, str) and target not in seen else None


def not_reached(first: int, link: str, earlier: int) -> tuple[str, ...]:
    """Warn that the conversation begins at record `first` because its `link` names no record of the file.

    `earlier` counts the records of messages before it; there is no warning if it is 0.
    """
    if not earlier:
        return ()
    return (
        f"The {link} of record {first + 1} names no record in the file. The client begins there and never sends "
        f"{plural(earlier, 'record')} before it; they stay in the file.",
    )


def parents_exist(link: str) -> FileRule:
    """Return the rule that the first record of the conversation is a root."""

    def missing(transcript: Transcript) -> Iterator[FileFault]:
        if transcript.begins_in_middle:
            first = min((block.place.record for _, block in transcript.blocks()), default=0)
            yield FileFault("parents_exist", first, f"{link} names no record in the file")

    return FileRule(missing)
