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
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, Final

from .transcript import JsonPath

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

_CALL: Final = re.compile(rf"<({'|'.join(TOOLS)})>(.*?)</\1>", re.DOTALL)
_ELEMENT: Final = re.compile(r"<([A-Za-z_][A-Za-z0-9_]*)>(.*?)</\1>", re.DOTALL)
_WRAPPERS: Final = frozenset({"args", "file", "diff"})


def find_calls(text: str) -> Iterator[tuple[str, int, int]]:
    """Name, start and end of every call in a text."""
    for match in _CALL.finditer(text):
        yield match[1], match.start(), match.end()


def arguments(call: str) -> dict[str, Any] | None:
    """Arguments of a call's text: strings by name; a name that comes several times holds a list."""
    match = _CALL.fullmatch(call)
    if not match:
        return None
    root: dict[str, Any] = {}
    for path, start, end in _values(call, match.start(2), match.end(2), ()):
        _put(root, path, call[start:end])
    return root


def replace(call: str, edits: Mapping[JsonPath, str]) -> str:
    """The call with the values at some paths exchanged."""
    match = _CALL.fullmatch(call)
    if not match:
        raise KeyError("not a call")
    spans = {path: (start, end) for path, start, end in _values(call, match.start(2), match.end(2), ())}
    for path, value in sorted(edits.items(), key=lambda edit: -spans[edit[0]][0]):
        start, end = spans[path]
        call = call[:start] + value + call[end:]
    return call


def _values(text: str, start: int, end: int, path: JsonPath) -> Iterator[tuple[JsonPath, int, int]]:
    """Path and span of every value. The line breaks that set a value off from its tags do not belong to it."""
    elements = list(_ELEMENT.finditer(text, start, end))
    names = [element[1] for element in elements]
    for position, element in enumerate(elements):
        name = element[1]
        inner: JsonPath = (*path, name)
        if names.count(name) > 1:
            inner = (*inner, names[:position].count(name))
        if name in _WRAPPERS and _ELEMENT.search(text, element.start(2), element.end(2)):
            yield from _values(text, element.start(2), element.end(2), inner)
        else:
            begin, stop = element.span(2)
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
