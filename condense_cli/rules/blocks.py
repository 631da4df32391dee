"""Rules of Anthropic's API about blocks of some kinds: server tools, thinking, documents, compactions, cache marks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from ..core import json_text
from ..core.transcript import SERVER_CALLS, JsonPath, Transcript
from ..core.values import Role
from .violations import Violation

_CACHE_MARKS: Final = 4


def server_calls_answered(transcript: Transcript) -> Iterator[Violation]:
    """Calls of server tools have results, and results have calls before them.

    Where a client's tools were called beside it, the result is in the next answer; code that calls them itself goes on
    until the user speaks again. https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons
    """
    called: set[str] = set()
    waiting: dict[str, tuple[int, bool]] = {}
    for message in transcript.messages:
        for block in message.blocks:
            call = block.server_call
            if not call:
                continue
            if block.api_type in SERVER_CALLS:
                called.add(call)
                waiting[call] = message.index, '"name":"code_execution"' in block.text
                continue
            waiting.pop(call, None)
            if call not in called:
                said = (
                    f"messages.{message.index}: unexpected `tool_use_id` found in `{block.api_type}` blocks: {call}. "
                    f"Each `{block.api_type}` block must have a corresponding `server_tool_use` block before it."
                )
                yield Violation("server_calls_answered", message.index, call, said)
        is_over = message.role is Role.USER and not message.answers_calls
        for call, (index, is_code) in list(waiting.items()):
            if index != message.index and (is_over or (message.role is Role.ASSISTANT and not is_code)):
                said = f"messages.{index}: tool use with id `{call}` was found without a corresponding result block"
                yield Violation("server_calls_answered", index, call, said)
                del waiting[call]


def thinking_is_signed(transcript: Transcript) -> Iterator[Violation]:
    """The API takes back what it signed, also without the text of it. Models of others think without a signature."""
    if transcript.model and "claude" not in transcript.model.lower():
        return
    for message, block in transcript.blocks():
        if block.unsigned:
            said = f"messages.{message.index}: Invalid `signature` in `thinking` block"
            yield Violation("thinking_is_signed", message.index, str(block.place), said)


def documents_not_from_assistant(transcript: Transcript) -> Iterator[Violation]:
    """https://platform.claude.com/docs/en/api/migration-2026-10-21"""
    for message, block in transcript.blocks():
        if block.api_type == "document" and message.role is Role.ASSISTANT:
            said = f"messages.{message.index}: `document` blocks are not allowed in assistant messages"
            yield Violation("documents_not_from_assistant", message.index, str(block.place), said)


def compaction_comes_first(transcript: Transcript) -> Iterator[Violation]:
    """A signed compaction. One without a signature is older: the API leaves out what stands before it."""
    source = transcript.source
    for position, (message, block) in enumerate(transcript.blocks()):
        if not position or block.api_type != "compaction":
            continue
        if "signature" in _value_at(json_text.parse(source.view(block.place.record)), block.place.path):
            said = f"messages.{message.index}: compaction_block_misplaced: it must be the first block, and the only one"
            yield Violation("compaction_comes_first", message.index, str(block.place), said)


def at_most_four_cache_marks(transcript: Transcript) -> Iterator[Violation]:
    source = transcript.source
    if b"cache_control" not in source.data:
        return
    owners: dict[int, dict[JsonPath, int]] = {}
    for message, block in transcript.blocks():
        if not block.is_inserted:
            owners.setdefault(block.place.record, {})[block.owner] = message.index
    marked = [
        index
        for record, paths in owners.items()
        if b"cache_control" in source.raw(record)
        for value in (json_text.parse(source.view(record)),)
        for path, index in paths.items()
        for part in _with_parts(_value_at(value, path))
        if part.get("cache_control")
    ]
    if len(marked) > _CACHE_MARKS:
        said = f"A maximum of {_CACHE_MARKS} blocks with cache_control may be provided. Found {len(marked)}."
        yield Violation("at_most_four_cache_marks", marked[_CACHE_MARKS], "", said)


def _value_at(value: Any, path: JsonPath) -> dict[str, Any]:
    """The object at a path of a record; an empty one where there is none, or it stands inside a string."""
    try:
        for key in path:
            value = value[key]
    except (LookupError, TypeError):
        return {}
    return value if isinstance(value, dict) else {}


def _with_parts(value: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """An API block and those inside it."""
    content = value.get("content")
    yield value
    yield from (part for part in (content if isinstance(content, list) else ()) if isinstance(part, dict))
