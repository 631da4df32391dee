"""The value of a client: where its sessions are, what their files tell at a glance, and how it is set up.

Each client is one such value in a file of its own (or beside its like), listed in `table.py`. A file is looked into
without reading it as a conversation: thousands of sessions are listed at once.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from ..core import json_text
from ..core.json_text import text_in
from ..core.markers import parse_summary
from ..core.transcript import JsonPath
from ..formats.engine.client_text import words_beside
from ..storage.backups import snapshot_of
from .choices import Client
from .settings import InstallPlan, Target

HEAD: Final = 1 << 18
TAIL: Final = 1 << 16
"""Bytes read from the beginning, or the end, of a file."""


def records(data: bytes) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects of JSON lines, in order; other lines are skipped."""
    for line in io.BytesIO(data):
        yield from _parsed(line)


def records_reversed(data: bytes) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects of JSON lines, last one first."""
    end = len(data)
    while end > 0:
        start = data.rfind(b"\n", 0, end)
        yield from _parsed(data[start + 1 : end])
        end = start


def records_with(data: bytes, mark: bytes) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects of lines that contain `mark`, in order; no other line is parsed."""
    at = data.find(mark)
    while at >= 0:
        end = data.find(b"\n", at)
        end = len(data) if end < 0 else end
        yield from _parsed(data[data.rfind(b"\n", 0, at) + 1 : end])
        at = data.find(mark, end)


def _parsed(line: bytes) -> Iterator[dict[str, Any]]:
    try:
        value = json_text.parse(line)
    except (ValueError, RecursionError):
        return
    if isinstance(value, dict):
        yield value


def last_timestamp(data: bytes) -> float | None:
    """Return the last ISO timestamp, in seconds since 1970; `data` may be the end of a file."""
    said = (text_in(record, "timestamp") for record in records_reversed(data))
    return next((seconds for each in said if each and (seconds := seconds_of(each)) is not None), None)


def seconds_of(said: str) -> float | None:
    """Convert an ISO time to seconds since 1970; without a zone it is UTC."""
    try:
        time = datetime.fromisoformat(said)
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


LONGEST: Final = 200
"""Characters of a title."""
_LOOKED_AT: Final = 20_000
"""Characters of a text that are searched for its beginning; a request may contain a pasted file."""

_WRAPPED: Final = re.compile(
    r"\s*<(?P<tag>task|user_message|feedback|user_input)(?: mode=\"\w+\")?>\s*(?P<text>.*?)(?:</(?P=tag)>|\Z)",
    re.DOTALL,
)
"""Tags that Roo Code and Cline put around the request."""
_COMMAND: Final = re.compile(r"<command-name>([^<]+)</command-name>")
_ARGUMENTS: Final = re.compile(r"<command-args>([^<]+)</command-args>")


def title_of(text: str) -> str | None:
    """Shorten a text to a title: one line of at most LONGEST characters that UTF-8 can encode. None if nothing is
    left."""
    line = " ".join(text[: 10 * LONGEST].split())[:LONGEST]
    return line.encode("utf-8", "replace").decode() or None


def request_in(text: str) -> str | None:
    """Return the title that a user's text gives; None if a client wrote all of it."""
    wrapped = _WRAPPED.match(text[:_LOOKED_AT])
    if wrapped:
        return title_of(wrapped["text"])
    return None if parse_summary(text) else title_of(words_beside(text))


def command_in(text: str) -> str | None:
    """Return a typed client command, such as "/init", with its arguments."""
    name = _COMMAND.search(text[:_LOOKED_AT])
    if not name:
        return None
    arguments = _ARGUMENTS.search(text[:_LOOKED_AT])
    return title_of(f"{name[1].strip()} {arguments[1].strip() if arguments else ''}")


def first_request(texts: Iterable[str]) -> str | None:
    """Return the first request in user texts, else the first command."""
    command = None
    for text in texts:
        request = request_in(text)
        if request:
            return request
        command = command or command_in(text)
    return command


