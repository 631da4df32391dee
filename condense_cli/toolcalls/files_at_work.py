"""Find the blocks that show files at work: those that an agent writes, reads or names now."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import Enum, auto
from typing import Final

from msgspec import Struct

from ..core.transcript import Block, Message
from ..core.values import BlockKind
from .tools import (
    patched_paths,
    path_argument,
    printing_commands,
    reads_a_file,
    replaces_a_file,
    writes_a_file,
)

_WORD: Final = re.compile(r"[^\s'\"`;|&<>()]+")


class _How(Enum):
    WRITTEN = auto()
    """By an edit, or as a whole, in the call. Its result says only that it was done, or repeats the call's lines."""
    READ = auto()
    """By a tool for reading; edits come from another tool, which keeps what it writes in its call."""
    PRINTED = auto()
    """By a shell command, which prints only what it was asked for."""


class _Shown(Struct, frozen=True):
    """A block with lines of files; `call` is the position of its call."""

    position: int
    number: int
    block: Block
    call: int
    how: _How
    paths: tuple[str, ...]


class _Work(Struct):
    """Effects of the calls in a conversation: where each path was last written, or written as a whole; where each
    file name was last touched; the newest of calls that ask for the same; blocks with lines of files."""

    written: dict[str, int]
    replaced: dict[str, int]
    touched: dict[str, int]
    newest: dict[tuple[str, str], str]
    shown: list[_Shown]


def blocks_at_work(messages: Sequence[Message], begin: int, end: int, turns: int) -> Iterator[str]:
    """Yield selectors of the blocks in messages[begin:end] that show files at work.

    These are calls that wrote, unless the whole file was written later; the newest read of a file in the last
    `turns` messages, unless a later call wrote to it; and what commands printed of files touched in those messages.
    """
    work, length = _work_in(messages), len(messages)
    newest = set(work.newest.values())

    def is_at_work(one: _Shown) -> bool:
        if one.how is _How.WRITTEN:
            return all(work.replaced.get(path, -1) <= one.call for path in one.paths)
        if one.block.answers not in newest:
            return False
        if one.how is _How.READ:
            return length - one.position <= turns and not any(
                work.written.get(path, -1) > one.call for path in one.paths
            )
        return any(length - work.touched[_name(path)] <= turns for path in one.paths)

    for one in work.shown:
        if begin <= one.position < end and is_at_work(one):
            yield f"{messages[one.position].index}.{one.number}"


def _work_in(messages: Sequence[Message]) -> _Work:
    work = _Work({}, {}, {}, {}, [])
    calls: dict[str, tuple[int, _How, tuple[str, ...]]] = {}
    for position, message in enumerate(messages):
        for number, block in enumerate(message.blocks):
            if block.kind is BlockKind.TOOL_CALL:
                deed = _deed(block)
                if deed is None:
                    continue
                how, paths = deed
                calls[block.call_id or ""] = position, how, paths
                work.touched.update(dict.fromkeys(map(_name, paths), position))
                if how is _How.WRITTEN:
                    work.written.update(dict.fromkeys(paths, position))
                    if replaces_a_file(block):
                        work.replaced.update(dict.fromkeys(paths, position))
                    work.shown.append(_Shown(position, number, block, position, how, paths))
                else:
                    work.newest[block.tool or "", block.text] = block.call_id or ""
            elif block.kind is BlockKind.TOOL_RESULT and block.answers in calls:
                call, how, paths = calls[block.answers]
                if how is not _How.WRITTEN:
                    work.shown.append(_Shown(position, number, block, call, how, paths))
    return work


def _deed(call: Block) -> tuple[_How, tuple[str, ...]] | None:
    """Return how a call uses files, and which ones."""
    patched = patched_paths(call)
    if patched or writes_a_file(call):
        return _How.WRITTEN, tuple(filter(None, (path_argument(call), *patched)))
    if reads_a_file(call):
        path = path_argument(call)
        return (_How.READ, (path,)) if path else None
    words = (word for command in printing_commands(call) for word in _WORD.findall(command))
    printed = tuple(word for word in words if "." in _name(word))
    return (_How.PRINTED, printed) if printed else None


def _name(path: str) -> str:
    """Return the file name alone: calls and patches may use different relative paths for one file."""
    return path.replace("\\", "/").rstrip("/").rpartition("/")[2]


def texts_at_work(messages: Sequence[Message], end: int) -> list[tuple[int, int]]:
    """Return (message, block) of what shows files that messages[end:] use or name, newest first.

    Of equal calls only the newest counts, and nothing of a file that was written as a whole later.
    """
    work = _work_in(messages)
    newest = set(work.newest.values())
    said = (block.text for message in messages[end:] for block in message.blocks if block.kind is BlockKind.TEXT)
    named = {_name(word.rstrip(".,:")) for text in said for word in _WORD.findall(text)}

    def is_at_work(one: _Shown) -> bool:
        if one.how is not _How.WRITTEN and one.block.answers not in newest:
            return False
        names = {_name(path) for path in one.paths}
        is_used = not named.isdisjoint(names) or any(work.touched[name] >= end for name in names)
        return is_used and all(work.replaced.get(path, -1) <= one.call for path in one.paths)

    return [(one.position, one.number) for one in reversed(work.shown) if one.position < end and is_at_work(one)]
