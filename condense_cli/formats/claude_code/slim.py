"""What a Claude Code session holds for display alone and can do without.

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
from ...core.transcript import Place, Source, Transcript
from ...core.values import BlockKind
from ..engine.base import DisplayValue
from ..engine.display_text import known_lines, long_strings, objects_with, repeats_lines
from .display import KEY
from .kinds import REPLAY

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
