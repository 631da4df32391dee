"""Classify tools of known agents by name and arguments, and parse their patches and todo lists.

    *** Begin Patch
    *** Update File: src/app.py
    @@ def main():
    -    old()
    +    new()
    *** End Patch

Sections are parsed as arguments, so paths stay where changes are shortened. Any other text is one argument, `input`.

    {"todos": [{"content": "Fix the parser", "status": "completed"}, {"content": "Run the tests", "status": "pending"}]}

A todo list is read as text with one JSON todo per line. Todos that are cut are replaced by one of the same shape with
the marker as its words. The tools' schemas accept nothing else: each todo needs these keys only, a known status and
text. A client that reads the call again finds a list.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from ..core import json_text
from ..core.lazy_pattern import lazy_pattern
from ..core.markers import Gap, parse_gap
from ..core.transcript import Block, JsonPath
from ..core.values import BlockKind
from . import text_calls

BEGIN: Final = "*** Begin Patch"

_FILE: Final = lazy_pattern(
    r"^\*\*\* (?P<kind>Add|Update|Delete) File: (?P<path>(?:[^ \t\r\n]++|[ \t\r]++(?=[^ \t\r\n]))*+)[ \t\r]*+"
    r"(?:\n(?:\*\*\* Move to: (?P<target>[^\n]*)(?:\n|\Z))?|\Z)",
    re.MULTILINE,
)
_AFTER: Final = lazy_pattern(r"(?:^|\n)\*\*\* (?:(?:Add|Update|Delete) File: |End Patch)|\Z")


def files(text: str) -> list[tuple[str, str, str]]:
    """List files changed by a patch: Add, Update or Delete, the path, and the new path if an update moves it."""
    found = _FILE.finditer(text) if BEGIN in text else ()
    return [(match["kind"], match["path"], (match["target"] or "").strip()) for match in found if match["path"]]


def section_paths(text: str) -> list[str]:
    """List paths of files changed by a patch."""
    return [path for _, path, _ in files(text)]


def arguments(text: str) -> dict[str, Any]:
    """Return `{"files": [{"path", "patch"}]}` for a patch, `{"input": text}` for any other text."""
    found: dict[str, Any] = {}
    for path, start, end in _values(text):
        if len(path) == 1:
            return {"input": text}
        files = found.setdefault("files", [])
        if path[-1] == "path":
            files.append({})
        files[-1][path[-1]] = text[start:end]
    return found


def replace(text: str, edits: Mapping[JsonPath, str]) -> str:
    """Replace the arguments at some paths in the text."""
    return text_calls.spliced(text, _values(text), edits)


def _values(text: str) -> Iterator[tuple[JsonPath, int, int]]:
    """Yield path and span of every argument."""
    headers = list(_FILE.finditer(text)) if BEGIN in text else []
    for number, header in enumerate(headers):
        yield ("files", number, "path"), *header.span("path")
        # The line break before the next section belongs to no change; an empty section begins after it.
        after = _AFTER.search(text, header.end() - 1)
        end = max(header.end(), after.start() if after else len(text))
        yield ("files", number, "patch"), header.end(), end
    if not headers:
        yield ("input",), 0, len(text)


READERS: Final = frozenset({
    "notebookread", "read", "read_file", "read_files", "read_many_files", "read_multiple_files", "read_text_file",
    "view", "view_file",
})  # fmt: skip
TYPED_READERS: Final = frozenset({"cat", "open"})
"""Shell commands that read a file if a path alone follows; otherwise they may do anything."""

EDITORS: Final = frozenset({"str_replace_editor", "str_replace_based_edit_tool", "file_editor"})
"""Tools for viewing and editing; their `command` argument says which."""

WRITERS: Final = frozenset({
    "apply_diff", "apply_patch", "create", "create_file", "edit", "edit_file", "editor", "insert_content",
    "multi_replace_file_content", "multiedit", "notebookedit", "replace", "replace_file_content", "replace_in_file",
    "search_and_replace", "search_replace", "write", "write_file", "write_to_file",
})  # fmt: skip
SHELLS: Final = frozenset({
    "bash", "container.exec", "exec_command", "execute_bash", "execute_command", "local_shell", "run_command",
    "run_commands", "run_shell_command", "shell", "shell_command", "terminal",
})  # fmt: skip
_WHOLE_FILE_WRITERS: Final = frozenset({"create", "create_file", "write", "write_file", "write_to_file"})
"""Writers that replace a whole file."""

TODO_LISTS: Final = frozenset({
    "manage_todo_list", "settodolist", "task_tracker", "todo_write", "todolist", "todos", "todowrite", "update_plan",
    "update_todo", "update_todo_list", "write_todos",
})  # fmt: skip
"""Tools whose call holds the whole todo list."""

TASK_TOOLS: Final = frozenset({"taskcreate", "taskupdate"})
"""Tools that add or change one numbered todo."""

AGENTS: Final = frozenset({"agent", "delegate_to_agent", "new_task", "runsubagent", "spawn_agent", "subagent", "task"})
"""Tools that hand a task to another agent, whose report is their result."""

_OPEN_FILE: Final = lazy_pattern(r"^\(Open file: (.+?)\)\s*$", re.MULTILINE)
_SHOWN_FILE: Final = lazy_pattern(r"^\[File: (.+?) \(\d+ lines total\)\]", re.MULTILINE)
_REPLACED_ARGUMENTS: Final = frozenset({
    "TargetContent", "oldString", "oldText", "old_str", "old_string", "old_text", "search",
})  # fmt: skip
_PATCH_ARGUMENTS: Final = frozenset({"diff", "content", "input", "patch"})
"""Arguments of an edit that hold the replaced text, and those that may hold a patch."""
_SEARCH_BEGINS: Final = lazy_pattern(r"(?:<{7}|-{7,}) SEARCH\s*")
_SEARCH_HEADER: Final = lazy_pattern(r":(?:start|end)_line:.*|-{7}")
"""In edits of Roo Code and Cline: beginning of a search text, and lines before it. `=======` ends it."""

_PARTIAL: Final = lazy_pattern(r"(?i)line|range|offset|limit")
"""Argument names that match request part of a file: `startLine`, `view_range`."""

_FILE_COMMAND: Final = lazy_pattern(r"\s*(?:cd\s[^&;|]*(?:&&|;)\s*)?(?:cat|sed\s+-n|head|tail|nl|less|Get-Content)\s")
"""Matches commands that print (part of) a file. Other commands are judged by their output."""
_NUMBERING: Final = lazy_pattern(r"(?:\\n|(?<![\\\w]))(?:(?:cat|bat|less)\s+(?:-\w+\s+)*-\w*[nN]|nl\s)")
r"""In a call's JSON a line break before a command is `\n`, so `\nl` is not a command."""
_COMMAND: Final = lazy_pattern(
    r"""(?:'[^']*'|"(?:\\.|[^"\\])*"|\\.|(?<!&)&(?!&)|(?<!\|)\|(?!\|)|[^'"\\&|;\n])+""", re.DOTALL
)
"""Matches one of several commands run in sequence; a pipeline is one."""

