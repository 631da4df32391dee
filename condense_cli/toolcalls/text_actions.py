"""Actions: command lines in an assistant's text, between fences or <command> tags, as in SWE-agent's text mode.

    ```
    open src/app.py 120
    ```

Commands of SWE-agent have named arguments here. What follows the first word of any other command line is one
argument, since nobody knows what it means.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from ..core.lazy_pattern import lazy_pattern
from ..core.transcript import JsonPath

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

TOOLS: Final = frozenset(
    {*_ARGUMENTS, "edit", "insert", "set_cursors", "connect_start", "connect_sendline", "exit"}
) - {"cat"}
"""Commands of the agent. Every other first word is a program."""

_FENCE: Final = lazy_pattern(r"^```.*\n?", re.MULTILINE)
_OPENING: Final = lazy_pattern(r"(?<!\s)\s*(?:^```.*\n|<command>)\s*\Z", re.MULTILINE)
_CLOSING: Final = lazy_pattern(r"\s*(?:^```|</command>)\s*", re.MULTILINE)
_TAGS: Final = ("<command>", "</command>")
_WORD: Final = lazy_pattern(r"""[ \t]+(?:"([^"\n]*)"|'([^'\n]*)'|([^\s"'`|&;<>()$\\-][^\s"'`|&;<>()$\\]*))""")
"""One argument. Whatever a shell would act upon is none, and neither is an option."""

_WITH_TEXT: Final = lazy_pattern(r"(\w+)(?:[ \t]+(\d+(?::\d+)?))?[ \t]*\n(?:(.*)\n)?end_of_\1\s*", re.DOTALL)
"""`edit 10:12`, the new lines, `end_of_edit`."""


def find(text: str, action: str | None = None) -> tuple[int, int] | None:
    """Start and end of the action in a text; of several the last. `action` is how it reads, where that is known."""
    if action is None:
        return _last_wrapped(text)
    wanted = re.escape(action.strip())
    if not wanted:
        return None
    # The same word may stand in the thought as well.
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
    """Where the opening fence or tag of an action begins and its closing one ends, with the white space around them.

    Its own edges where it has none.
    """
    opening, closing = _OPENING.search(text, 0, start), _CLOSING.match(text, end)
    return (opening.start(), closing.end()) if opening and closing else (start, end)


def tool(action: str) -> str | None:
    """The first word of an action."""
    return next(iter(action.split(None, 1)), None)


def arguments(action: str) -> dict[str, Any]:
    """Arguments of an action: strings by name."""
    return {name: action[start:end] for name, start, end in _values(action)}


def replace(action: str, edits: Mapping[JsonPath, str]) -> str:
    """The action with the arguments at some paths exchanged."""
    spans: dict[JsonPath, tuple[int, int]] = {(name,): (start, end) for name, start, end in _values(action)}
    for path, value in sorted(edits.items(), key=lambda edit: -spans[edit[0]][0]):
        start, end = spans[path]
        action = action[:start] + value + action[end:]
    return action


def _values(action: str) -> Iterator[tuple[str, int, int]]:
    """Name and span of every argument."""
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
    """Start and end of each argument, without its quotes, and where the next begins."""
    while match := _WORD.match(action, position, end):
        position = match.end()
        yield *match.span(match.lastindex or 0), position
