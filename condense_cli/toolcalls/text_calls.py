"""Parse calls written in an assistant's text, as XML (Roo Code, Cline) or command lines (SWE-agent).

    <write_to_file>
    <path>src/app.py</path>
    <content>
    ...
    </content>
    </write_to_file>

This is not real XML: values are raw text, so nothing is unescaped, and only known wrappers have child elements.

    ```
    open src/app.py 120
    ```

SWE-agent's commands have named arguments. For any other command line, everything after the first word is one argument,
because its meaning is unknown.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any, Final, NamedTuple

from ..core.lazy_pattern import lazy_pattern
from ..core.transcript import JsonPath

XML_TOOLS: Final = (
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
"""Tools whose calls do work. `attempt_completion` and questions address the user and are message text."""

_TOOL: Final = lazy_pattern(rf"<({'|'.join(XML_TOOLS)})>")
_TAG: Final = lazy_pattern(r"<([A-Za-z_][A-Za-z0-9_]*)>")
_WRAPPERS: Final = frozenset({"args", "file", "diff"})


class _Element(NamedTuple):
    """An element with its tags, `[start, stop)`, and its content, `[inside, end)`."""

    name: str
    start: int
    inside: int
    end: int
    stop: int


def find_calls(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield name, start and end of every call in a text."""
    for call in _elements(text, _TOOL, 0, len(text)):
        yield call.name, call.start, call.stop


def xml_arguments(call: str) -> dict[str, Any] | None:
    """Parse a call's arguments: strings by name, lists for repeated names. None if the text is not a call."""
    inside = _inside(call)
    if inside is None:
        return None
    root: dict[str, Any] = {}
    for path, start, end in _xml_values(call, *inside, ()):
        _put(root, path, call[start:end])
    return root


def replace_xml(call: str, edits: Mapping[JsonPath, str]) -> str:
    """Replace the values at some paths in a call. Raises KeyError if the text is not a call."""
    inside = _inside(call)
    if inside is None:
        raise KeyError("not a call")
    return spliced(call, _xml_values(call, *inside, ()), edits)


def spliced(text: str, values: Iterable[tuple[JsonPath, int, int]], edits: Mapping[JsonPath, str]) -> str:
    """Replace values, given as path, start and end, in a text. Raises KeyError for other paths."""
    spans = {path: (start, end) for path, start, end in values}
    for path, value in sorted(edits.items(), key=lambda edit: -spans[edit[0]][0]):
        start, end = spans[path]
        text = text[:start] + value + text[end:]
    return text


def _inside(call: str) -> tuple[int, int] | None:
    """Return the span of the arguments in a text that is exactly one call; else None."""
    opening = _TOOL.match(call)
    closing = f"</{opening[1]}>" if opening else ""
    return (opening.end(), len(call) - len(closing)) if opening and call.endswith(closing) else None


def _elements(text: str, tag: re.Pattern[str], start: int, end: int) -> Iterator[_Element]:
    """Yield the elements between two offsets. Each ends at its first closing tag; an unclosed tag is text."""
    unclosed: set[str] = set()  # Code may repeat one in each line, such as `Vec<T>`: search for its end once.
    while opening := tag.search(text, start, end):
        name, start = opening[1], opening.end()
        closing = -1 if name in unclosed else text.find(f"</{name}>", start, end)
        if closing < 0:
            unclosed.add(name)
            continue
        element = _Element(name, opening.start(), start, closing, closing + len(f"</{name}>"))
        yield element
        start = element.stop


def _xml_values(text: str, start: int, end: int, path: JsonPath) -> Iterator[tuple[JsonPath, int, int]]:
    """Yield path and span of every value, without the line breaks next to its tags."""
    elements = list(_elements(text, _TAG, start, end))
    times = Counter(element.name for element in elements)
    before: Counter[str] = Counter()
    for name, _, begin, stop, _ in elements:
        inner: JsonPath = (*path, name)
        if times[name] > 1:
            inner = (*inner, before[name])
            before[name] += 1
        if name in _WRAPPERS and any(_elements(text, _TAG, begin, stop)):
            yield from _xml_values(text, begin, stop, inner)
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


_ARGUMENTS: Final[dict[str, tuple[str, ...]]] = {
    "cat": ("path",),
    "create": ("path",),
    "find_file": ("pattern", "path"),
    "goto": ("line",),
    "open": ("path", "line"),
    "scroll_down": (),
    "scroll_up": (),
    "search_dir": ("pattern", "path"),
    "search_file": ("pattern", "path"),
    "submit": (),
}

