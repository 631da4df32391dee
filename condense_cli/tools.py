"""What the tools of the known agents do, by their names and arguments."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from . import jsontext, textactions, xmlcalls
from .transcript import Block, JsonPath

READERS: Final = frozenset({"read", "read_file", "read_files", "view", "view_file", "notebookread", "read_many_files"})
TYPED_READERS: Final = frozenset({"cat", "open"})
"""Commands that a shell runs. Followed by a path alone they read a file; otherwise they may do anything."""

EDITORS: Final = frozenset({"str_replace_editor", "str_replace_based_edit_tool", "file_editor"})
"""One tool for viewing and editing; its `command` argument tells which."""

WRITERS: Final = frozenset({
    "apply_diff", "apply_patch", "create", "edit", "edit_file", "insert_content", "multi_replace_file_content",
    "multiedit", "notebookedit", "replace", "replace_file_content", "replace_in_file", "search_and_replace",
    "write", "write_file", "write_to_file",
})  # fmt: skip
SHELLS: Final = frozenset({
    "bash", "exec_command", "execute_bash", "execute_command", "run_command", "run_commands", "run_shell_command",
    "shell", "shell_command", "terminal",
})  # fmt: skip
_FILE_COMMAND: Final = re.compile(r"\s*(?:cd\s[^&;|]*(?:&&|;)\s*)?(?:cat|sed\s+-n|head|tail|nl|less|Get-Content)\s")
"""Commands that print (a part of) a file. What else a command line shows is decided by what it prints."""

PATH_ARGUMENTS: Final = (
    "file_path",
    "path",
    "filePath",
    "notebook_path",
    "AbsolutePath",
    "absolute_path",
    "TargetFile",
    "filename",
)

MAIN_ARGUMENTS: Final = (
    *PATH_ARGUMENTS, "command", "cmd", "pattern", "query", "regex", "url", "description", "prompt",
)  # fmt: skip


def arguments_of(call: Block) -> Mapping[str, Any] | None:
    """Arguments of a call (JSON, or XML or an action inside assistant text), or None where they are no object."""
    text = call.text
    if text.startswith("<"):
        return xmlcalls.arguments(text)
    if _is_action(call):
        return textactions.arguments(text)
    try:
        value = jsontext.parse_text(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _is_action(call: Block) -> bool:
    """Whether the call is a command line inside assistant text."""
    return call.span is not None and not call.text.startswith("<")


def replace_arguments(call: Block, edits: Mapping[JsonPath, str]) -> str:
    """Text of the call with the string values at some paths exchanged; everything around them stays."""
    if call.text.startswith("<"):
        return xmlcalls.replace(call.text, edits)
    if _is_action(call):
        return textactions.replace(call.text, edits)
    style = jsontext.Style.of(call.text.encode("utf-8", "surrogatepass"))
    return jsontext.splice(call.text, {path: style.literal(value) for path, value in edits.items()})


def has_failed(result: Block) -> bool:
    """Whether a result says that its call failed: by its flag, or in the words of clients that have no flag."""
    return result.is_error or result.text.lstrip().startswith(("The tool execution failed", "<error>"))


def reads_a_file(call: Block) -> bool:
    """Whether the call shows a file's content, so that a later call with the same arguments renews it."""
    name = (call.tool or "").lower()
    if name in EDITORS:
        return command_of_editor(call) == "view"
    return path_argument(call) is not None if name in TYPED_READERS else name in READERS


def command_of_editor(call: Block) -> str:
    """What a tool for viewing and editing was asked to do: view, create, str_replace…; empty for other tools."""
    if (call.tool or "").lower() not in EDITORS:
        return ""
    command = (arguments_of(call) or {}).get("command")
    return command if isinstance(command, str) else ""


def writes_a_file(call: Block) -> bool:
    """Whether the call puts text of its arguments into a file."""
    name = (call.tool or "").lower()
    return name in WRITERS or (name in EDITORS and not reads_a_file(call))


def prints_a_file(call: Block) -> bool:
    """Whether the call is a command such as `cat` or `sed -n`."""
    return (call.tool or "").lower() in SHELLS and _FILE_COMMAND.match(main_argument(call)) is not None


def main_argument(call: Block) -> str:
    """The one argument that tells a person what the call was about; empty when there is none."""
    arguments = arguments_of(call) or {}
    for key in MAIN_ARGUMENTS:
        value = arguments.get(key)
        if isinstance(value, str) and value:
            return value
        if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
            return " ".join(value)
    strings = list(string_values(arguments))
    for key in MAIN_ARGUMENTS:
        found = [value for path, value in strings if key in path]
        if found:
            return ", ".join(found)
    return strings[0][1] if strings else ""


def path_argument(call: Block) -> str | None:
    """The file or folder that a call names as what it works on."""
    arguments = arguments_of(call) or {}
    values = (arguments.get(key) for key in PATH_ARGUMENTS)
    found = next((value for value in values if isinstance(value, str) and value), None)
    if found is None:
        # Roo Code wraps it: <args><file><path>. Of several files none is the one.
        inner = [value for path, value in string_values(arguments) if path[-1] in PATH_ARGUMENTS and value]
        found = inner[0] if len(inner) == 1 else None
    return found


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


def readable_arguments(call: Block) -> str:
    """Arguments as a person reads them: one key a line, line breaks of string values as they are."""
    arguments = arguments_of(call)
    if arguments is None or _is_action(call):
        return call.text
    lines = []
    for key, value in arguments.items():
        text = value if isinstance(value, str) else jsontext.dump_compact(value).replace("\\n", "\n")
        lines.append(f"{key}:\n{text}" if "\n" in text else f"{key}: {text}")
    return "\n".join(lines)
