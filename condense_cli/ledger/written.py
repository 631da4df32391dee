"""A ledger as text that a model reads, and back: `parse(render(ledger)) == ledger`.

    <ledger>
    Requests of the user:
    - Please fix the login.
      It fails on Safari.
    Files changed (…/ is /home/me/app/):
    - read 2x, edited 3x, failed, last change failed: …/src/login.ts
    Files only read:
    - read: …/src/session.ts
    Commands:
    - exit 1, 4 runs, 2 failed: npm test
    ! Error: session is undefined
    Todos:
    - [pending] add a test
    Left out: 12 files only read, 30 commands, 2 images.
    </ledger>

Every entry begins with "- ", goes on after two blanks, and what belongs to it follows "! " (an error) or "> " (where a
file went). So nothing inside an entry can be taken for the frame, whatever a file or a command is called.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from ..core.lazy_pattern import lazy_pattern
from ..toolcalls.outcomes import DENIED, ENDED, OK
from .entries import CommandEntry, FileEntry, Ledger, LeftOutEntries, State, Todo, UserRequest

OPENING: Final = "<ledger>"
CLOSING: Final = "</ledger>"
_ABBREVIATED: Final = "…/"

_REQUESTS: Final = "Requests of the user:"
_CHANGED: Final = "Files changed"
_READ: Final = "Files only read"
_COMMANDS: Final = "Commands:"
_WHOLE_LIST: Final = "Todos:"
_SOME_TODOS: Final = "Todos, in addition to earlier ones:"
_FILES: Final = lazy_pattern(rf"({_CHANGED}|{_READ})(?: \({_ABBREVIATED} is (.+)\))?:")
_FILE: Final = lazy_pattern(r'([a-z0-9, ]*): ("?)(.*)', re.DOTALL)
_COUNTED: Final = lazy_pattern(r"(read|created|written|edited|failed)(?: (\d{1,15})x)?", re.ASCII)
_STATES: Final[dict[State, str]] = {
    "failed": "last change failed",
    "denied": "last change denied",
    "deleted": "now deleted",
    "moved": "now moved",
}
_STATE_OF_WORDS: Final = {words: state for state, words in _STATES.items()}
_COMMAND: Final = lazy_pattern(
    r"(ok|ended|failed|denied|exit -?\d{1,15})(?:, (\d{1,15}) runs)?(?:, (\d{1,15}) failed)?: (.*)",
    re.DOTALL | re.ASCII,
)
_REQUEST: Final = lazy_pattern(r"\[(\d{1,15})x\] (.*)", re.DOTALL | re.ASCII)
_TODO: Final = lazy_pattern(r"\[([a-z_]*)\] (?:#([^\s#]+) )?(?:# )?(.*)", re.DOTALL)
_LEFT_OUT: Final = "Left out: "
_NOUNS: Final = {
    "requests": ("request", "requests"),
    "changed": ("file changed", "files changed"),
    "read": ("file only read", "files only read"),
    "commands": ("command", "commands"),
    "todos": ("todo", "todos"),
    "images": ("image", "images"),
    "documents": ("document", "documents"),
}
"""Singular and plural of what is left out."""

_AMOUNT: Final = lazy_pattern(r"(\d{1,15}) ([a-z ]+)", re.ASCII)


def render(ledger: Ledger) -> str:
    """Write the ledger as text; empty for an empty ledger."""
    return "\n".join(_lines(ledger)) if ledger else ""


def parse(text: str) -> Ledger | None:
    """Return the last ledger in a text, or None."""
    lines = text.split("\n")
    try:
        start = len(lines) - 1 - lines[::-1].index(OPENING)
        end = lines.index(CLOSING, start)
    except ValueError:
        return None
    try:
        return _parse(lines[start + 1 : end])
    except _NotALedgerError:
        return None


class _NotALedgerError(Exception):
    """The text does not have the form."""


def _lines(ledger: Ledger) -> Iterator[str]:
    yield OPENING
    for heading, entries in _sections(ledger):
        if entries:
            yield heading
            yield from entries
    if ledger.left_out:
        amounts = [(getattr(ledger.left_out, key), one, several) for key, (one, several) in _NOUNS.items()]
        said = [f"{number} {several if number > 1 else one}" for number, one, several in amounts if number]
        yield f"{_LEFT_OUT}{', '.join(said)}."
    yield CLOSING


def _sections(ledger: Ledger) -> Iterator[tuple[str, list[str]]]:
    yield _REQUESTS, [request_text(request) for request in ledger.requests]
    for name, files in ((_CHANGED, ledger.changed), (_READ, ledger.read)):
        folder = common_folder(files)
        heading = f"{name} ({_ABBREVIATED} is {folder}):" if folder else f"{name}:"
        yield heading, [file_text(entry, folder) for entry in files]
    yield _COMMANDS, [command_text(command) for command in ledger.commands]
    todos = [todo_text(todo) for todo in ledger.todos]
    if ledger.is_whole_list:
        yield _WHOLE_LIST, todos or ["- "]  # An empty list is written, too.
    else:
        yield _SOME_TODOS, todos


def _item(text: str) -> str:
    return "- " + text.replace("\n", "\n  ")


def _attached(mark: str, text: str) -> str:
    return f"\n{mark} " + text.replace("\n", "\n  ") if text else ""


def common_folder(files: Sequence[FileEntry]) -> str:
    """Return the folder, with its last separator, that is worth abbreviating in these paths; "" if none is."""
    folders: dict[str, int] = {}
    for entry in files:
        parts = entry.path.split("/")
        for depth in range(3, min(len(parts), 12)):
            folder = "/".join(parts[:depth]) + "/"
            folders[folder] = folders.get(folder, 0) + 1
    # Characters that the abbreviations save, less those of naming the folder once.
    gains = {folder: (number - 1) * (len(folder) - 2) for folder, number in folders.items() if "\n" not in folder}
    best = max(gains, key=lambda folder: (gains[folder], folder), default="")
    return best if best and gains[best] > len(best) else ""


def file_text(entry: FileEntry, folder: str = "") -> str:
    words = []
    for name in ("read", "created", "written", "edited", "failed"):
        number = getattr(entry, name)
        if number:
            words.append(f"{name} {number}x" if number > 1 else name)
    if entry.state:
        words.append(_STATES[entry.state])
    path = entry.path
    if folder and path.startswith(folder):
        path = _ABBREVIATED + path[len(folder) :]
    elif path.startswith(('"', _ABBREVIATED)):
        path = f'"{path}'  # After a quotation mark the text is literal.
    return _item(f"{', '.join(words)}: {path}") + _attached(">", entry.moved_to)


def command_text(command: CommandEntry) -> str:
    runs = f", {command.runs} runs" if command.runs != 1 else ""
    implied = _implied_failures(command.outcome, command.runs)
    failures = f", {command.failures} failed" if command.failures != implied else ""
    return _item(f"{command.outcome}{runs}{failures}: {command.text}") + _attached("!", command.error)


def request_text(request: UserRequest) -> str:
    is_counted = request.times != 1 or _REQUEST.fullmatch(request.text)
    return _item(f"[{request.times}x] {request.text}" if is_counted else request.text)


def todo_text(todo: Todo) -> str:
    number = f"#{todo.id} " if todo.id else ""
    escape = "# " if todo.text.startswith("#") else ""
    return _item(f"[{todo.status}] {number}{escape}{todo.text}")


class _Entry(Struct):
    """Parts of an entry as read: its text, and attachments by their mark."""

    parts: dict[str, list[str]]
    newest: str = "-"

    def __getitem__(self, mark: str) -> str:
        return "\n".join(self.parts.get(mark, ()))


def _parse(lines: Sequence[str]) -> Ledger:
    requests: list[UserRequest] = []
    files: dict[str, list[FileEntry]] = {_CHANGED: [], _READ: []}
    commands: list[CommandEntry] = []
    todos: list[Todo] = []
    is_whole_list, left_out = False, LeftOutEntries()
    for heading, entries in _read_sections(lines):
        named = _FILES.fullmatch(heading)
        if named:
            files[named[1]] += [_file(entry, named[2] or "") for entry in entries]
        elif heading == _REQUESTS:
            requests += [_request(entry) for entry in entries]
        elif heading == _COMMANDS:
            commands += [_command(entry) for entry in entries]
        elif heading in (_WHOLE_LIST, _SOME_TODOS):
            is_whole_list = heading == _WHOLE_LIST
            todos += [_todo(entry) for entry in entries if entry["-"]]
        elif heading.startswith(_LEFT_OUT) and not entries:
            left_out = _left_out(heading)
        else:
            raise _NotALedgerError
    changed, read = tuple(files[_CHANGED]), tuple(files[_READ])
    return Ledger(tuple(requests), changed, read, tuple(commands), tuple(todos), is_whole_list, left_out)


def _read_sections(lines: Sequence[str]) -> list[tuple[str, list[_Entry]]]:
    sections: list[tuple[str, list[_Entry]]] = []
    for line in lines:
        mark, entries = line[:2], sections[-1][1] if sections else []
        if mark == "- " and sections:
            entries.append(_Entry({"-": [line[2:]]}))
        elif mark in ("! ", "> ") and entries:
            entries[-1].newest = mark[0]
            entries[-1].parts[mark[0]] = [line[2:]]
        elif mark == "  " and entries:
            entries[-1].parts[entries[-1].newest].append(line[2:])
        else:
            sections.append((line, []))
    return sections


def _match(pattern: re.Pattern[str], text: str) -> re.Match[str]:
    match = pattern.fullmatch(text)
    if match is None:
        raise _NotALedgerError
    return match


def _file(entry: _Entry, folder: str) -> FileEntry:
    words, quote, path = _match(_FILE, entry["-"]).groups()
    if not quote and path.startswith(_ABBREVIATED):
        path = folder + path.removeprefix(_ABBREVIATED)
    counts: dict[str, int] = {}
    state: State = ""
    for word in filter(None, words.split(", ")):
        if word in _STATE_OF_WORDS:
            state = _STATE_OF_WORDS[word]
        else:
            name, number = _match(_COUNTED, word).groups()
            counts[name] = int(number or 1)
    return FileEntry(path, state=state, moved_to=entry[">"], **counts)


def _command(entry: _Entry) -> CommandEntry:
    outcome, runs, failures, text = _match(_COMMAND, entry["-"]).groups()
    times = int(runs or 1)
    failed = _implied_failures(outcome, times) if failures is None else int(failures)
    return CommandEntry(text, outcome, times, failed, entry["!"])


def _implied_failures(outcome: str, runs: int) -> int:
    """Return the number of failures if none is written: 1 if the last run failed."""
    return 0 if outcome in (OK, ENDED, DENIED) else min(1, runs)


def _request(entry: _Entry) -> UserRequest:
    counted = _REQUEST.fullmatch(entry["-"])
    return UserRequest(counted[2], int(counted[1])) if counted else UserRequest(entry["-"])


def _todo(entry: _Entry) -> Todo:
    status, todo_id, text = _match(_TODO, entry["-"]).groups()
    return Todo(text, status, todo_id or "")


def _left_out(line: str) -> LeftOutEntries:
    keys = {noun: key for key, nouns in _NOUNS.items() for noun in nouns}
    return LeftOutEntries(**{keys[noun]: int(number) for number, noun in _AMOUNT.findall(line) if noun in keys})
