"""Classify the tools of the known agents by name and arguments, and read their patches and lists of todos.

*** Begin Patch
    *** Update File: src/app.py
    @@ def main():
    -    old()
    +    new()
    *** End Patch

The sections are read as arguments, so that the paths stay where the changes to a file are shortened. Any other
text is one argument, `input`.

{"todos": [{"content": "Fix the parser", "status": "completed"}, {"content": "Run the tests", "status": "pending"}]}

Such a list is read as a text with one todo, as JSON, a line. Where todos are left out of it, one of the same shape
takes their place, with the marker in its words: the schemas of the tools take nothing else (each todo an object with
these keys, a status of theirs, no empty text, no further keys), and a client that reads the call again finds a list.
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
    """The files that a patch in the text changes: Add, Update or Delete, the path, and where an update moves it."""
    found = _FILE.finditer(text) if BEGIN in text else ()
    return [(match["kind"], match["path"], (match["target"] or "").strip()) for match in found if match["path"]]


def section_paths(text: str) -> list[str]:
    """The files that a patch in the text changes."""
    return [path for _, path, _ in files(text)]


def arguments(text: str) -> dict[str, Any]:
    """`{"files": [{"path", "patch"}]}` for a patch, `{"input": text}` for any other text."""
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
    """The text with the arguments at some paths exchanged."""
    spans = {path: (start, end) for path, start, end in _values(text)}
    for path, value in sorted(edits.items(), key=lambda edit: -spans[edit[0]][0]):
        start, end = spans[path]
        text = text[:start] + value + text[end:]
    return text


def _values(text: str) -> Iterator[tuple[JsonPath, int, int]]:
    """Path and span of every argument."""
    headers = list(_FILE.finditer(text)) if BEGIN in text else []
    for number, header in enumerate(headers):
        yield ("files", number, "path"), *header.span("path")
        # The line break before the next section belongs to no change; an empty section begins behind it.
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
"""Commands that a shell runs. Followed by a path alone they read a file; otherwise they may do anything."""

EDITORS: Final = frozenset({"str_replace_editor", "str_replace_based_edit_tool", "file_editor"})
"""One tool for viewing and editing; its `command` argument tells which."""

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
"""Writers that put a whole file in place, not a part of it."""

TODO_LISTS: Final = frozenset({
    "manage_todo_list", "settodolist", "task_tracker", "todo_write", "todolist", "todos", "todowrite", "update_plan",
    "update_todo", "update_todo_list", "write_todos",
})  # fmt: skip
"""Tools whose call holds the whole list of todos."""

TASK_TOOLS: Final = frozenset({"taskcreate", "taskupdate"})
"""Tools that add or change one todo, which has a number."""

_OPEN_FILE: Final = lazy_pattern(r"^\(Open file: (.+?)\)\s*$", re.MULTILINE)
_SHOWN_FILE: Final = lazy_pattern(r"^\[File: (.+?) \(\d+ lines total\)\]", re.MULTILINE)
_REPLACED_ARGUMENTS: Final = frozenset({
    "TargetContent", "oldString", "oldText", "old_str", "old_string", "old_text", "search",
})  # fmt: skip
_PATCH_ARGUMENTS: Final = frozenset({"diff", "content", "input", "patch"})
"""Arguments of an edit that hold what it replaces, and those that may hold a patch."""
_SEARCH_BEGINS: Final = lazy_pattern(r"(?:<{7}|-{7,}) SEARCH\s*")
_SEARCH_HEADER: Final = lazy_pattern(r":(?:start|end)_line:.*|-{7}")
"""How a text to look for begins in edits of Roo Code and Cline, and lines that come before it; `=======` ends it."""

_PARTIAL: Final = lazy_pattern(r"(?i)line|range|offset|limit")
"""Names of arguments with one of these words say that only a part of a file is shown: `startLine`, `view_range`."""

_FILE_COMMAND: Final = lazy_pattern(r"\s*(?:cd\s[^&;|]*(?:&&|;)\s*)?(?:cat|sed\s+-n|head|tail|nl|less|Get-Content)\s")
"""Commands that print (a part of) a file. What else a command line shows is decided by what it prints."""
_NUMBERING: Final = lazy_pattern(r"(?:\\n|(?<![\\\w]))(?:(?:cat|bat|less)\s+(?:-\w+\s+)*-\w*[nN]|nl\s)")
"""In the JSON of a call a line break before a command is `\\n`, and `\\nl` no command."""
_COMMAND: Final = lazy_pattern(
    r"""(?:'[^']*'|"(?:\\.|[^"\\])*"|\\.|(?<!&)&(?!&)|(?<!\|)\|(?!\|)|[^'"\\&|;\n])+""", re.DOTALL
)
"""One of the commands that a line runs one after another; a pipe is one."""

