"""Lists of todos: state that an agent sends whole, so that a later call replaces it.

    {"todos": [{"content": "Fix the parser", "status": "completed"}, {"content": "Run the tests", "status": "pending"}]}

Such a list is read as a text with one todo, as JSON, a line. Where todos are left out of it, one of the same shape
takes their place, with the marker in its words: the schemas of the tools take nothing else (each todo an object with
these keys, a status of theirs, no empty text, no further keys), and a client that reads the call again finds a list.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from ..core import json_text
from ..core.lazy_pattern import lazy_pattern
from ..core.markers import Gap, parse_gap
from ..core.transcript import Block, JsonPath
from ..core.values import BlockKind
from .tools import TODO_LISTS, arguments_of, holds_json, name_of

ARGUMENTS: Final = ("todos", "plan", "items", "task_list", "todoList")
"""Arguments that hold the list: a list in most clients, a text with one todo a line in Roo Code and Copilot."""

WORDS: Final = ("content", "step", "title", "text", "subject", "description")
"""What the words of a todo are called: Claude Code, Codex, Kimi and others."""

_PROGRESS: Final = "task_progress"
"""The list of todos that Cline lets any call have beside its own arguments."""

_READING: Final = frozenset({"view", "read"})
"""What OpenHands' and Copilot's tools are told where they show the list."""

_SHORT_WORD: Final = lazy_pattern(r"[\w-]{1,16}")
"""A status, a priority or a number, of which a schema takes certain ones only."""

_FILLER: Final = "…"


def path_of(call: Block) -> JsonPath:
    """Where the arguments of a call hold a whole list of todos; empty where they hold none."""
    if call.kind is not BlockKind.TOOL_CALL:
        return ()
    # A server's tool of such a name may have many lists.
    if name_of(call) in TODO_LISTS and not (call.tool or "").lower().startswith("mcp__"):
        arguments = arguments_of(call) or {}
        if arguments.get("command") in _READING or arguments.get("operation") in _READING:
            return ()
        key = next((key for key in ARGUMENTS if key in arguments), "")
        value = arguments.get(key)
        return (key,) if isinstance(value, str) or (isinstance(value, list) and holds_json(call)) else ()
    if _PROGRESS in call.content and isinstance((arguments_of(call) or {}).get(_PROGRESS), str):
        return (_PROGRESS,)
    return ()


def kind_of(call: Block, path: JsonPath) -> str:
    """What a call with a list replaces: earlier lists of the same kind."""
    return _PROGRESS if path == (_PROGRESS,) else name_of(call)


def replaces_all(call: Block) -> bool:
    """Whether a call replaces the whole list, and does not merge its todos into it, as Cursor's can."""
    return (arguments_of(call) or {}).get("merge") not in (True, "true")


def value_of(call: Block, path: JsonPath) -> str | list[Any]:
    """The list at the path that `path_of` gave: a text, or todos."""
    value: str | list[Any] = (arguments_of(call) or {})[str(path[0])]
    return value


def text_of(value: str | list[Any]) -> str:
    """The list as a text. It is what markers name by its hash, and what references count the lines of."""
    return value if isinstance(value, str) else "\n".join(map(json_text.dump_compact, value))


def marked(value: str | list[Any], marker: str) -> str | list[Any] | None:
    """A list of todos that says the marker alone; None where no todo can say it."""
    if isinstance(value, str):
        return marker
    todo = stand_in(value, marker)
    return None if todo is None else [todo]


def stand_in(todos: Iterable[Any], words: str) -> Any:
    """A todo that says these words, of the shape of the first of some todos that has any; None where none has."""
    for todo in todos:
        if isinstance(todo, str):
            return words
        key = words_key(todo)
        if key:
            return {name: words if name == key else _filler(value) for name, value in todo.items()}
    return None


def words_key(todo: Any) -> str:
    """The key of a todo's words; empty where it has none."""
    if not isinstance(todo, dict):
        return ""
    return next((key for key in WORDS if isinstance(todo.get(key), str)), "")


def words_of(todo: Any) -> str:
    """The words of a todo; empty where it has none."""
    return todo if isinstance(todo, str) else str(todo[words_key(todo)]) if words_key(todo) else ""


def gap_of(value: str | list[Any]) -> Gap | None:
    """The marker that a list consists of, where it was left out."""
    if isinstance(value, str):
        return parse_gap(value)
    return parse_gap(words_of(value[0])) if len(value) == 1 else None


def _filler(value: Any) -> Any:
    """A short value of the same type that is valid where the value is."""
    if isinstance(value, str):
        return value if _SHORT_WORD.fullmatch(value) or not value else _FILLER
    return [] if isinstance(value, list) else value


def list_in(call: Block) -> tuple[JsonPath, list[Any]] | None:
    """The list of todos that a call holds, with its path, where a todo could say a reference."""
    path = path_of(call)
    value = value_of(call, path) if path else None
    return (path, value) if isinstance(value, list) and stand_in(value, "") is not None else None
