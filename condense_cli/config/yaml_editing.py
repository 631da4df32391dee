"""Edit a YAML text: each edit changes the lines of its entry, and no other; comments stay with their entries.

passes:
      # Old results first.          <- head of the entry below, however far that moves
      - id: results
        mode: extract
        # nothing else yet          <- deeper than the entries: the tail of the one above

PyYAML says where nodes begin and where scalars end; the rest, comments above all, is found here.

Where a value is written anew, comments inside it move above the entry, so that none is lost but those of an entry that
is removed.

Every edit is proven: the new text is read, and has to say what was meant. Where it does not (an alias, say), the text
is written anew from its values, with all comments at the top.
"""

from __future__ import annotations

import bisect
import json
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, Final

import yaml
from msgspec import Struct

from ..errors import ConfigurationError
from .positions import KeyPath, snake_case, value_at
from .yaml_reading import read_yaml

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
        """Return the line of a character."""
        return bisect.bisect_right(self._offsets, index) - 1

    def offset(self, line: int) -> int:
        """Return the index of the first character of a line; for the line after the last, the end of the text."""
        return min(self._offsets[line], len(self.text))

    def walk(self, path: KeyPath) -> list[Found]:
        """Yield the values on a path, the root first, as far as they exist."""
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
        """Return the index after the last character of a value."""
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
        """Return the entries of the block collection at a path."""
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
        """Return the entries of a block collection in the lines from `first` to before `stop`."""
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
        """Return the line of each entry: that of its key, or of its dash."""
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
        """Return the line between deeper comments of an entry and the head of the next one."""
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
    """Return the index of a key or an item in a collection, or None."""
    if is_mapping(node):
        keys = [snake_case(key.value) for key, _ in node.value]
        return keys.index(str(step)) if step in keys else None
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        return step
    return None


_WIDE: Final = 100
"""Characters of a line up to which a collection is written in it."""
_ENDLESS: Final = 1 << 30


class NotInPlaceError(ValueError):
    """The text holds something that no edit in its place is known for."""


class _Dumper(yaml.SafeDumper):
    """Writes long texts with escapes, so that each value fits in one line, and no aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text_node(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"' if "\n" in text else None)


_Dumper.add_representer(str, _text_node)


def in_line(value: Any) -> str:
    """Return a value in one line, as inside another value."""
    dumped = yaml.dump(
        [value], Dumper=_Dumper, default_flow_style=True, width=_ENDLESS, allow_unicode=True, sort_keys=False
    )
    return dumped.strip()[1:-1].strip()


def in_lines(value: Any) -> list[str]:
    """Return a collection with a line for each entry; short entries stay in one line."""
    if isinstance(value, dict) and value:
        return [line for key, item in value.items() for line in _entry_lines(in_line(key), item)]
    if isinstance(value, list) and value:
        return [line for item in value for line in _item_lines(item)]
    return [in_line(value)]


def _entry_lines(key: str, value: Any) -> list[str]:
    line = f"{key}: {in_line(value)}"
    if len(line) <= _WIDE or not isinstance(value, dict | list) or not value:
        return [line]
    return [f"{key}:", *(f"  {line}" for line in in_lines(value))]


def _item_lines(value: Any) -> list[str]:
    if not isinstance(value, dict | list) or not value:
        return [f"- {in_line(value)}"]
    first, *rest = in_lines(value)
    return [f"- {first}", *(f"  {line}" for line in rest)]


def put(text: str, path: KeyPath, value: Any, meant: Any) -> str:
    """Return the text with a value at a path; `meant` are all values after the edit."""
    found = Text(text)
    if found.root is None:
        return "\n".join([*in_lines(meant), *([text.strip("\n")] if text.strip() else []), ""])
    steps = found.walk(path)
    deepest, node = len(steps) - 1, steps[-1].node
    if deepest < len(path) and not is_mapping(node):  # Nothing, or a list, is there: it is written anew.
        if deepest == 0:
            raise NotInPlaceError
        return _exchanged(found, path[:deepest], value_at(meant, path[:deepest]))
    if deepest == len(path):
        return _exchanged(found, path, value)
    key, inner = str(path[deepest]), value_at(meant, path[: deepest + 1])
    if is_block(node):
        last = found.entries(path[:deepest])[-1]
        lead = " " * int(node.start_mark.column)
        new = [lead + line for line in _entry_lines(key, inner)]
        return _joined(found, found.lines[: last.end], new, found.lines[last.end :])
    addition = f"{key}: {in_line(inner)}"
    if node.value:
        end = found.end_of(node.value[-1][1])
        return f"{text[:end]}, {addition}{text[end:]}"
    start = int(node.start_mark.index) + 1
    return f"{text[:start]}{addition}{text[start:]}"


def _exchanged(found: Text, path: KeyPath, value: Any) -> str:
    """Return the text with the value at a path replaced."""
    text, step = found.text, found.walk(path)[-1]
    start, end = int(step.node.start_mark.index), found.end_of(step.node)
    written = in_line(value)
    if is_block(step.parent):
        start = _after_key(found, path)
        written = _behind_key(value, int(step.parent.start_mark.column), is_item=not is_mapping(step.parent))
    comments = list(_comments(found, start, end, step.node))
    return _hoisted(found, path, comments, text[:start] + written + text[end:])


def _behind_key(value: Any, column: int, *, is_item: bool) -> str:
    """Return a value to put after a colon or a dash: in the same line, or in lines of its own."""
    line = in_line(value)
    if not (isinstance(value, dict | list) and value) or len(line) <= _WIDE - column:
        return f" {line}"
    lead = "\n" + " " * (column + 2)
    return f"{' ' if is_item else lead}{lead.join(in_lines(value))}"


def _after_key(found: Text, path: KeyPath) -> int:
    """Return the index after the colon of an entry, or after the dash of an item, in a block."""
    step = found.walk(path)[-1]
    if is_mapping(step.parent):
        return found.text.index(":", found.end_of(step.parent.value[step.place][0])) + 1
    entry = found.entries(path[:-1])[step.place]
    return found.offset(entry.start) + int(step.parent.start_mark.column) + 1


def _comments(found: Text, start: int, end: int, node: Any) -> Iterator[str]:
    """Return the comments in a part of the text that is written anew; a # inside a text is none."""
    scalars = [*_scalars(node)]
    for line in range(found.line_of(start), found.line_of(end) + 1):
        text, begin = found.lines[line], found.offset(line)
        for place, character in enumerate(text):
            index = begin + place
            is_comment = character == "#" and (place == 0 or text[place - 1] in " \t")
            if is_comment and start <= index < end and not any(first <= index < last for first, last in scalars):
                yield text[place:].rstrip()
                break