def texts_in(content: Any, kinds: tuple[str, ...] = ("text",)) -> Iterator[str]:
    """Yield the texts of a message's content: a string, or the parts of these types."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for part in content:
            if isinstance(part, dict) and part.get("type") in kinds and isinstance(part.get("text"), str):
                yield part["text"]


class Layout(StrEnum):
    """Arrangement of session files in a folder."""

    PROJECTS = "projects"
    """<project>/<id>.jsonl; sub-agents in agent-*.jsonl beside it, or in <project>/<id>/subagents."""
    ROLLOUTS = "rollouts"
    """YYYY/MM/DD/rollout-<time>-<id>.jsonl, or the same without days."""
    ARCHIVE = "archive"
    """As ROLLOUTS; sessions that were put away."""
    MESSAGES = "messages"
    """<id>/<id>.messages.json; other *.messages.json beside it are sub-agents."""
    LOGS = "logs"
    """Files at the depth, and with the names, that the pattern of the place says."""
    DATABASE = "database"
    """Rows of a database."""


class Machine(Struct, frozen=True):
    """Home folder, environment and platform (`sys.platform`): all that decides where clients keep things."""

    home: Path
    environment: Mapping[str, str]
    platform: str

    def folder(self, variable: str, *usual: str) -> Path:
        """Return the folder that a variable names, or else the usual one below home."""
        return Path(self.environment.get(variable) or self.home.joinpath(*usual))

    @property
    def config(self) -> Path:
        return self.folder("XDG_CONFIG_HOME", ".config")


class SessionPlace(Struct, frozen=True):
    """A folder with sessions. `pattern` (LOGS, DATABASE) names each folder on the way and the file, as globs."""

    client: Client
    layout: Layout
    folder: Path
    pattern: tuple[str, ...] = ()


class SessionFile(Struct, frozen=True):
    """One file that holds a session. `is_side`: a sub-agent's, archived, or a snapshot; listed on demand only.

    `size` is in bytes. For a session in a database it is the number of its parts, which changes as the session does;
    counting their bytes would mean reading them.
    """

    client: Client
    id: str
    path: str
    size: int
    mtime_ns: int
    place: SessionPlace
    is_side: bool = False

    @property
    def is_snapshot(self) -> bool:
        """True for the copy of a session that was kept before a compaction."""
        return snapshot_of(os.path.basename(self.path)) is not None


class KnownSession(Struct, frozen=True):
    """Title and project that a client notes beside a session file."""

    title: str | None = None
    project: str | None = None


NOTHING_KNOWN = KnownSession()

Index = Mapping[str, KnownSession]


class Indexes:
    """Index files of clients, each read once. A broken one is empty."""

    def __init__(self) -> None:
        self._read: dict[Path, Index] = {}

    def get(self, path: Path, read: Callable[[Path], Index]) -> Index:
        if path not in self._read:
            self._read[path] = read(path)
        return self._read[path]


Looked = Callable[[bytes], str | None]


class Peek(Struct, frozen=True):
    """Functions of a file's bytes. `project` needs its beginning only, `last_time` (seconds since 1970) its end."""

    title: Looked
    project: Looked
    has_messages: Callable[[bytes], bool]
    last_time: Callable[[bytes], float | None] = last_timestamp
    model: Looked = lambda data: None


NO_CHANCE: Final = "Write to a file with -o FILE."


class Session(Struct, frozen=True):
    """The session that a file holds: its id, its beginning (as its client writes the time) and its folder."""

    id: str
    began: str | None = None
    cwd: str | None = None


class SessionFiles(Struct, frozen=True):
    """Rules of one client for its session files.

    `identify` reads the session from the records, the name of the file and the name of its folder; it raises UsageError
    if the client could not resume it. `places` yields the paths of the session's own id in a record. `name` returns the
    name of a sibling, from the file's own name, the session and the new id. `is_home` tells from the folders above a
    file, nearest first, whether the client looks there. `resume` is the command that takes the id or, if it
    `takes_path`, the path of a file anywhere. `titled` adds to the records that the session of this id was condensed,
    where its client keeps titles in the file.
    """

    client: str
    identify: Callable[[Iterable[Any], str, str], Session]
    places: Callable[[dict[str, Any], str], Iterator[JsonPath]]
    name: Callable[[str, Session, str], str]
    is_home: Callable[[Sequence[str]], bool]
    resume: tuple[str, ...]
    takes_path: bool = False
    titled: Callable[[bytes, str], bytes] = lambda data, session_id: data


class Setup(Struct, frozen=True):
    """Functions that make a client run condense. `problems` are sentences about faults of an installation.

    `has_server`: it is given the MCP server, too. All raise UnreadableError for settings that cannot be read.
    """

    install_plan: Callable[[Target], InstallPlan]
    removal_plan: Callable[[Target], InstallPlan]
    problems: Callable[[Target], Iterator[str]]
    has_server: bool = True


class KnownClient(Struct, frozen=True):
    """A client. `id_of` gives the session's id from the path of a log; `known` what is noted beside a session.

    With `has_id_inside` the name of a file holds only the beginning of its session's id. `files` says how to write a
    session beside the others, if the client would resume it.
    """

    places: Callable[[Machine], Iterable[SessionPlace]]
    peek: Peek
    id_of: Callable[[Path], str] = lambda path: path.stem
    known: Callable[[SessionFile, Indexes], KnownSession] = lambda file, indexes: NOTHING_KNOWN
    has_id_inside: bool = False
    setup: Setup | None = None
    files: SessionFiles | None = None


def file_bytes(path: Path) -> bytes:
    """Read a file; empty if that is not possible."""
    try:
        return path.read_bytes() if path.is_file() else b""
    except OSError:
        return b""


def file_json(path: Path) -> Any:
    """Parse a file as JSON; None if that is not possible."""
    try:
        return json_text.parse(file_bytes(path))
    except (ValueError, RecursionError):
        return None
