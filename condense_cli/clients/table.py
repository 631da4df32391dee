"""The known clients, and their session files, found by name and `stat` alone.

A client is added here, in `choices.Client`, and by a value in a file of its own.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final, assert_never

from msgspec import Struct

from ..errors import UnreadableError
from ..storage import session_databases
from ..storage.backups import snapshot_of
from . import claude_code, codex, editors, logs
from .choices import Client
from .client import KnownClient, Layout, Machine, SessionFile, SessionPlace

CLIENTS: Final[Mapping[Client, KnownClient]] = {
    Client.CLAUDE_CODE: claude_code.CLAUDE_CODE,
    Client.CODEX: codex.CODEX,
    Client.ROO: editors.ROO,
    Client.CLINE: editors.CLINE,
    Client.OPENCODE: logs.OPENCODE,
    Client.PI: logs.PI,
    Client.GEMINI: logs.GEMINI,
    Client.KIMI: logs.KIMI,
    Client.QWEN: logs.QWEN,
    Client.COPILOT: logs.COPILOT,
    Client.GOOSE: logs.GOOSE,
}


def places(home: Path, environment: Mapping[str, str], platform: str) -> list[SessionPlace]:
    """List every folder that may hold sessions, existing or not. `platform` is that of `sys.platform`."""
    machine = Machine(home, environment, platform)
    return [place for client in CLIENTS.values() for place in client.places(machine)]


def session_places() -> list[SessionPlace]:
    """List every folder in which a client of this user may keep sessions."""
    return places(Path(os.path.expanduser("~")), os.environ, sys.platform)


_MESSAGES: Final = ".messages.json"
_DAYS: Final = 3
"""Levels of folders above the rollouts of a day."""
_UUID: Final = 36
"""Length of the id at the end of a rollout's name."""
_SHORT: Final = 8
"""Characters of the id that are shown before the time of a snapshot."""


class Skipped(Struct, frozen=True):
    """Files or folders that were skipped: the reason, how many, and the path of one."""

    reason: str
    count: int
    path: str


class Finding(Struct, frozen=True):
    """Session files, newest first; the places searched, and what was skipped there."""

    files: tuple[SessionFile, ...]
    places: tuple[SessionPlace, ...]
    skipped: tuple[Skipped, ...]


UNREADABLE: Final = "cannot be read"
COMPRESSED: Final = "are compressed"


def find(places: Iterable[SessionPlace], *, everything: bool = False) -> Finding:
    """Find the session files in places; with `everything` also those of sub-agents and archives. Empty files are
    left out."""
    finder = _Finder(everything)
    searched = tuple(place for place in places if everything or place.layout is not Layout.ARCHIVE)
    # If a folder has two names, the first counts.
    for place in {os.path.realpath(place.folder): place for place in reversed(searched)}.values():
        finder.search(place)
    files = sorted(finder.files, key=lambda file: (-file.mtime_ns, file.path))
    return Finding(tuple(files), searched, tuple(Skipped(why, *found) for why, found in finder.skipped.items()))


def _id_of_snapshot(session_id: str, time: str) -> str:
    """Name a snapshot after its session and the time when it was kept."""
    return f"{session_id[:_SHORT]}@{time.partition('.')[0]}"


