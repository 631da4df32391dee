"""Refuse a file in which calls, results or most of the text are not understood. Warn of single parts that are not."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Sequence
from itertools import islice
from typing import Any, Final

from msgspec.structs import replace

from ..core import json_text
from ..core.markers import MARKER_BYTES
from ..core.transcript import IN_STRING, Block, BlockKey, JsonPath, Transcript
from ..core.values import BlockKind
from ..core.wording import plural
from ..errors import UnknownFormatError
from .engine.base import records_of
from .engine.blocks import unknown_block

_OF_RESULTS: Final = ("result", "output", "response", "observation")
_OF_CALLS: Final = ("call", "tool", "function", "invocation")
_MOST_NAMED: Final = 4
_BEGINNING: Final = 3
"""Number of records that may tell whose a file is: the first may be a system prompt."""
_LONGEST_KIND: Final = 30
_FEWEST: Final = 8
"""Number of calls or results of which at least one should have a text."""
_UNDER: Final = "If the file has some, they are under a key that is not known."
_BOOKKEEPING: Final = ("claude-code", "claude-stream-json", "codex", "pi", "qwen-code")
"""Formats in which records of unknown kinds are rarely part of the conversation: a few of them mean nothing."""
_LACKS: Final = " without "
"""Part of the name of a record that lacks what its kind needs."""
_WITH_OTHERS: Final = frozenset(
    {*_BOOKKEEPING, "copilot", "gemini", "gemini-log", "kimi", "opencode", "opencode-events", "openhands-sdk", "roo"}
)
"""Formats in which records with texts may be outside of the conversation. Their readers say which are not read."""
_FEWEST_WORDS: Final = 3
"""A string of so many words is a text, and no id, name or time."""
_BARE: Final = {
    BlockKind.TOOL_CALL: f"None of the {{}} calls has arguments. {_UNDER}",
    BlockKind.TOOL_RESULT: f"None of the {{}} results has a text. {_UNDER}",
}


def with_unread(transcript: Transcript) -> Transcript:
    """Return the transcript with texts that were not read: in calls and results that are empty, and in whole records.

    Their keys or types are not known. Such a call or result becomes an unknown block.
    """
    bare: dict[int, list[Block]] = {}
    read: dict[int, list[JsonPath]] = {}
    for message in transcript.messages:
        for block in message.blocks:
            paths = read.setdefault(block.place.record, [])
            if not _is_bare(block):
                paths.append(block.place.path)
            elif block.kind in _BARE and block.span is None and IN_STRING not in block.place.path:
                bare.setdefault(block.place.record, []).append(block)
    source = transcript.source
    unread = Tally(dict(transcript.unknown))
    for record in range(source.listed) if transcript.format not in _WITH_OTHERS else ():
        if record not in read and record not in source.unparsed:
            value = json_text.parse(source.view(record))
            if _holds_text(value, (), []):
                unread[" ".join(filter(None, ("record", _role(value), "without known content")))] += 1
    unknown: dict[BlockKey, Block] = {}
    for record, blocks in bare.items():
        value = json_text.parse(source.view(record))
        unknown |= {block.key: found for block in blocks if (found := _not_empty(block, value, read[record]))}
    if unknown:
        messages = (
            replace(message, blocks=tuple(unknown.get(block.key, block) for block in message.blocks))
            for message in transcript.messages
        )
        transcript = replace(transcript, messages=tuple(messages))
    return replace(transcript, unknown=tuple(unread.items())) if len(unread) > len(transcript.unknown) else transcript


def _is_bare(block: Block) -> bool:
    return block.content in ("", "{}") and not block.estimate


def _role(value: Any) -> str:
    found = (value.get(key) for key in ("role", "type")) if isinstance(value, dict) else ()
    return next((name for name in found if isinstance(name, str)), "")


def _not_empty(block: Block, value: Any, read: Sequence[JsonPath]) -> Block | None:
    """Return the unknown block of a call or result without a text; None if it is empty in the file too.

    If it is not, a value of another type is under its key, or no value, and somewhere a text that was not read.
    """
    where, found = _at(value, block.place.path)
    path, owned = _at(value, block.owner)
    if (where == block.place.path and found in ("", {}, [])) or not _holds_text(owned, path, read):
        return None
    return unknown_block(owned, block.place.record, path, block.owner, call_id=block.call_id, tool=block.tool)


def _at(value: Any, path: JsonPath) -> tuple[JsonPath, Any]:
    """Return a path and its value, or the longest part of the path that has a value."""
    for depth, key in enumerate(path):
        try:
            value = value[key]
        except (KeyError, IndexError, TypeError):
            return path[:depth], value
    return path, value


def _holds_text(value: Any, path: JsonPath, known: Sequence[JsonPath]) -> bool:
    """Return whether a text is in a value, outside of the paths that are known."""
    if path in known:
        return False
    if isinstance(value, str):
        return len(value.split(None, _FEWEST_WORDS)) >= _FEWEST_WORDS
    if isinstance(value, dict):
        return any(_holds_text(inner, (*path, key), known) for key, inner in value.items())
    return isinstance(value, list) and any(
        _holds_text(inner, (*path, number), known) for number, inner in enumerate(value)
    )


def checked(transcript: Transcript) -> Transcript:
    """Return the transcript with warnings about parts that are not understood, and calls or results without a text.

    Raises UnknownFormatError if most of the calls, the results or the text are not understood, but not if something of
    ours is in the file: it was understood once, and is smaller now by what was understood.
    """
    unknown: list[Block] = []
    empty, full = Tally[BlockKind](), set[BlockKind]()
    for message in transcript.messages:
        for block in message.blocks:
            if block.is_unknown:
                unknown.append(block)
            elif _is_bare(block):
                empty[block.kind] += 1
            else:
                full.add(block.kind)
    bare = [(kind, words) for kind, words in _BARE.items() if empty[kind] >= _FEWEST and kind not in full]
    said = [words.format(empty[kind]) for kind, words in bare]
    if unknown:
        said.append(_said_of(transcript, unknown))
    if transcript.unknown and (transcript.format not in _BOOKKEEPING or _matters(transcript)):
        said.append(_said_of_records(transcript))
    return replace(transcript, warnings=(*transcript.warnings, *said)) if said else transcript


def _said_of(transcript: Transcript, unknown: Sequence[Block]) -> str:
    kinds = Tally(map(_kind, unknown))
    named = ", ".join([*map(repr, [*kinds][:_MOST_NAMED]), *(["…"] if len(kinds) > _MOST_NAMED else [])])
    said, wrong = f"{named}, first {_place(unknown[0])}", _not_understood(transcript, unknown)
    if wrong and not MARKER_BYTES.search(transcript.source.data):
        from .refusing import foreign

        beginning = islice(records_of(transcript.source), _BEGINNING)
        if kind := next(filter(None, (foreign(value) for _, value in beginning)), None):
            raise UnknownFormatError(f"It is {kind.what}.", kind.instead)
        raise UnknownFormatError(
            f"It was read as {transcript.format}, but {wrong} in it cannot be understood: {said}.",
            "If it is of another format, name that with --format.",
        )
    parts = plural(len(unknown), "part")
    return f"{parts} of the messages cannot be understood and will not be changed: {said}."


def _matters(transcript: Transcript) -> bool:
    """Return whether records that are not understood may be messages, in a format with many other records."""
    unread = sum(number for _, number in transcript.unknown)
    return 2 * unread > len(transcript.messages) or any(_LACKS in name for name, _ in transcript.unknown)


def _said_of_records(transcript: Transcript) -> str:
    """Return the warning about records of which no block could be made."""
    unread = sum(number for _, number in transcript.unknown)
    named = ", ".join(name for name, _ in transcript.unknown[:_MOST_NAMED])
    if _is_most(transcript) and not MARKER_BYTES.search(transcript.source.data):
        raise UnknownFormatError(
            f"It was read as {transcript.format}, but most of its records cannot be understood: {named}.",
            "If it is of another format, name that with --format.",
        )
    return f"{plural(unread, 'record')} cannot be understood and will not be changed: {named}."


def _is_most(transcript: Transcript) -> bool:
    """Return whether most records that may be messages are not understood."""
    is_any = transcript.format not in _BOOKKEEPING
    unread = sum(number for name, number in transcript.unknown if is_any or _LACKS in name)
    return unread > max(len(transcript.messages), len({block.place.record for _, block in transcript.blocks()}))


def _not_understood(transcript: Transcript, unknown: Sequence[Block]) -> str:
    """Name the kind of content of which most is not understood; empty if there is none."""
    blocks = [block for _, block in transcript.blocks()]
    results = sum(_is_result(block) for block in unknown)
    calls = sum(not _is_result(block) and _is_named(block, _OF_CALLS) for block in unknown)
    known_calls = sum(block.kind is BlockKind.TOOL_CALL or bool(block.server_call) for block in blocks)
    known_results = sum(bool(block.answers) and not block.is_unknown for block in blocks)
    if results > known_results:
        return "most of the results"
    if calls > known_calls:
        return "most of the calls"
    return "most of the text" if 2 * _size(unknown) > _size(blocks) else ""


def _size(blocks: Sequence[Block]) -> int:
    return sum(len(block.text) for block in blocks)


def _place(block: Block) -> str:
    where = ".".join(str(key) for key in block.place.path if key != IN_STRING)
    return f"in record {block.place.record + 1}" + (f" at {where}" if where else "")


def _kind(block: Block) -> str:
    """Name a block by its type, or by its first keys if it has none."""
    if block.api_type:
        return block.api_type
    value = json_text.parse_text(block.text)
    if isinstance(value, dict) and "type" in value:
        return f"type {json_text.dump_compact(value['type'])[:_LONGEST_KIND]}"
    return ", ".join([*map(str, value)][:3]) if isinstance(value, dict) else type(value).__name__


def _is_result(block: Block) -> bool:
    return bool(block.answers) or _is_named(block, _OF_RESULTS)


def _is_named(block: Block, words: Sequence[str]) -> bool:
    kind = _kind(block).lower()
    return any(word in kind for word in words)
