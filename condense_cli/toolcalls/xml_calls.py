"""Tool calls written as XML inside assistant text, as Roo Code and Cline do, and their arguments.

    <write_to_file>
    <path>src/app.py</path>
    <content>
    ...
    </content>
    </write_to_file>

This is no real XML: values are raw text, so nothing is unescaped and only known wrappers are descended into.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, Final, NamedTuple

from ..core.lazy_pattern import lazy_pattern
from ..core.transcript import JsonPath

TOOLS: Final = (
    "access_mcp_resource",
    "apply_diff",
    "browser_action",
    "codebase_search",
    "edit_file",
    "execute_command",
    "fetch_instructions",
    "generate_image",
    "insert_content",
    "list_code_definition_names",
    "list_files",
    "new_task",
    "read_file",
    "replace_in_file",
    "run_slash_command",
    "search_and_replace",
    "search_files",
    "switch_mode",
    "update_todo_list",
    "use_mcp_tool",
    "write_to_file",
)
"""Tools whose calls are work. What `attempt_completion` and questions hold is said to the user: message text."""

_TOOL: Final = lazy_pattern(rf"<({'|'.join(TOOLS)})>")
_TAG: Final = lazy_pattern(r"<([A-Za-z_][A-Za-z0-9_]*)>")
_WRAPPERS: Final = frozenset({"args", "file", "diff"})


class _Element(NamedTuple):
    """An element with its tags, `[start, stop)`, and what is between these, `[inside, end)`."""

    name: str
    start: int
    inside: int
    end: int
    stop: int


def find_calls(text: str) -> Iterator[tuple[str, int, int]]:
    """Name, start and end of every call in a text."""
    for call in _elements(text, _TOOL, 0, len(text)):
        yield call.name, call.start, call.stop


def arguments(call: str) -> dict[str, Any] | None:
    """Arguments of a call's text: strings by name; a name that comes several times holds a list."""
    inside = _inside(call)
    if inside is None:
        return None
    root: dict[str, Any] = {}
    for path, start, end in _values(call, *inside, ()):
        _put(root, path, call[start:end])
    return root


def replace(call: str, edits: Mapping[JsonPath, str]) -> str:
    """The call with the values at some paths exchanged."""
    inside = _inside(call)
    if inside is None:
        raise KeyError("not a call")
    spans = {path: (start, end) for path, start, end in _values(call, *inside, ())}
    for path, value in sorted(edits.items(), key=lambda edit: -spans[edit[0]][0]):
        start, end = spans[path]
        call = call[:start] + value + call[end:]
    return call


def _inside(call: str) -> tuple[int, int] | None:
    """Where the arguments stand in a text that is a call and nothing else."""
    opening = _TOOL.match(call)
    closing = f"</{opening[1]}>" if opening else ""
    return (opening.end(), len(call) - len(closing)) if opening and call.endswith(closing) else None


def _elements(text: str, tag: re.Pattern[str], start: int, end: int) -> Iterator[_Element]:
    """The elements between two offsets, each up to its first closing tag; a tag that is never closed is text."""
    unclosed: set[str] = set()  # Code may have the same one in each line, as `Vec<T>`: it is looked for once.
    while opening := tag.search(text, start, end):
        name, start = opening[1], opening.end()
        closing = -1 if name in unclosed else text.find(f"</{name}>", start, end)
        if closing < 0:
            unclosed.add(name)
            continue
        element = _Element(name, opening.start(), start, closing, closing + len(f"</{name}>"))
        yield element
        start = element.stop


def _values(text: str, start: int, end: int, path: JsonPath) -> Iterator[tuple[JsonPath, int, int]]:
    """Path and span of every value. The line breaks that set a value off from its tags do not belong to it."""
    elements = list(_elements(text, _TAG, start, end))
    times = Counter(element.name for element in elements)
    before: Counter[str] = Counter()
    for name, _, begin, stop, _ in elements:
        inner: JsonPath = (*path, name)
        if times[name] > 1:
            inner = (*inner, before[name])
            before[name] += 1
        if name in _WRAPPERS and any(_elements(text, _TAG, begin, stop)):
            yield from _values(text, begin, stop, inner)
        else:
            if text[begin:stop].startswith("\n"):
                begin += 1
            if begin < stop and text[stop - 1] == "\n":
                stop -= 1
            yield inner, begin, stop


def _put(root: dict[str, Any], path: JsonPath, value: str) -> None:
    node: Any = root
    for key, following in pairwise(path):
        empty: Any = [] if isinstance(following, int) else {}
        if isinstance(node, list):
            while len(node) <= int(key):
                node.append({})
            node = node[int(key)]
        else:
            node = node.setdefault(key, empty)
    if isinstance(node, list):
        node.append(value)
    else:
        node[path[-1]] = value