class _Finder:
    """Collect session files. Folders are entered to a fixed depth, so circular links end."""

    def __init__(self, everything: bool) -> None:
        self.files: list[SessionFile] = []
        self.skipped: dict[str, tuple[int, str]] = {}
        self._everything = everything
        self._known: set[tuple[int, int]] = set()

    def search(self, place: SessionPlace) -> None:
        match place.layout:
            case Layout.PROJECTS:
                self._projects(place)
            case Layout.ROLLOUTS | Layout.ARCHIVE:
                self._rollouts(place, place.folder, _DAYS)
            case Layout.MESSAGES:
                self._messages(place)
            case Layout.LOGS:
                self._logs(place, place.folder, place.pattern)
            case Layout.DATABASE:
                for entry in self._entries(place.folder):
                    if fnmatchcase(entry.name, place.pattern[0]):
                        self._database(place, Path(entry.path))
            case other:
                assert_never(other)

    def _projects(self, place: SessionPlace) -> None:
        for project in self._folders(place.folder):
            for entry in self._entries(project.path):
                if self._everything and (kept := snapshot_of(entry.name)):
                    self._add(place, _id_of_snapshot(Path(kept[0]).stem, kept[1]), entry.path, is_side=True)
                elif entry.name.endswith(".jsonl"):
                    is_agent = entry.name.startswith("agent-")
                    self._add(place, entry.name[: -len(".jsonl")], entry.path, is_side=is_agent)
                elif self._everything and self._is_folder(entry):
                    for agent in self._entries(os.path.join(entry.path, "subagents")):
                        if agent.name.endswith(".jsonl"):
                            self._add(place, agent.name[: -len(".jsonl")], agent.path, is_side=True)

    def _rollouts(self, place: SessionPlace, folder: str | Path, depth: int) -> None:
        for entry in self._entries(folder):
            if not entry.name.startswith("rollout-"):
                if depth and self._is_folder(entry):
                    self._rollouts(place, entry.path, depth - 1)
            elif self._everything and (kept := snapshot_of(entry.name)):
                self._add(place, _id_of_snapshot(Path(kept[0]).stem[-_UUID:], kept[1]), entry.path, is_side=True)
            elif entry.name.endswith(".jsonl"):
                name = entry.name[: -len(".jsonl")]
                self._add(place, name[-_UUID:], entry.path, is_side=place.layout is Layout.ARCHIVE)
            elif entry.name.endswith(".jsonl.zst"):
                self._skip(COMPRESSED, entry.path)

    def _messages(self, place: SessionPlace) -> None:
        for session in self._folders(place.folder):
            self._add(place, session.name, os.path.join(session.path, session.name + _MESSAGES))
            for entry in self._entries(session.path) if self._everything else ():
                name = entry.name.removesuffix(_MESSAGES)
                if name not in (entry.name, session.name):
                    self._add(place, name, entry.path, is_side=True)

    def _logs(self, place: SessionPlace, folder: str | Path, pattern: tuple[str, ...]) -> None:
        name, *deeper = pattern
        if not deeper and "*" not in name:  # A folder may hold many other files.
            path = Path(folder) / name
            self._add(place, CLIENTS[place.client].id_of(path), str(path))
            return
        for entry in self._entries(folder):
            if not fnmatchcase(entry.name, name):
                continue
            if deeper and self._is_folder(entry):
                self._logs(place, entry.path, tuple(deeper))
            elif not deeper:
                self._add(place, CLIENTS[place.client].id_of(Path(entry.path)), entry.path)

    def _database(self, place: SessionPlace, path: Path) -> None:
        try:
            found = session_databases.sessions(path)
        except UnreadableError:
            self._skip(UNREADABLE, str(path))
            return
        for stored in found:
            if self._everything or not stored.is_side:
                time = stored.updated * 1_000_000
                name = str(path / stored.id)
                self.files.append(SessionFile(place.client, stored.id, name, stored.parts, time, place, stored.is_side))

    def _add(self, place: SessionPlace, session_id: str, path: str, *, is_side: bool = False) -> None:
        if is_side and not self._everything:
            return
        try:
            # The directory entry has no inode number on Windows.
            status = os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError:
            self._skip(UNREADABLE, path)
            return
        same = (status.st_dev, status.st_ino)
        # Opening a pipe would wait for a writer.
        if not stat.S_ISREG(status.st_mode) or not status.st_size or (status.st_ino and same in self._known):
            return
        self._known.add(same)
        self.files.append(
            SessionFile(place.client, session_id, path, status.st_size, status.st_mtime_ns, place, is_side)
        )

    def _folders(self, folder: str | Path) -> Iterator[os.DirEntry[str]]:
        return (entry for entry in self._entries(folder) if self._is_folder(entry))

    def _is_folder(self, entry: os.DirEntry[str]) -> bool:
        try:
            return entry.is_dir()
        except OSError:  # A link to itself.
            return False

    def _entries(self, folder: str | Path) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(folder) as entries:
                # Links last, so that a file found twice keeps its own name.
                return sorted(entries, key=lambda entry: (entry.is_symlink(), entry.name))
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError:
            self._skip(UNREADABLE, str(folder))
            return []

    def _skip(self, reason: str, path: str) -> None:
        count, first = self.skipped.get(reason, (0, path))
        self.skipped[reason] = (count + 1, first)