PATH_ARGUMENTS: Final = (
    "file_path", "path", "filePath", "notebook_path", "AbsolutePath", "absolute_path", "TargetFile", "filename",
)  # fmt: skip

_LINE_BREAK: Final = lazy_pattern(r"(\\\\)|\\n")
"""A line break in JSON text; or an escaped backslash, which may precede any letter."""

_COMMAND_ARGUMENTS: Final = ("command", "cmd", "CommandLine", "commands", "script")
_RUN: Final = (["-c"], ["-lc"], ["-Command"])
"""Last option before the command for a shell. Codex passes -NoProfile to PowerShell before it."""

MAIN_ARGUMENTS: Final = (
    *PATH_ARGUMENTS, "command", "cmd", "pattern", "query", "regex", "url", "description", "prompt",
)  # fmt: skip


def name_of(call: Block) -> str:
    """Return the tool's name in lower case, without the prefix of an MCP server."""
    return _bare(call.tool or "")


@lru_cache(1_000)
def _bare(tool: str) -> str:
    name = tool.lower()
    return name.rpartition("__")[2] if name.startswith("mcp__") else name


def arguments_of(call: Block) -> Mapping[str, Any] | None:
    """Parse a call's arguments. None if they are not an object.

    They are JSON, XML or an action in assistant text, or plain text.
    """
    text = call.text
    if call.is_free_text:
        return arguments(text)
    if text.startswith("<"):
        return text_calls.xml_arguments(text)
    if _is_action(call):
        return text_calls.action_arguments(text)
    try:
        value = json_text.parse_text(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _is_action(call: Block) -> bool:
    """Return whether the call is a command line in assistant text."""
    return call.span is not None and not call.text.startswith("<")


def holds_json(call: Block) -> bool:
    """Return whether the arguments are JSON, so that values may be other than strings."""
    return not (call.is_free_text or call.text.startswith("<") or _is_action(call))


def with_values(call: Block, values: Mapping[JsonPath, Any]) -> Block:
    """Replace the values at some paths of the arguments: by strings, or by any JSON if it `holds_json`."""
    return call.with_edits(replace_arguments(call, values), values)


def replace_arguments(call: Block, edits: Mapping[JsonPath, Any]) -> str:
    """Return the call's text with the values at some paths replaced and all else kept."""
    text = call.text
    if call.is_free_text:
        return replace(text, edits)
    if text.startswith("<"):
        return text_calls.replace_xml(text, edits)
    if _is_action(call):
        return text_calls.replace_action(text, edits)
    # The text of an object is our own; in another style the same values would have another token count.
    return json_text.replace_values(text, edits, json_text.DUMPED if call.is_object else None)


def has_failed(result: Block) -> bool:
    """Return whether a result reports failure, by its flag or in the words of clients without one."""
    return result.is_error or result.text.lstrip().startswith(("The tool execution failed", "<error>"))


def reads_a_file(call: Block) -> bool:
    """Return whether the call shows a file's content, so that a later identical call supersedes it."""
    name = name_of(call)
    if name in EDITORS:
        return command_of_editor(call) == "view"
    return path_argument(call) is not None if name in TYPED_READERS else name in READERS


def shows_a_part(call: Block) -> bool:
    """Return whether a call that reads a file requests part of it."""
    return any(map(_PARTIAL.search, arguments_of(call) or {}))


def command_of_editor(call: Block) -> str:
    """Return the command of a tool for viewing and editing (view, create, str_replace…); empty for other tools."""
    if name_of(call) not in EDITORS:
        return ""
    command = (arguments_of(call) or {}).get("command")
    return command if isinstance(command, str) else ""


def writes_a_file(call: Block) -> bool:
    """Return whether the call writes text from its arguments into a file."""
    name = name_of(call)
    return name in WRITERS or (name in EDITORS and not reads_a_file(call)) or bool(patched_paths(call))


def patched_paths(call: Block) -> list[str]:
    """List files that a call changes by a patch, passed to `apply_patch` directly or by a shell command."""
    name = name_of(call)
    if not (name == "apply_patch" or name in SHELLS) or BEGIN not in call.text:
        return []
    if call.is_free_text:
        return section_paths(call.text)
    return [path for _, value in string_values(arguments_of(call)) for path in section_paths(value)]


def prints_a_file(call: Block) -> bool:
    """Return whether the call is a command such as `cat` or `sed -n`."""
    return name_of(call) in SHELLS and _FILE_COMMAND.match(main_argument(call)) is not None


def shows_numbered_lines(call: Block) -> bool:
    """Return whether numbers before lines that the call shows can only be line numbers."""
    return reads_a_file(call) or writes_a_file(call) or _NUMBERING.search(call.text) is not None


def printing_commands(call: Block) -> list[str]:
    """List the commands in a call's line that print (part of) a file."""
    commands = _COMMAND.findall(main_argument(call)) if name_of(call) in SHELLS else []
    return [command for command in commands if _FILE_COMMAND.match(command)]


def replaces_a_file(call: Block) -> bool:
    """Return whether the call replaces a whole file."""
    name = name_of(call)
    return name in _WHOLE_FILE_WRITERS or command_of_editor(call) == "create"


def command_lines(call: Block) -> list[str]:
    """List the command lines that a call runs in a shell; empty for other tools.

    An action whose first word is not one of its agent's tools is a command line.
    """
    name = name_of(call)
    if name not in SHELLS:
        is_program = _is_action(call) and not any(
            name in tools for tools in (READERS, WRITERS, text_calls.ACTION_TOOLS)
        )
        return [call.text] if is_program else []
    arguments = arguments_of(call) or {}
    value = next((arguments[key] for key in _COMMAND_ARGUMENTS if arguments.get(key)), None)
    if isinstance(value, list) and all(isinstance(word, str) for word in value):
        if name == "run_commands":
            return [line for line in value if line.strip()]
        value = _command_line(value)
    return [value] if isinstance(value, str) and value.strip() else []


def patched_files(call: Block) -> Iterator[tuple[str, str, str]]:
    """Yield changes by a call of `apply_patch`, in the form of `files`."""
    if name_of(call) == "apply_patch":
        for _, value in string_values(arguments_of(call) or {"input": call.text}):
            yield from files(value)


def matched_texts(call: Block) -> list[str]:
    """List texts that an edit has to find verbatim in its file."""
    if not writes_a_file(call):
        return []
    found: list[str] = []
    for path, value in string_values(arguments_of(call) or {"input": call.text}):
        if path[-1] in _REPLACED_ARGUMENTS:
            found.append(value)
        elif path[-1] in _PATCH_ARGUMENTS:
            found += _searched_texts(value)
            # A patch that is the whole call is parsed per file, without its first and last line.
            if BEGIN in value or (call.is_free_text and path[-1] == "patch"):
                found += [line[1:] for line in value.split("\n") if line.startswith(("-", " "))]
    return found


def _searched_texts(diff: str) -> Iterator[str]:
    """Yield the search texts in an edit of Roo Code or Cline."""
    if " SEARCH" not in diff:
        return
    lines: list[str] | None = None
    for line in diff.split("\n"):
        if _SEARCH_BEGINS.fullmatch(line):
            lines = []
        elif lines is not None and line.rstrip() == "=======":
            yield "\n".join(lines)
            lines = None
        elif lines or (lines is not None and not _SEARCH_HEADER.fullmatch(line)):
            lines.append(line)


def main_argument(call: Block) -> str:
    """Return the argument that best tells a person what the call does; empty if there is none."""
    arguments = arguments_of(call) or {}
    for key in MAIN_ARGUMENTS:
        value = arguments.get(key)
        if isinstance(value, str) and value:
            return value
        if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
            return _command_line(value)
    strings = list(string_values(arguments))
    for key in MAIN_ARGUMENTS:
        found = [value for path, value in strings if key in path]
        if found:
            return ", ".join(found)
    return strings[0][1] if strings else ""


def _command_line(words: list[str]) -> str:
    """Join a process's arguments into a command; for a shell, return the command it is to run."""
    options = words[1:-1]
    is_shell = options[-1:] in _RUN and all(option.startswith("-") for option in options)
    return words[-1] if is_shell else " ".join(words)


def path_argument(call: Block) -> str | None:
    """Return the one file or folder that the call works on, or None."""
    arguments = arguments_of(call) or {}
    values = (arguments.get(key) for key in PATH_ARGUMENTS)
    found = next((value for value in values if isinstance(value, str) and value), None)
    if found is None:
        # Roo Code wraps it: <args><file><path>. With several files there is no single one.
        inner = [value for path, value in string_values(arguments) if path[-1] in PATH_ARGUMENTS and value]
        inner = inner or patched_paths(call)
        found = inner[0] if len(inner) == 1 else None
    return found


def paths(call: Block) -> list[str]:
    """List every file or folder that the call works on."""
    one = path_argument(call)
    if one is not None:
        return [one]
    found: dict[str, None] = {}
    for path, value in string_values(arguments_of(call) or {}):
        name = next((key for key in reversed(path) if isinstance(key, str)), "")
        if value and (name in PATH_ARGUMENTS or name in ("paths", "files")):
            found[value] = None
    return list(found)


def open_file(result: str) -> str | None:
    """Return the open or shown file, from the full path that SWE-agent appends to output."""
    found = _OPEN_FILE.findall(result[-2_000:])
    if found:
        return found[-1] if found[-1] != "n/a" else None
    shown = _SHOWN_FILE.search(result)
    return shown[1] if shown else None


def string_values(value: Any, path: JsonPath = ()) -> Iterator[tuple[JsonPath, str]]:
    """Yield every string in a JSON value, with its path."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from string_values(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from string_values(item, (*path, index))


def changed_texts(old: Block, new: Block) -> list[tuple[str, str]]:
    """Return the old and new texts that differ: arguments of a call, or the text of another block."""
    if new.kind is not BlockKind.TOOL_CALL:
        return [(old.text, new.text)]
    values = dict(string_values(arguments_of(old)))
    pairs = [(values.get(path, ""), value) for path, value in string_values(arguments_of(new))]
    return [(before, after) for before, after in pairs if before != after]


def is_emptied(old: Block, new: Block) -> bool:
    """Return whether nothing but markers is left of the texts that differ; what fills up a todo is none."""
    texts = [after for _, after in changed_texts(old, new)]
    return any(map(parse_gap, texts)) and all(parse_gap(text) or text == _filler(text) for text in texts)


def readable_arguments(call: Block) -> str:
    """Format arguments for a person: one key per line, real line breaks in strings."""
    arguments = arguments_of(call)
    if arguments is None or call.is_free_text or _is_action(call):
        return call.text
    lines = []
    for key, value in arguments.items():
        text = value
        if not isinstance(value, str):
            text = _LINE_BREAK.sub(lambda match: match[1] or "\n", json_text.dump_compact(value))
        lines.append(f"{key}:\n{text}" if "\n" in text else f"{key}: {text}")
    return "\n".join(lines)


ARGUMENTS: Final = ("todos", "plan", "items", "task_list", "todoList")
"""Arguments that hold the list: JSON in most clients, text with one todo per line in Roo Code and Copilot."""

WORDS: Final = ("content", "step", "title", "text", "subject", "description")
"""Keys for a todo's words: Claude Code, Codex, Kimi and others."""

_PROGRESS: Final = "task_progress"
"""Todo list that Cline allows as an extra argument of any call."""

_READING: Final = frozenset({"view", "read"})
"""Commands of OpenHands' and Copilot's tools that show the list."""

_SHORT_WORD: Final = lazy_pattern(r"[\w-]{1,16}")
"""Matches a status, a priority or a number, for which schemas allow certain values only."""

_FILLER: Final = "…"


def path_of(call: Block) -> JsonPath:
    """Return the path of a whole todo list in a call's arguments; empty if there is none."""
    if call.kind is not BlockKind.TOOL_CALL:
        return ()
    # An MCP server's tool with one of these names may keep many lists.
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
    """Return the kind of list. A call replaces earlier lists of the same kind."""
    return _PROGRESS if path == (_PROGRESS,) else name_of(call)


def replaces_all(call: Block) -> bool:
    """Return whether a call replaces the whole list instead of merging todos into it, as Cursor's can."""
    return (arguments_of(call) or {}).get("merge") not in (True, "true")


def value_of(call: Block, path: JsonPath) -> str | list[Any]:
    """Return the list at a path from `path_of`: text, or todos."""
    value: str | list[Any] = (arguments_of(call) or {})[str(path[0])]
    return value


def text_of(value: str | list[Any]) -> str:
    """Return the list as text. Markers hash it and references count its lines."""
    return value if isinstance(value, str) else "\n".join(map(json_text.dump_compact, value))


def marked(value: str | list[Any], marker: str) -> str | list[Any] | None:
    """Return a list whose only todo is the marker. None if no todo can hold it."""
    if isinstance(value, str):
        return marker
    todo = todo_like(value, marker)
    return None if todo is None else [todo]


def todo_like(todos: Iterable[Any], words: str) -> Any:
    """Return a todo with these words, shaped like the first one with a text. None if none has."""
    for todo in todos:
        if isinstance(todo, str):
            return words
        key = words_key(todo)
        if key:
            return {name: words if name == key else _filler(value) for name, value in todo.items()}
    return None


def words_key(todo: Any) -> str:
    """Return the key of a todo's words; empty if it has none."""
    if not isinstance(todo, dict):
        return ""
    return next((key for key in WORDS if isinstance(todo.get(key), str)), "")


def words_of(todo: Any) -> str:
    """Return the words of a todo; empty if it has none."""
    return todo if isinstance(todo, str) else str(todo[words_key(todo)]) if words_key(todo) else ""


def gap_of(value: str | list[Any]) -> Gap | None:
    """Return the marker that replaced the whole list, or None."""
    if isinstance(value, str):
        return parse_gap(value)
    return parse_gap(words_of(value[0])) if len(value) == 1 else None


def _filler(value: Any) -> Any:
    """Return a short value of the same type that is valid in the same place."""
    if isinstance(value, str):
        return value if _SHORT_WORD.fullmatch(value) or not value else _FILLER
    return [] if isinstance(value, list) else value


def list_in(call: Block) -> tuple[JsonPath, list[Any]] | None:
    """Return a call's todo list and its path, if a todo could hold a reference; else None."""
    path = path_of(call)
    value = value_of(call, path) if path else None
    return (path, value) if isinstance(value, list) and todo_like(value, "") is not None else None
