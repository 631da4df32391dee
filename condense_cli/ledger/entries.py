"""A ledger: files read and changed, commands and their outcomes, the user's requests, the latest list of todos.

Ledgers of consecutive stretches merge: `collect(a + b) == merge(collect(a), collect(b))`. Merging is associative, so a
summary continues the ledger of the one before it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from ..core.markers import Gap, short_hash
from ..toolcalls.outcomes import ENDED

State = Literal["", "failed", "denied", "deleted", "moved"]
"""Outcome of the last change of a file, if the counts do not tell."""

LONGEST_REQUEST: Final = (2_000, 1_000)
"""Characters kept of the beginning and end of pasted text, or of any request if there is little room."""


def middle_left_out(text: str, head: int, tail: int) -> str:
    """Shorten a long text in the middle; a marker counts what is missing and names the whole."""
    if len(text) <= head + tail + 60:
        return text
    gap = Gap(short_hash(text), 0, len(text) - head - tail)
    return f"{text[:head]}…\n{gap}\n…{text[-tail:]}"


class FileEntry(Struct, frozen=True):
    """Calls that worked on a file, counted by kind. `moved_to` is its new path if it was `moved`."""

    path: str
    read: int = 0
    created: int = 0
    written: int = 0
    edited: int = 0
    failed: int = 0
    state: State = ""
    moved_to: str = ""

    @property
    def is_changed(self) -> bool:
        return bool(self.created or self.written or self.edited or self.failed or self.state)

    def then(self, later: FileEntry) -> FileEntry:
        """Merge with a later entry of the same path."""
        newest = later if later.is_changed else self
        return FileEntry(
            self.path,
            self.read + later.read,
            self.created + later.created,
            self.written + later.written,
            self.edited + later.edited,
            self.failed + later.failed,
            newest.state,
            newest.moved_to,
        )


class CommandEntry(Struct, frozen=True):
    """A command line: number of runs and of failures, last outcome, and last error.

    A denied command counts as a run that did not fail; its error is what the user said.
    """

    text: str
    outcome: str = ENDED
    runs: int = 1
    failures: int = 0
    error: str = ""

    def then(self, later: CommandEntry) -> CommandEntry:
        return replace(later, runs=self.runs + later.runs, failures=self.failures + later.failures)


class UserRequest(Struct, frozen=True):
    """A text that the user wrote, and how often.

    A short reply has the question that it `answers`, and an order that was carried out its `outcome`: the first
    sentence with which the assistant ended.
    """

    text: str
    times: int = 1
    answers: str = ""
    outcome: str = ""


class Todo(Struct, frozen=True):
    """A task. `id` is the client's number, if any; `status` is the client's word, empty if unknown."""

    text: str
    status: str = ""
    id: str = ""

    def then(self, later: Todo) -> Todo:
        return Todo(later.text or self.text, later.status or self.status, self.id)


class LeftOutEntries(Struct, frozen=True):
    """Numbers of entries that were dropped, and of content that has no entry."""

    requests: int = 0
    changed: int = 0
    read: int = 0
    commands: int = 0
    todos: int = 0
    images: int = 0
    documents: int = 0

    def plus(self, other: LeftOutEntries) -> LeftOutEntries:
        return LeftOutEntries(*(getattr(self, key) + getattr(other, key) for key in self.__struct_fields__))

    def __bool__(self) -> bool:
        return self != LeftOutEntries()


class Ledger(Struct, frozen=True):
    """Entries of a stretch, each name once.

    Requests are in the order of their last mention; changed files, files only read, and commands in that of their
    last use. `is_whole_list`: the todos are a whole list, which replaces an earlier one.
    """

    requests: tuple[UserRequest, ...] = ()
    changed: tuple[FileEntry, ...] = ()
    read: tuple[FileEntry, ...] = ()
    commands: tuple[CommandEntry, ...] = ()
    todos: tuple[Todo, ...] = ()
    is_whole_list: bool = False
    left_out: LeftOutEntries = LeftOutEntries()

    def __bool__(self) -> bool:
        return self != Ledger()


def merge(earlier: Ledger, later: Ledger) -> Ledger:
    """Merge the ledgers of two consecutive stretches."""
    changed, read = _merge_files(earlier, later)
    return Ledger(
        merge_requests(earlier.requests, later.requests),
        changed,
        read,
        _merge_commands(earlier.commands, later.commands),
        later.todos if later.is_whole_list else _merge_todos(earlier.todos, later.todos),
        earlier.is_whole_list or later.is_whole_list,
        earlier.left_out.plus(later.left_out),
    )


def merge_requests(earlier: Iterable[UserRequest], later: Iterable[UserRequest]) -> tuple[UserRequest, ...]:
    """Return requests that were said again, in answer to the same, at their last place: later ones win."""
    found: dict[tuple[str, str], UserRequest] = {}
    for request in (*earlier, *later):
        key = request.text, request.answers
        before = found.pop(key, None)
        found[key] = replace(request, times=before.times + request.times) if before else request
    return tuple(found.values())


def _merge_files(earlier: Ledger, later: Ledger) -> tuple[tuple[FileEntry, ...], tuple[FileEntry, ...]]:
    changed = {entry.path: entry for entry in earlier.changed}
    read = {entry.path: entry for entry in earlier.read}
    for entry in later.changed:
        before = changed.pop(entry.path, None) or read.pop(entry.path, None)
        changed[entry.path] = before.then(entry) if before else entry
    for entry in later.read:
        # Changed files are ordered by their last change.
        if entry.path in changed:
            changed[entry.path] = changed[entry.path].then(entry)
        else:
            before = read.pop(entry.path, None)
            read[entry.path] = before.then(entry) if before else entry
    return tuple(changed.values()), tuple(read.values())


def _merge_commands(earlier: Iterable[CommandEntry], later: Iterable[CommandEntry]) -> tuple[CommandEntry, ...]:
    found = {command.text: command for command in earlier}
    for command in later:
        before = found.pop(command.text, None)
        found[command.text] = before.then(command) if before else command
    return tuple(found.values())


def _merge_todos(earlier: Iterable[Todo], later: Iterable[Todo]) -> tuple[Todo, ...]:
    """Merge todos: numbered ones change one by one, others come as a whole list."""
    kept = list(earlier)
    position = {todo.id: number for number, todo in enumerate(kept) if todo.id}
    for todo in later:
        if todo.id in position:
            kept[position[todo.id]] = kept[position[todo.id]].then(todo)
        else:
            if todo.id:
                position[todo.id] = len(kept)
            kept.append(todo)
    return tuple(kept)