PATH_ARGUMENTS: Final = (
    "file_path", "path", "filePath", "notebook_path", "AbsolutePath", "absolute_path", "TargetFile", "filename",
)  # fmt: skip

_LINE_BREAK: Final = lazy_pattern(r"(\\\\)|\\n")
"""A line break in JSON text; or an escaped backslash, which may stand before any letter."""

_COMMAND_ARGUMENTS: Final = ("command", "cmd", "CommandLine", "commands", "script")
_RUN: Final = (["-c"], ["-lc"], ["-Command"])
"""The last option before what a shell is to run. Codex gives PowerShell -NoProfile before it."""

MAIN_ARGUMENTS: Final = (
    *PATH_ARGUMENTS, "command", "cmd", "pattern", "query", "regex", "url", "description", "prompt",
)  # fmt: skip


def name_of(call: Block) -> str:
    """The name of a call's tool in small letters, without that of the MCP server which brings the tool."""
    return _bare(call.tool or "")


@lru_cache(1_000)
def _bare(tool: str) -> str:
    name = tool.lower()
    return name.rpartition("__")[2] if name.startswith("mcp__") else name


def arguments_of(call: Block) -> Mapping[str, Any] | None:
    """Arguments of a call, or None where they are no object.

    They are JSON, XML or an action inside assistant text, or a text as the tool takes it.
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
    """Whether the call is a command line inside assistant text."""
    return call.span is not None and not call.text.startswith("<")


def holds_json(call: Block) -> bool:
    """Whether the arguments are JSON, so that their values can be more than strings."""
    return not (call.is_free_text or call.text.startswith("<") or _is_action(call))


def with_values(call: Block, values: Mapping[JsonPath, Any]) -> Block:
    """The call with the values at some paths of its arguments exchanged: strings, or any where it `holds_json`."""
    return call.with_edits(replace_arguments(call, values), values)


def replace_arguments(call: Block, edits: Mapping[JsonPath, Any]) -> str:
    """Text of the call with the values at some paths exchanged; everything around them stays."""
    text = call.text
    if call.is_free_text:
        return replace(text, edits)
    if text.startswith("<"):
        return text_calls.replace_xml(text, edits)
    if _is_action(call):
        return text_calls.replace_action(text, edits)
    # The text of an object is our own: spelled otherwise than it was read, the same values would count otherwise.
    return json_text.replace_values(text, edits, json_text.DUMPED if call.is_object else None)


def has_failed(result: Block) -> bool:
    """Whether a result says that its call failed: by its flag, or in the words of clients that have no flag."""
    return result.is_error or result.text.lstrip().startswith(("The tool execution failed", "<error>"))


def reads_a_file(call: Block) -> bool:
    """Whether the call shows a file's content, so that a later call with the same arguments renews it."""
    name = name_of(call)
    if name in EDITORS:
        return command_of_editor(call) == "view"
    return path_argument(call) is not None if name in TYPED_READERS else name in READERS


def shows_a_part(call: Block) -> bool:
    """Whether a call that reads a file asks for a part of it."""
    return any(map(_PARTIAL.search, arguments_of(call) or {}))


def command_of_editor(call: Block) -> str:
    """What a tool for viewing and editing was asked to do: view, create, str_replace…; empty for other tools."""
    if name_of(call) not in EDITORS:
        return ""
    command = (arguments_of(call) or {}).get("command")
    return command if isinstance(command, str) else ""


def writes_a_file(call: Block) -> bool:
    """Whether the call puts text of its arguments into a file."""
    name = name_of(call)
    return name in WRITERS or (name in EDITORS and not reads_a_file(call)) or bool(patched_paths(call))


def patched_paths(call: Block) -> list[str]:
    """Files that a call changes by a patch: that of `apply_patch`, or one in a command that runs it."""
    name = name_of(call)
    if not (name == "apply_patch" or name in SHELLS) or BEGIN not in call.text:
        return []
    if call.is_free_text:
        return section_paths(call.text)
    return [path for _, value in string_values(arguments_of(call)) for path in section_paths(value)]


def prints_a_file(call: Block) -> bool:
    """Whether the call is a command such as `cat` or `sed -n`."""
    return name_of(call) in SHELLS and _FILE_COMMAND.match(main_argument(call)) is not None


