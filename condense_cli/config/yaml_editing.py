"""Edits of a YAML text: each changes the lines of the entry that it is about, and no other.

Where a value is written anew, comments inside it move above the entry, so that none is lost but those of an entry that
is removed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import yaml

from .positions import KeyPath, value_at
from .yaml_entries import Entry, Text, is_block, is_mapping, values_of

_WIDE: Final = 100
"""Characters of a line up to which a collection is written in it."""
_ENDLESS: Final = 1 << 30


class NotInPlaceError(ValueError):
    """The text holds something that no edit in its place is known for."""


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines with escapes, so that each value may stand in one line, and no aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text_node(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"' if "\n" in text else None)


_Dumper.add_representer(str, _text_node)


def in_line(value: Any) -> str:
    """A value in one line, as it may stand inside another."""
    dumped = yaml.dump(
        [value], Dumper=_Dumper, default_flow_style=True, width=_ENDLESS, allow_unicode=True, sort_keys=False
    )
    return dumped.strip()[1:-1].strip()


def in_lines(value: Any) -> list[str]:
    """A collection with a line for each of its entries, and what fits in one line in that."""
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
    """The text with a value at a path; `meant` are all values as they will be."""
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
    """The text with another value in place of the one at a path."""
    text, step = found.text, found.walk(path)[-1]
    start, end = int(step.node.start_mark.index), found.end_of(step.node)
    written = in_line(value)
    if is_block(step.parent):
        start = _after_key(found, path)
        written = _behind_key(value, int(step.parent.start_mark.column), is_item=not is_mapping(step.parent))
    comments = list(_comments(found, start, end, step.node))
    return _hoisted(found, path, comments, text[:start] + written + text[end:])


def _behind_key(value: Any, column: int, *, is_item: bool) -> str:
    """A value behind the colon of its key, or the dash of its item: in the same line, or in lines of its own."""
    line = in_line(value)
    if not (isinstance(value, dict | list) and value) or len(line) <= _WIDE - column:
        return f" {line}"
    lead = "\n" + " " * (column + 2)
    return f"{' ' if is_item else lead}{lead.join(in_lines(value))}"


def _after_key(found: Text, path: KeyPath) -> int:
    """The character after the colon of an entry, or after the dash of an item, in a block."""
    step = found.walk(path)[-1]
    if is_mapping(step.parent):
        return found.text.index(":", found.end_of(step.parent.value[step.place][0])) + 1
    entry = found.entries(path[:-1])[step.place]
    return found.offset(entry.start) + int(step.parent.start_mark.column) + 1


def _comments(found: Text, start: int, end: int, node: Any) -> Iterator[str]:
    """The comments in a part of the text, which is written anew; in texts of the node a sign is none."""
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
    """The text with comments above the innermost entry of a block that the path leads into."""
    if not comments:
        return text
    depth = len(path)
    while depth and not is_block(found.walk(path[: depth - 1])[-1].node):
        depth -= 1
    if not depth:
        return "\n".join([*comments, text])
    outer = found.walk(path[: depth - 1])
    entry = found.entries(path[: depth - 1])[found.walk(path[:depth])[-1].place]
    while entry.start == int(outer[-1].node.start_mark.line) and len(outer) > 1 and not is_mapping(outer[-1].parent):
        # The first key of an item stands behind its dash: comments go above the item.
        depth -= 1
        outer = found.walk(path[: depth - 1])
        entry = found.entries(path[: depth - 1])[found.walk(path[:depth])[-1].place]
    lead = " " * int(outer[-1].node.start_mark.column)
    at = found.offset(entry.start)
    return text[:at] + "".join(f"{lead}{comment}\n" for comment in comments) + text[at:]


def remove(text: str, path: KeyPath, meant: Any) -> str:
    """The text without the entry at a path, and the comments above it."""
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
    """The text without a part of a collection in one line."""
    text, parts = found.text, step.parent.value
    starts = [int((part[0] if is_mapping(step.parent) else part).start_mark.index) for part in parts]
    ends = [found.end_of(value) for value in values_of(step.parent)]
    if step.place + 1 < len(parts):
        return text[: starts[step.place]] + text[starts[step.place + 1] :]
    return text[: ends[step.place - 1]] + text[ends[step.place] :]


def insert(text: str, path: KeyPath, index: int, value: Any, meant: Any) -> str:
    """The text with one more item in the list at a path."""
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
    """The text with an item of the list at a path in another place. Blank lines between items stay where they are."""
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
    """How many blank lines the head of an entry begins with."""
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
