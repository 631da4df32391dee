"""Files that the agent is at work on: what later edits have to match is most often in what it read and wrote of them.

An agent reads several files, and edits each of them twenty turns later. Whatever is cut from such a read in between has
to be read again. In recorded sessions a token of what the agent itself wrote is matched by a later edit twice as often
as one of a file that it read, and that six times as often as one that a shell printed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import Enum, auto
from pathlib import PurePosixPath
from typing import Final

from msgspec import Struct

from ..core.transcript import Block, Message
from ..core.values import BlockKind
from ..toolcalls.tools import (
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
    """By an edit, or as a whole: the call. Its result says no more than that it was done, or shows the call's lines."""
    READ = auto()
    """By a tool for that, which is told to edit by another one that keeps what it writes in its call."""
    PRINTED = auto()
    """By a command of a shell, which shows no more than it was asked for."""


class _Shown(Struct, frozen=True):
    """A block that holds lines of files; `call` is the position of its call."""

    position: int
    number: int
    block: Block
    call: int
    how: _How
    paths: tuple[str, ...]


class _Work(Struct):
    """What the calls of a conversation did: where files were last written, or written as a whole, by their paths, or
    touched, by their names; which call is the newest of those that ask for the same; what shows lines of files."""

    written: dict[str, int]
    replaced: dict[str, int]
    touched: dict[str, int]
    newest: dict[tuple[str, str], str]
    shown: list[_Shown]


def blocks_at_work(messages: Sequence[Message], begin: int, end: int, turns: int) -> Iterator[str]:
    """Selectors of the blocks of messages[begin:end] that show files at work.

    That are calls that wrote, unless the whole file was written later; in the last `turns` messages the newest read of
    a file that no call has written to since; and what a command printed of files that were touched in them.
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
    """What a call does with files, and with which."""
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
    """The last part of a path: a command and a patch may name the same file from different folders."""
    return PurePosixPath(path.replace("\\", "/")).name