def shows_numbered_lines(call: Block) -> bool:
    """Whether the call shows lines of a file, and numbers before them can only be theirs."""
    return reads_a_file(call) or writes_a_file(call) or _NUMBERING.search(call.text) is not None


def printing_commands(call: Block) -> list[str]:
    """Those of the commands in a call's line that print (a part of) a file, wherever they are in it."""
    commands = _COMMAND.findall(main_argument(call)) if name_of(call) in SHELLS else []
    return [command for command in commands if _FILE_COMMAND.match(command)]


def replaces_a_file(call: Block) -> bool:
    """Whether the call puts a whole file in place."""
    name = name_of(call)
    return name in _WHOLE_FILE_WRITERS or command_of_editor(call) == "create"


def command_lines(call: Block) -> list[str]:
    """The command lines that a call runs in a shell; empty for other tools.

    An action whose first word is no tool of its agent is a command line as it stands.
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
    """What a call of `apply_patch` does to files, as `patches.files` says it."""
    if name_of(call) == "apply_patch":
        for _, value in string_values(arguments_of(call) or {"input": call.text}):
            yield from files(value)


def matched_texts(call: Block) -> list[str]:
    """Texts that an edit has to find in its file as they stand: what it replaces."""
    if not writes_a_file(call):
        return []
    found: list[str] = []
    for path, value in string_values(arguments_of(call) or {"input": call.text}):
        if path[-1] in _REPLACED_ARGUMENTS:
            found.append(value)
        elif path[-1] in _PATCH_ARGUMENTS:
            found += _searched_texts(value)
            # A patch that is all a call says is read file by file, without the lines around them.
            if BEGIN in value or (call.is_free_text and path[-1] == "patch"):
                found += [line[1:] for line in value.split("\n") if line.startswith(("-", " "))]
    return found


def _searched_texts(diff: str) -> Iterator[str]:
    """What is looked for in an edit of Roo Code or Cline."""
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
    """The one argument that tells a person what the call was about; empty when there is none."""
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
    """The command in the words of a process; of a shell that is told to run one, that command alone."""
    options = words[1:-1]
    is_shell = options[-1:] in _RUN and all(option.startswith("-") for option in options)
    return words[-1] if is_shell else " ".join(words)


def path_argument(call: Block) -> str | None:
    """The file or folder that a call names as what it works on."""
    arguments = arguments_of(call) or {}
    values = (arguments.get(key) for key in PATH_ARGUMENTS)
    found = next((value for value in values if isinstance(value, str) and value), None)
    if found is None:
        # Roo Code wraps it: <args><file><path>. Of several files none is the one.
        inner = [value for path, value in string_values(arguments) if path[-1] in PATH_ARGUMENTS and value]
        inner = inner or patched_paths(call)
        found = inner[0] if len(inner) == 1 else None
    return found


def paths(call: Block) -> list[str]:
    """Every file or folder that the call names as what it works on."""
    one = path_argument(call)
    if one is not None:
        return [one]
    found = [value for path, value in string_values(arguments_of(call) or {}) if value and _names_a_path(path)]
    return list(dict.fromkeys(found))


def open_file(result: str) -> str | None:
    """The file that is open, as SWE-agent says it by its whole path at the end of what it shows, or that is shown."""
    found = _OPEN_FILE.findall(result[-2_000:])
    if found:
        return found[-1] if found[-1] != "n/a" else None
    shown = _SHOWN_FILE.search(result)
    return shown[1] if shown else None


def _names_a_path(path: JsonPath) -> bool:
    """Whether a value is a path: `path` itself, or an entry of a list of paths."""
    name = next((key for key in reversed(path) if isinstance(key, str)), "")
    return name in PATH_ARGUMENTS or name in ("paths", "files")


def string_values(value: Any, path: JsonPath = ()) -> Iterator[tuple[JsonPath, str]]:
    """Every string inside a JSON value, with its path."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from string_values(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from string_values(item, (*path, index))


def _with_line_breaks(text: str) -> str:
    return _LINE_BREAK.sub(lambda match: match[1] or "\n", text)


def readable_arguments(call: Block) -> str:
    """Arguments as a person reads them: one key a line, line breaks of string values as they are."""
    arguments = arguments_of(call)
    if arguments is None or call.is_free_text or _is_action(call):
        return call.text
    lines = []
    for key, value in arguments.items():
        text = value if isinstance(value, str) else _with_line_breaks(json_text.dump_compact(value))
        lines.append(f"{key}:\n{text}" if "\n" in text else f"{key}: {text}")
    return "\n".join(lines)


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
