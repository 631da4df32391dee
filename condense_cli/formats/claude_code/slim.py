"""Find what a Claude Code session holds for display alone, how many bytes it takes, and what it can do without.

The model never sees it. When the result was shortened, the strings that repeat it are shortened too,
or the file would keep what the user asked to leave out; the second copy of an image that
was left out becomes its marker. The value's shape stays: renderers parse it.

Only what stands in the file a second time, and old versions of files that nothing draws. Version 2.1 of
the client itself empties `originalFile` of more than 10,000 characters when it writes a session, and
the same fields of older results in memory. A patch and the content of a created file stay: from
these it draws and counts changed lines. Snapshots of the file history stay, for `/rewind` needs them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from msgspec import Struct

from ...core import json_text
from ...core.markers import REFERENCE_PREFIX, gaps_in
from ...core.transcript import Block, JsonPath, Place, Source, Transcript
from ...core.values import BlockKind
from ...toolcalls.tools import string_values
from ..engine.base import DisplayValue, RecordEdits
from ..engine.writing import FAILED, known_lines, long_strings, marker_of, objects_with, repeats_lines
from .records import OVERHEAD, REPLAY, SENT
from .writing import Links, read_links

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


_CONTENT: Final[tuple[JsonPath, ...]] = (("message", "content"), ("attachment",), ("content",))
_FOR: Final = ("sent", "display_copies", "keys", "not_live", "prompt", "request_copies", "other_records", "between")


def sizes(transcript: Transcript) -> dict[str, int]:
    """Bytes by what they are for; they add up to the file.

    `sent` content of the conversation, `display_copies` copies of tool results that only the client
    shows, `keys` everything else in these records (ids, times, usage), `not_live` messages of older
    branches, sub-agents and before the last compaction, `prompt` the system prompt and tools,
    `request_copies` requests written once more, `other_records` whole records that are no messages
    (snapshots, progress, summaries), `between` what separates the records.
    """
    source = transcript.source
    live = {block.place.record for _, block in transcript.blocks()}
    found = dict.fromkeys(_FOR, 0)
    links = read_links(source)
    for record, (start, end) in enumerate(source.spans):
        size = end - start
        if record in live:
            text = json_text.decode(source.raw(record))
            sent = sum(_size(text, path) for path in _CONTENT)
            display = _size(text, (KEY,)) if f'"{KEY}"' in text else 0
            found["sent"] += sent
            found["display_copies"] += display
            found["keys"] += size - sent - display
        else:
            found[_aside(source, record, links.get(record, Links()))] += size
    found["between"] = len(source.data) - sum(found.values())
    return found


def _aside(source: Source, record: int, links: Links) -> str:
    """What a record is for that is not sent."""
    if links.type in REPLAY:
        return "request_copies"
    if links.type == "attachment":
        value = json_text.parse(source.raw(record))
        attachment = value.get("attachment")
        kind = str(attachment.get("type")) if isinstance(attachment, dict) else ""
        if kind in OVERHEAD:
            return "prompt"
        return "not_live" if "rendered" in value or kind in SENT else "other_records"
    return "not_live" if links.type in ("user", "assistant") else "other_records"


def _size(text: str, path: JsonPath) -> int:
    """Bytes of the value at a path of a JSON text; 0 where there is none."""
    try:
        without = json_text.splice(text, {path: ""})
    except KeyError:
        return 0
    return len(json_text.encode(text)) - len(json_text.encode(without))


_ORIGINALS: Final = {"originalFile", "originalFileContents"}
_DRAWN: Final = "structuredPatch"


def display_values(transcript: Transcript) -> Iterator[DisplayValue]:
    """Values of `toolUseResult` that stand elsewhere or are not drawn, progress of answered calls, requests."""
    said: dict[int, set[str]] = {}
    for _, block in transcript.blocks():
        if block.kind is BlockKind.TOOL_RESULT:
            said.setdefault(block.place.record, set()).update(known_lines(block.text))
    held = _held(transcript.source)
    for record, value in objects_with(transcript.source, KEY, "progress", *REPLAY):
        if str(value.get("type")) in REPLAY:
            yield from _of_request(record, value)
            continue
        calls = [str(value.get(key)) for key in ("toolUseID", "parentToolUseID")]
        if value.get("type") == "progress" and not held.answered.isdisjoint(calls):
            for path, text in long_strings(value.get("data"), ("data",)):
                yield DisplayValue(Place(record, path), "progress", text)
        if KEY in value:
            yield from _of_result(record, value, said.get(record, set()), held)


def _of_request(record: int, value: dict[str, Any]) -> Iterator[DisplayValue]:
    """Lists of what a request held: system prompt and tools, or the content of a message."""
    for path in (("shape", "system"), ("shape", "tools"), ("message", "content")):
        holder = value.get(path[0])
        content = holder.get(path[1]) if isinstance(holder, dict) else None
        if isinstance(content, list) and content:
            yield DisplayValue(Place(record, path), "request_copies", None)
        elif isinstance(content, str):
            for where, text in long_strings(content, path):
                yield DisplayValue(Place(record, where), "request_copies", text)


class _Held(Struct):
    """What stands in messages: arguments of calls, images and documents, and the ids of calls that have a result.

    `todo_lists` are those that results so far have set.
    """

    arguments: set[str]
    data: set[str]
    answered: set[str]
    todo_lists: set[str]


def _held(source: Source) -> _Held:
    held = _Held(set(), set(), set(), set())
    for _, value in objects_with(source, "tool_use", "tool_result", "image", "document"):
        if str(value.get("type")) in REPLAY:
            continue
        for part in _parts(value):
            if part.get("type") == "tool_use":
                held.arguments.update(text for _, text in long_strings(part.get("input"), ()))
            elif part.get("type") == "tool_result" and isinstance(part.get("tool_use_id"), str):
                held.answered.add(part["tool_use_id"])
            elif isinstance(data := _data(part), str):
                held.data.add(data)
    return held


def _of_result(record: int, value: dict[str, Any], known: set[str], held: _Held) -> Iterator[DisplayValue]:
    shown = value[KEY]
    known = known.union(*(known_lines(text) for text in _result_texts(value)))
    has_image = any(_data(part) is not None for part in _parts(value))
    is_created = isinstance(shown, dict) and shown.get("type") == "create"
    emptied = False
    if isinstance(shown, dict):
        emptied = isinstance(shown.get("oldTodos"), list) and _spelled(shown["oldTodos"]) in held.todo_lists
        if emptied and shown["oldTodos"]:
            yield DisplayValue(Place(record, (KEY, "oldTodos")), "todo_lists", None)
        held.todo_lists.add(_spelled(shown.get("newTodos")))
    for path, text in long_strings(shown, (KEY,)):
        if _DRAWN in path or (emptied and path[1] == "oldTodos") or (is_created and path == (KEY, "content")):
            continue
        place = Place(record, path)
        if path[-1] in _ORIGINALS:
            yield DisplayValue(place, "original_files", text)
        elif text in held.data or (has_image and path == (KEY, "file", "base64")):
            yield DisplayValue(place, "image_copies", text, is_image=True)
        elif repeats_lines(text, known):
            yield DisplayValue(place, "result_copies", text)
        elif text in held.arguments:
            yield DisplayValue(place, "argument_copies", text)


def _parts(value: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The parts of a record's message, and those of the results in it."""
    message = value.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    for part in content if isinstance(content, list) else ():
        if isinstance(part, dict):
            yield part
            inner = part.get("content") if part.get("type") == "tool_result" else None
            yield from (item for item in inner if isinstance(item, dict)) if isinstance(inner, list) else ()


def _result_texts(value: dict[str, Any]) -> Iterator[str]:
    """The texts of a record's results; in a record with a display copy, a text part belongs to one."""
    for part in _parts(value):
        for text in (part.get("text"), part.get("content")):
            if isinstance(text, str):
                yield text


def _data(part: dict[str, Any]) -> str | None:
    source = part.get("source")
    data = source.get("data") if isinstance(source, dict) else None
    return data if isinstance(data, str) and data else None


def _spelled(value: Any) -> str:
    return json_text.dump_compact(value)
