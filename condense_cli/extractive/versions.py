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
    parts = list(parts)
    failed = {part.block.answers for part in parts if part.is_result and tools.has_failed(part.block)}
    files: dict[str, _File] = {}
    for part in parts:
        call = part.call
        if call is None or call.call_id in failed:
            continue
        shown = _said(bodies[part.key])
        position = positions[part.key]
        is_writing = tools.writes_a_file(call)
        if not is_writing and (part.is_argument or not (tools.reads_a_file(call) or tools.prints_a_file(call))):
            continue
        path = tools.path_argument(call) or tools.main_argument(call)
        file = files.setdefault(path, _File({}))
        if part.is_result:
            if not is_writing and _is_whole(call):
                file.lines.clear()
        elif part.text in tools.matched_texts(call):
            file.edits += 1
            for line in shown:
                file.lines.pop(line, None)
            continue
        elif tools.replaces_a_file(call) and len(shown) > 1:
            file.edits += 1
            file.lines.clear()
        file.lines.update(dict.fromkeys(shown, position))
    found: dict[str, Editable] = {}
    for file in files.values():
        for line, position in file.lines.items():
            other = found.get(line)
            if other is None or position > other.position:
                found[line] = Editable(position, file.edits)
    return found


def _said(lines: Iterable[str]) -> list[str]:
    return [line for line in lines if len(line.strip()) >= SHORTEST_LINE]


def _is_whole(call: Block) -> bool:
    return tools.reads_a_file(call) and _PARTIAL.isdisjoint(tools.arguments_of(call) or {})
