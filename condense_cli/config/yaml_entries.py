"""Where the entries of a YAML text are: each with the comments that stand above it.

    passes:
      # Old results first.          <- head of the entry below, however far that moves
      - id: results
        mode: extract
        # nothing else yet          <- deeper than the entries: the tail of the one above

PyYAML says where nodes begin and where scalars end; the rest, comments above all, is found here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, Final

import yaml
from msgspec import Struct

from .positions import KeyPath, snake_case

_BLOCK_SCALARS: Final = ("|", ">")


class Entry(Struct, frozen=True):
    """An entry of a block collection, in lines: its head begins at `head`, itself at `start`, and it ends at `stop`.

    `end` is the line after its last content; from there on to `stop` are comments that are deeper than it.
    """

    head: int
    start: int
    end: int
    stop: int


class Found(Struct, frozen=True):
    """A value of the text: its node, the collection that it is in, and its place in that. The root has no parent."""

    node: Any
    parent: Any = None
    place: int = 0


class Text:
    """A YAML text whose nodes are looked for by their paths. It has to be valid, and small enough to be composed."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = text.split("\n")
        self.root: Any = yaml.compose(text, Loader=yaml.SafeLoader)

    @cached_property
    def _offsets(self) -> list[int]:
        offsets = [0]
        for line in self.lines:
            offsets.append(offsets[-1] + len(line) + 1)
        return offsets

    def line_of(self, index: int) -> int:
        """The line of a character."""
        import bisect

        return bisect.bisect_right(self._offsets, index) - 1

    def offset(self, line: int) -> int:
        """The first character of a line; the end of the text for the line after the last."""
        return min(self._offsets[line], len(self.text))

    def walk(self, path: KeyPath) -> list[Found]:
        """The values on a path, the root first, as far as there are any."""
        found = [Found(self.root)]
        for step in path:
            node = found[-1].node
            place = place_of(node, step)
            if place is None:
                break
            value = node.value[place]
            found.append(Found(value[1] if is_mapping(node) else value, node, place))
        return found

    def end_of(self, node: Any) -> int:
        """The character after the last one of a value."""
        if isinstance(node, yaml.ScalarNode):
            end = int(node.end_mark.index)
            if node.style in _BLOCK_SCALARS:
                start = int(node.start_mark.index)
                return start + len(self.text[start:end].rstrip("\n "))
            return end
        if node.flow_style or not node.value:
            return int(node.end_mark.index)
        last = node.value[-1]
        return self.end_of(last[1] if is_mapping(node) else last)

    def entries(self, path: KeyPath) -> list[Entry]:
        """The entries of the block collection at a path."""
        first, stop = self._header(), len(self.lines) - (self.lines[-1] == "")
        steps = self.walk(path)
        for outer in steps[1:]:
            entry = self._entries(outer.parent, first, stop)[outer.place]
            first, stop = entry.start, entry.stop
        return self._entries(steps[-1].node, first, stop)

    def _header(self) -> int:
        """Lines at the top that belong to no entry: up to the document's start, or comments before a blank line."""
        before = self.lines[: self.root.start_mark.line]
        for number, line in enumerate(before):
            if line.startswith("---"):
                return number + 1
        blank = [number for number, line in enumerate(before) if not line.strip()]
        return blank[-1] + 1 if blank and any(line.strip() for line in before[: blank[-1]]) else 0

    def _entries(self, node: Any, first: int, stop: int) -> list[Entry]:
        """The entries of a block collection in lines from `first` up to `stop`."""
        starts = list(self._starts(node))
        ends = [self.line_of(self.end_of(value)) + 1 for value in values_of(node)]
        column = int(node.start_mark.column)
        found = []
        head = first if starts[0] > first and self._is_quiet(first) else min(first + 1, starts[0])
        for number, (start, end) in enumerate(zip(starts, ends, strict=True)):
            last = number == len(starts) - 1
            next_head = stop if last else self._tail_end(end, starts[number + 1], column)
            found.append(Entry(head, start, end, next_head))
            head = next_head
        return found

    def _is_quiet(self, line: int) -> bool:
        return not self.lines[line].strip() or self.lines[line].lstrip().startswith("#")

    def _starts(self, node: Any) -> Iterator[int]:
        """The line of each entry: that of its key, or of its dash."""
        if is_mapping(node):
            yield from (int(key.start_mark.line) for key, _ in node.value)
            return
        column, after = int(node.start_mark.column), int(node.start_mark.line)
        for item in node.value:
            line = int(item.start_mark.line)
            while line > after and not self._has_dash(line, column):
                line -= 1
            yield line
            after = self.line_of(self.end_of(item)) + 1

    def _has_dash(self, line: int, column: int) -> bool:
        text = self.lines[line]
        return text[column : column + 1] == "-" and text[column + 1 : column + 2] in ("", " ")

    def _tail_end(self, end: int, start: int, column: int) -> int:
        """Where comments that are deeper than the entries end, and the head of the next one begins."""
        stop = end
        for line in range(end, start):
            text = self.lines[line]
            if text.strip() and len(text) - len(text.lstrip()) <= column:
                break
            if text.strip():
                stop = line + 1
        return stop


def is_mapping(node: Any) -> bool:
    return isinstance(node, yaml.MappingNode)


def is_block(node: Any) -> bool:
    """Whether a node is a collection with an entry in each line."""
    return isinstance(node, yaml.CollectionNode) and not node.flow_style and bool(node.value)


def values_of(node: Any) -> Sequence[Any]:
    return [value for _, value in node.value] if is_mapping(node) else node.value


def place_of(node: Any, step: str | int) -> int | None:
    """The place of a key or an item in a collection; None where there is none."""
    if is_mapping(node):
        keys = [snake_case(key.value) for key, _ in node.value]
        return keys.index(str(step)) if step in keys else None
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        return step
    return None