def _scalars(node: Any) -> Iterator[tuple[int, int]]:
    if isinstance(node, yaml.ScalarNode):
        yield int(node.start_mark.index), int(node.end_mark.index)
        return
    for item in node.value:
        for part in item if is_mapping(node) else (item,):
            yield from _scalars(part)


def _hoisted(found: Text, path: KeyPath, comments: list[str], text: str) -> str:
    """Return the text with these comments above the innermost block entry on the path."""
    if not comments:
        return text
    steps, depth = found.walk(path), len(path)
    while depth and not is_block(steps[depth - 1].node):
        depth -= 1
    if not depth:
        return "\n".join([*comments, text])
    starts = [found.entries(path[:above])[steps[above + 1].place].start for above in range(depth)]
    # The first key of an item is on the line of its dash: comments go above the item.
    while depth > 1 and starts[depth - 1] == int(steps[depth - 1].node.start_mark.line):
        if is_mapping(steps[depth - 1].parent):
            break
        depth -= 1
    lead = " " * int(steps[depth - 1].node.start_mark.column)
    at = found.offset(starts[depth - 1])
    return text[:at] + "".join(f"{lead}{comment}\n" for comment in comments) + text[at:]


def remove(text: str, path: KeyPath, meant: Any) -> str:
    """Return the text without the entry at a path and the comments above it."""
    found = Text(text)
    step = found.walk(path)[-1]
    if len(values_of(step.parent)) == 1:
        if len(path) == 1:
            raise NotInPlaceError
        return _exchanged(found, path[:-1], value_at(meant, path[:-1]))
    if not is_block(step.parent):
        return _without_part(found, step)
    entries = found.entries(path[:-1])
    entry = entries[step.place]
    column = int(step.parent.start_mark.column)
    behind = found.lines[entry.start][:column]
    if not behind.strip():
        # Of the blank lines between entries as many go as entries do.
        stop = entry.stop if step.place else entry.stop + _blank_lines(found, entries[1])
        return _joined(found, found.lines[: entry.head], [], found.lines[stop:])
    following = entries[step.place + 1]  # The first of an item, behind its dash.
    head = [line for line in found.lines[following.head : following.start] if line.strip()]
    first = found.lines[following.start]
    new = [behind.rstrip(), *head, first] if head else [behind + first[column:]]
    return _joined(found, found.lines[: entry.start], new, found.lines[following.start + 1 :])


def _without_part(found: Text, step: Any) -> str:
    """Return the text without a part of a collection in one line."""
    text, parts = found.text, step.parent.value
    starts = [int((part[0] if is_mapping(step.parent) else part).start_mark.index) for part in parts]
    ends = [found.end_of(value) for value in values_of(step.parent)]
    if step.place + 1 < len(parts):
        return text[: starts[step.place]] + text[starts[step.place + 1] :]
    return text[: ends[step.place - 1]] + text[ends[step.place] :]


def insert(text: str, path: KeyPath, index: int, value: Any, meant: Any) -> str:
    """Return the text with a new item in the list at a path."""
    found = Text(text)
    node = found.walk(path)[-1].node
    if not is_block(node):
        return _exchanged(found, path, value_at(meant, path))
    entries = found.entries(path)
    at = entries[index].head if index < len(entries) else entries[-1].stop
    lead = " " * int(node.start_mark.column)
    new = [lead + line for line in _item_lines(value)]
    if index < len(entries):
        at += _blank_lines(found, entries[index])
        if _blank_lines(found, entries[-1]):
            new.append("")
    elif _blank_lines(found, entries[-1]):
        new.insert(0, "")
    return _joined(found, found.lines[:at], new, found.lines[at:])


