"""One way to look into the files of every client: the whole of one, or its beginning or end alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msgspec import Struct

from . import claude_code, codex, logs, tasks
from .finding import SessionFile
from .places import Client
from .records import HEAD, TAIL, last_timestamp

Told = Callable[[bytes], str | None]


class Peek(Struct, frozen=True):
    """What the bytes of a file tell. `project` needs the beginning of a file only, `last_time` its end."""

    title: Told
    project: Told
    last_time: Callable[[bytes], float | None]
    has_messages: Callable[[bytes], bool]
    model: Told = lambda data: None


_OF_TASKS: Final = Peek(tasks.title, tasks.project, tasks.last_time, tasks.has_messages, tasks.model)
_OF_LOGS: Final = Peek(logs.title, logs.project, last_timestamp, logs.has_messages)
READERS: Final = {
    Client.CLAUDE_CODE: Peek(claude_code.title, claude_code.project, last_timestamp, claude_code.has_messages),
    Client.CODEX: Peek(codex.title, codex.project, last_timestamp, codex.has_messages),
    Client.ROO: _OF_TASKS,
    Client.CLINE: _OF_TASKS,
    Client.OPENCODE: Peek(logs.exported_title, logs.exported_project, lambda data: None, logs.has_messages),
    Client.PI: _OF_LOGS,
    # A client that goes on with a session may leave a log in which nobody said anything.
    Client.GEMINI: Peek(logs.title, logs.project, last_timestamp, lambda data: logs.title(data) is not None),
    Client.KIMI: _OF_LOGS,
    Client.QWEN: _OF_LOGS,
    Client.COPILOT: _OF_LOGS,
}


def project_at_head(file: SessionFile) -> str | None:
    """The project that the beginning of a file names; None also where it cannot be read."""
    try:
        with open(file.path, "rb") as stream:
            return READERS[file.client].project(stream.read(HEAD))
    except OSError:
        return None


def updated_at(file: SessionFile) -> float:
    """Seconds since 1970 of the last message that carries a time, otherwise of the last change of the file."""
    try:
        with open(file.path, "rb") as stream:
            stream.seek(max(0, file.size - TAIL))
            said = READERS[file.client].last_time(stream.read(TAIL))
    except OSError:
        said = None
    return file.mtime_ns / 1e9 if said is None else said
