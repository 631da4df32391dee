"""What calls did to the files of a conversation: where each was edited or written anew, and what edits replaced."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Struct

from ...core.transcript import Block
from ...toolcalls import tools
from ..parts import Key, Part

_FILE_NAME: Final = re.compile(r"(?<![^\s'\"|;&<>()])[^\s'\"|;&<>()]*[\w-]\.[A-Za-z]\w*(?=[\s'\"|;&<>()]|$)")
"""A word of a command that ends as files do; another one may be anything."""

_PLAIN: Final = frozenset("+ ")
"""How lines of a patch begin that are in the file afterwards."""


class Edit(Struct, frozen=True):
    """A change of a file that was made: where its arguments are, and the lines that are no longer in the file.

    One that `replaces_all` puts a whole file in place, with the lines `written`.
    """

    key: Key
    replaced: frozenset[str]
    replaces_all: bool
    written: frozenset[str]


class FileWork:
    """The edits of every file, in order."""

    def __init__(self, parts: Iterable[Part]) -> None:
        parts = [part for part in parts if part.call is not None]
        failed = {id(part.call) for part in parts if part.is_result and tools.has_failed(part.block)}
        self._paths: dict[int, tuple[str, ...]] = {}
        self._edits: dict[str, list[tuple[str, Edit]]] = {}
        seen: set[int] = set()
        for part in parts:
            call = part.call
            if call is None or not part.is_argument or id(call) in failed or id(call) in seen:
                continue
            seen.add(id(call))
            if tools.writes_a_file(call):
                edit = _edit(part.key, call)
                for path in self.paths(call):
                    self._edits.setdefault(_name(path), []).append((path, edit))

    def paths(self, call: Block | None) -> tuple[str, ...]:
        """The files that a call reads, prints or writes; of a command every word that is one by its ending."""
        if call is None:
            return ()
        known = self._paths.get(id(call))
        if known is None:
            known = self._paths[id(call)] = tuple(_paths(call))
        return known

    def edits_after(self, key: Key, call: Block | None) -> Iterator[Edit]:
        """The later edits of the files that a call is about, in order."""
        for path in self.paths(call):
            for other, edit in self._edits.get(_name(path), ()):
                # A call does not come after itself, whichever of its arguments is asked about.
                if edit.key[:2] > key[:2] and is_same_file(path, other):
                    yield edit


def is_same_file(one: str, other: str) -> bool:
    """Whether two paths name one file: they are equal, or the one in a folder is the end of the other."""
    shorter, longer = sorted((one.removeprefix("./"), other.removeprefix("./")), key=len)
    return longer == shorter or ("/" in shorter and longer.endswith(f"/{shorter}"))


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _paths(call: Block) -> Iterator[str]:
    if tools.writes_a_file(call) or tools.reads_a_file(call):
        yield from tools.patched_paths(call) or tools.paths(call)
    elif tools.prints_a_file(call):
        yield from _FILE_NAME.findall(tools.main_argument(call))


def _edit(key: Key, call: Block) -> Edit:
    matched = tools.matched_texts(call)
    written: set[str] = set()
    for _, value in tools.string_values(tools.arguments_of(call) or {"input": call.text}):
        if value not in matched:
            lines = value.split("\n")
            written.update(lines)
            # In a patch they have a sign before them.
            written.update(line[1:] for line in lines if line[:1] in _PLAIN)
    replaced = frozenset(line for text in matched for line in text.split("\n")) - written
    return Edit(key, replaced, tools.replaces_a_file(call), frozenset(written))