ACTION_TOOLS: Final = frozenset(
    {*_ARGUMENTS, "edit", "insert", "set_cursors", "connect_start", "connect_sendline", "exit"}
) - {"cat"}
"""The agent's own commands. Any other first word is a program."""

_FENCE: Final = lazy_pattern(r"^```.*\n?", re.MULTILINE)
_OPENING: Final = lazy_pattern(r"(?<!\s)\s*(?:^```.*\n|<command>)\s*\Z", re.MULTILINE)
_CLOSING: Final = lazy_pattern(r"\s*(?:^```|</command>)\s*", re.MULTILINE)
_TAGS: Final = ("<command>", "</command>")
_WORD: Final = lazy_pattern(r"""[ \t]+(?:"([^"\n]*)"|'([^'\n]*)'|([^\s"'`|&;<>()$\\-][^\s"'`|&;<>()$\\]*))""")
"""One argument. Options and anything special to a shell do not match."""

_WITH_TEXT: Final = lazy_pattern(r"(\w+)(?:[ \t]+(\d+(?::\d+)?))?[ \t]*\n(?:(.*)\n)?end_of_\1\s*", re.DOTALL)
"""`edit 10:12`, new lines, `end_of_edit`."""


def find(text: str, action: str | None = None) -> tuple[int, int] | None:
    """Return the span of the last action in a text, or None. `action` is its text, if known."""
    if action is None:
        return _last_wrapped(text)
    wanted = re.escape(action.strip())
    if not wanted:
        return None
    # The thought may contain the same word.
    wrapped = rf"(?:^```.*\n|<command>)\s*({wanted})\s*(?:^```|</command>)"
    for pattern in (wrapped, rf"(?<!\w)({wanted})(?!\w)"):
        spans = [match.span(1) for match in re.finditer(pattern, text, re.MULTILINE)]
        if spans:
            return spans[-1]
    return None


def _last_wrapped(text: str) -> tuple[int, int] | None:
    end = text.rfind(_TAGS[1])
    start = text.rfind(_TAGS[0], 0, max(0, end))
    if start >= 0:
        return _stripped(text, start + len(_TAGS[0]), end)
    fences = list(_FENCE.finditer(text))
    return _stripped(text, fences[-2].end(), fences[-1].start()) if len(fences) > 1 else None


def _stripped(text: str, start: int, end: int) -> tuple[int, int] | None:
    inner = text[start:end]
    if not inner.strip():
        return None
    return start + len(inner) - len(inner.lstrip()), start + len(inner.rstrip())


def fences(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the span of an action with its fences or tags and surrounding white space; its own span if it has none."""
    opening, closing = _OPENING.search(text, 0, start), _CLOSING.match(text, end)
    return (opening.start(), closing.end()) if opening and closing else (start, end)


def tool(action: str) -> str | None:
    """Return the first word of an action."""
    return next(iter(action.split(None, 1)), None)


def action_arguments(action: str) -> dict[str, Any]:
    """Parse an action's arguments into strings by name."""
    return {name: action[start:end] for name, start, end in _action_values(action)}


def replace_action(action: str, edits: Mapping[JsonPath, str]) -> str:
    """Replace the arguments at some paths in an action."""
    return spliced(action, (((name,), start, end) for name, start, end in _action_values(action)), edits)


def _action_values(action: str) -> Iterator[tuple[str, int, int]]:
    """Yield name and span of every argument."""
    with_text = _WITH_TEXT.fullmatch(action)
    if with_text:
        for group, name in ((2, "lines"), (3, "text")):
            if with_text[group] is not None:
                yield name, *with_text.span(group)
        return
    name = tool(action) or ""
    position = action.find(name) + len(name)
    end = len(action.rstrip())
    words = list(_words(action, position, end))
    names = _ARGUMENTS.get(name, ())
    if len(words) <= len(names) and (words[-1][2] if words else position) == end:
        for argument, (start, stop, _) in zip(names, words, strict=False):
            yield argument, start, stop
    else:
        rest = action[position:end]
        yield "arguments", end - len(rest.lstrip()), end


def _words(action: str, position: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Yield start and end of each argument, without quotes, and the offset after it."""
    while match := _WORD.match(action, position, end):
        position = match.end()
        yield *match.span(match.lastindex or 0), position