def move(text: str, path: KeyPath, index: int, to: int, meant: Any) -> str:
    """Return the text with an item of the list at a path moved. Blank lines between items keep their places."""
    found = Text(text)
    if not is_block(found.walk(path)[-1].node):
        return _exchanged(found, path, value_at(meant, path))
    entries = found.entries(path)
    blanks = [found.lines[entry.head : entry.head + _blank_lines(found, entry)] for entry in entries]
    chunks = [found.lines[entry.head + len(blank) : entry.stop] for entry, blank in zip(entries, blanks, strict=True)]
    chunks.insert(to, chunks.pop(index))
    new = [line for blank, chunk in zip(blanks, chunks, strict=True) for line in (*blank, *chunk)]
    return _joined(found, found.lines[: entries[0].head], new, found.lines[entries[-1].stop :])


def _blank_lines(found: Text, entry: Entry) -> int:
    """Count the blank lines before an entry."""
    number = entry.head
    while number < entry.start and not found.lines[number].strip():
        number += 1
    return number - entry.head


def _joined(found: Text, before: list[str], new: list[str], after: list[str]) -> str:
    text = "\n".join([*before, *new, *after])
    return text if text.endswith("\n") or not found.text.endswith("\n") else f"{text}\n"


def anew(text: str, meant: Any) -> str:
    """All values written anew, below all comments of the text."""
    found = Text(text)
    comments = [line.strip() for line in found.lines if line.lstrip().startswith("#")]
    return "\n".join([*comments, *in_lines(meant), ""])


Edit = Callable[[str], str]


class ConfigurationDocument:
    """The text of a configuration and the values in it. Edits give another one."""

    def __init__(self, text: str, name: str = "configuration") -> None:
        """Parse the text. Raises ConfigurationError if it is no mapping in YAML or JSON."""
        value, positions = read_yaml(text, name)
        if value is not None and not isinstance(value, dict):
            raise positions.error((), "expected a mapping")
        self.text, self.name = text, name
        self.value: dict[str, Any] = value or {}

    @property
    def is_json(self) -> bool:
        return self.text.lstrip().startswith("{")

    def with_value(self, path: KeyPath, value: Any) -> ConfigurationDocument:
        """Return the document with another value at a path, new or changed."""
        meant = _copied(self.value)
        _put(meant, path, value)
        return self._edited(meant, lambda text: put(text, path, value_at(meant, path), meant))

    def without(self, path: KeyPath) -> ConfigurationDocument:
        """Return the document without the entry at a path and the comments above it."""
        meant = _copied(self.value)
        around = value_at(meant, path[:-1])
        try:
            del around[path[-1]]
        except (KeyError, IndexError, TypeError):
            return self
        return self._edited(meant, lambda text: remove(text, path, meant))

    def with_item(self, path: KeyPath, index: int, value: Any) -> ConfigurationDocument:
        """Return the document with a new item in the list at a path, before the one at an index."""
        meant = _copied(self.value)
        items = value_at(meant, path)
        if not (isinstance(items, list) and items):
            return self.with_value(path, [value])
        items.insert(index, value)
        return self._edited(meant, lambda text: insert(text, path, index, value, meant))

    def with_moved(self, path: KeyPath, index: int, to: int) -> ConfigurationDocument:
        """Return the document with an item of the list at a path moved, with its comments."""
        meant = _copied(self.value)
        items = value_at(meant, path)
        if not isinstance(items, list) or not 0 <= to < len(items) or index == to:
            return self
        items.insert(to, items.pop(index))
        return self._edited(meant, lambda text: move(text, path, index, to, meant))

    def _edited(self, meant: dict[str, Any], edit: Edit) -> ConfigurationDocument:
        if _is_same(meant, self.value):
            return self
        if self.is_json:
            return ConfigurationDocument(json.dumps(meant, indent=2, ensure_ascii=False) + "\n", self.name)
        try:
            edited = ConfigurationDocument(edit(self.text), self.name)
            if _is_same(edited.value, meant):
                return edited
        except (ConfigurationError, yaml.YAMLError, IndexError, NotInPlaceError):
            pass
        return ConfigurationDocument(anew(self.text, meant), self.name)


def _is_same(one: Any, other: Any) -> bool:
    """Whether two values say the same; the order of keys does not matter, and true is not 1."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _copied(value: Any) -> Any:
    """Return a copy without shared parts, so that the values behind an alias can be edited alone."""
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    return [_copied(item) for item in value] if isinstance(value, list) else value


def _put(value: Any, path: KeyPath, item: Any) -> None:
    """Put a value at a path of plain values, with mappings on the way to it."""
    for step in path[:-1]:
        inner = value.get(step) if isinstance(value, dict) else value[step]
        if not isinstance(inner, dict | list):
            inner = value[step] = {}
        value = inner
    value[path[-1]] = item
