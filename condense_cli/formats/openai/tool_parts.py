"""Calls and results that stand among the parts of a message's content, as some SDKs and exports write them.

    {"type": "tool_call", "tool_call_id", "name", "arguments"}      beside `tool_calls`, or in place of them
    {"type": "tool_output", "text": str | [part, ...]}              in a message of the role `tool`
    {"type": "tool-call", "toolCallId", "toolName", "input"}        the AI SDK's, all of one answer in one message
    {"type": "tool-result", "toolCallId", "toolName", "output": {"type": "text", "value"}}

https://ai-sdk.dev/docs/reference/ai-sdk-core/model-message
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from msgspec.structs import replace

from ...core import json_text
from ...core.transcript import Block, JsonPath, Place, Transcript
from ...core.values import BlockKind
from ..engine import repeats
from ..engine.base import RecordEdits, records_of, unknown_block

CALLS: Final = frozenset({"tool_call", "tool-call"})
RESULTS: Final = frozenset({"tool_output", "tool-result"})
KINDS: Final = {"assistant": CALLS, "tool": RESULTS}
"""Parts that may be in a message, by its role."""
_IDS: Final = ("tool_call_id", "toolCallId", "id")
_NAMES: Final = ("name", "toolName")
_ARGUMENTS: Final = ("arguments", "input", "args")
_SAID: Final = ("text", "output", "result", "content")
_OF_RESULTS: Final = frozenset({"type", "isError", "is_error", "providerOptions", *_IDS, *_NAMES})
"""All keys of a result that says nothing."""


def is_one(part: Any) -> bool:
    return isinstance(part, dict) and str(part.get("type")) in CALLS | RESULTS


def call_id(part: dict[str, Any]) -> str | None:
    return next((part[key] for key in _IDS if isinstance(part.get(key), str)), None)


def call(part: dict[str, Any], record: int, path: JsonPath, tools: dict[str, str]) -> Block:
    found, key = call_id(part), next((key for key in _ARGUMENTS if key in part), None)
    if found is None or key is None:
        return unknown_block(part, record, path)
    name = next((part[key] for key in _NAMES if isinstance(part.get(key), str)), "")
    tools[found] = name
    is_object = not isinstance(part[key], str)
    text = json_text.dump_compact(part[key]) if is_object else part[key]
    place = Place(record, (*path, key))
    return Block(BlockKind.TOOL_CALL, place, path, content=text, tool=name, call_id=found, is_object=is_object)


def result(
    part: dict[str, Any], record: int, path: JsonPath, owner: JsonPath, common: dict[str, Any], tools: dict[str, str]
) -> Iterator[Block]:
    """Blocks of one result. One that names its call is a block of its own, others are parts of their message's."""
    if (found := call_id(part)) is not None:
        named = next((part[key] for key in _NAMES if isinstance(part.get(key), str)), common.get("tool"))
        owner, common = path, {**common, "call_id": found, "tool": tools.get(found) or named}
    is_error = part.get("isError") is True or part.get("is_error") is True
    key = next((key for key in _SAID if key in part), None)
    if key is None and not part.keys() <= _OF_RESULTS:
        yield replace(unknown_block(part, record, path, owner, **common), is_error=is_error)
        return
    if key is None:
        yield Block(BlockKind.TOOL_RESULT, Place(record, path), owner, is_error=is_error, **common)
        return
    value, where = part[key], (*path, key)
    if isinstance(value, dict) and "value" in value:
        is_error = is_error or str(value.get("type")).startswith("error")
        value, where = value["value"], (*where, "value")
    if isinstance(value, list) and value:
        for number, item in enumerate(value):
            text = item.get("text") if isinstance(item, dict) else None
            yield _said(text, item, record, (*where, number, "text"), owner, is_error, common)
    else:
        yield _said(value, value, record, where, owner, is_error, common)


def _said(
    text: Any, whole: Any, record: int, path: JsonPath, owner: JsonPath, is_error: bool, common: dict[str, Any]
) -> Block:
    if isinstance(text, str):
        return Block(BlockKind.TOOL_RESULT, Place(record, path), owner, content=text, is_error=is_error, **common)
    path = path if text is whole else path[:-1]
    dumped = json_text.dump_compact(whole)
    return Block(BlockKind.OPAQUE, Place(record, path), owner, content=dumped, is_error=is_error, **common)


def repeated(value: Any) -> Iterator[tuple[int, str]]:
    """Number and id of each part that says once more what `tool_calls` say."""
    calls, content = value.get("tool_calls"), value.get("content")
    if isinstance(calls, list) and isinstance(content, list):
        ids = {str(one.get("id")) for one in calls if isinstance(one, dict)}
        for number, part in enumerate(content):
            if isinstance(part, dict) and str(part.get("type")) in CALLS and (found := call_id(part)) in ids:
                yield number, str(found)


def shown(transcript: Transcript) -> Iterator[repeats.Shown]:
    """What a file holds beside its messages, and the calls that stand in them twice."""
    yield from repeats.values_beside(transcript)
    for record, value in _holding(transcript):
        for number, _ in repeated(value):
            yield record, ("content", number), value["content"][number]


def complete(meant: Transcript, edits: RecordEdits, gone: frozenset[int], style: json_text.Style) -> None:
    _copies_go(meant, edits, gone, style)
    removed = {block.call_id for block in meant.removed if block.kind is BlockKind.TOOL_CALL}
    for record, value in _holding(meant) if removed else ():
        for number, found in repeated(value):
            if found in removed and record not in gone:
                edits[record] = {
                    path: literal for path, literal in edits[record].items() if path[:2] != ("content", number)
                }
                edits[record]["content", number] = json_text.REMOVE


def _holding(transcript: Transcript) -> Iterator[tuple[int, Any]]:
    """Records that may hold calls among the parts of their content."""
    source = transcript.source
    if any(f'"{kind}"'.encode() in source.data for kind in CALLS):
        yield from ((record, value) for record, value in records_of(source) if record < source.listed)


_copies_go: Final = repeats.completing(shown)
