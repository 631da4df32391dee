"""The newest known state of each file, line by line: what an edit may have to match, without what was replaced."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import Struct

from .. import tools
from ..transcript import Block
from .parts import Key, Part

SHORTEST_LINE: Final = 3
"""Lines of fewer characters, such as a closing bracket, are no reason to keep anything."""

_PARTIAL: Final = frozenset(
    {"offset", "limit", "view_range", "line", "line_number", "start_line", "end_line", "StartLine"}
)
"""Arguments that say that only a part of a file is shown."""


class _File(Struct):
    """Lines of a file as they were last shown or written, each with the position where that was."""

    lines: dict[str, int]
    edits: int = 0


class _Deed(Struct, frozen=True):
    """What a call does to a file: whether its arguments go into it, its result shows it, and either of it the whole."""

    path: str = ""
    writes: bool = False
    shows: bool = False
    shows_all: bool = False
    replaces_all: bool = False
    replaced: frozenset[str] = frozenset()


class Editable(Struct, frozen=True):
    """A line of the newest state: where it was shown last, and how often its file was edited."""

    position: int
    edits: int


def editable_lines(
    parts: Iterable[Part], bodies: Mapping[Key, list[str]], positions: Mapping[Key, int]
) -> dict[str, Editable]:
    """Lines of the newest known state of every file, by the line.

    `bodies` are the lines of each part without the numbers of listings, `positions` its place in the conversation.
    """
    parts = [part for part in parts if part.call is not None]
    failed = {part.block.answers for part in parts if part.is_result and tools.has_failed(part.block)}
    deeds: dict[int, _Deed] = {}
    files: dict[str, _File] = {}
    for part in parts:
        call = part.call
        if call is None or (call.call_id and call.call_id in failed):
            continue
        deed = deeds.get(id(call)) or deeds.setdefault(id(call), _deed(call))
        if not (deed.shows if part.is_result else deed.writes):
            continue
        file = files.setdefault(deed.path, _File({}))
        lines = [line for line in bodies[part.key] if len(line.strip()) >= SHORTEST_LINE]
        if part.is_argument and part.text in deed.replaced:
            file.edits += 1
            for line in lines:
                file.lines.pop(line, None)
            continue
        if part.is_argument and deed.replaces_all and len(lines) > 1:
            file.edits += 1
            file.lines.clear()
        elif part.is_result and deed.shows_all:
            file.lines.clear()
        file.lines.update(dict.fromkeys(lines, positions[part.key]))
    found: dict[str, Editable] = {}
    for file in files.values():
        for line, position in file.lines.items():
            other = found.get(line)
            if other is None or position > other.position:
                found[line] = Editable(position, file.edits)
    return found


def _deed(call: Block) -> _Deed:
    writes, reads = tools.writes_a_file(call), tools.reads_a_file(call)
    if not (writes or reads or tools.prints_a_file(call)):
        return _Deed()
    return _Deed(
        tools.path_argument(call) or tools.main_argument(call),
        writes,
        True,
        not writes and reads and _PARTIAL.isdisjoint(tools.arguments_of(call) or {}),
        tools.replaces_a_file(call),
        frozenset(tools.matched_texts(call)),
    )
