"""The sessions that may be asked about: the one that was named, or those in the folders of this user's clients."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from .. import formats
from ..core.transcript import Transcript
from ..errors import CondenseError, UnreadableError, UsageError
from ..plugins import Installed
from ..recaps.told import whole
from ..sessions.choosing import LATEST, choose
from ..sessions.finding import find
from ..sessions.places import SessionPlace
from ..storage.backups import backups_of
from ..storage.files import read_bytes, unpacked

_BACKUPS: Final = 5
_SIBLINGS: Final = 8
"""Older contents of a session, and other sessions of its project, that are looked into for what is not in it."""


class AskedSession(Struct, frozen=True):
    """A session as it is now."""

    path: str
    transcript: Transcript


class Library:
    """Sessions by their ids. With a `file` there is only that one; without, those that are in `places`.

    `folder` is the one whose project's newest session is the latest. What was read last is remembered as long as its
    file does not change.
    """

    def __init__(self, places: Sequence[SessionPlace], folder: Path, file: str | None = None) -> None:
        self._places, self._folder, self._file = places, folder, file
        self._read: tuple[tuple[object, ...], AskedSession] | None = None

    def session(self, wanted: str | None = None) -> AskedSession:
        """The session with this id, or the beginning of it; without one the project's latest. Raises CondenseError."""
        if self._file is None:
            choice = choose(wanted or LATEST, self._places, self._folder)
            if choice.is_elsewhere:  # Who asks for the session that goes on means none of another project.
                raise UnreadableError("This project has no session yet.", "Another one is named by its id.")
            if not self._is_inside(choice.file.path):
                raise UnreadableError("The file of that session is a link that leads out of the session folders.")
            return self._open(choice.file.path)
        if wanted and wanted != LATEST and not Path(self._file).stem.endswith(wanted):
            raise UsageError("This server serves one session only.", "Leave the session out.")
        return self._open(self._file)

    def originals(self, session: AskedSession) -> Iterator[AskedSession]:
        """Where what was cut from a session may be: itself before compactions, its backups, sessions of its project."""
        yield from self.whole(session)
        yield from _each(self._siblings(session.path))

    def whole(self, session: AskedSession) -> Iterator[AskedSession]:
        """All of a session with what was compacted, and then its backups."""
        yield replace(session, transcript=_with_compacted(session.transcript))
        yield from _each([str(backup.path) for backup in backups_of(Path(session.path))[:_BACKUPS]])

    def _siblings(self, path: str) -> list[str]:
        """Other sessions in the same folder: of one of them this may be the condensed one."""
        if self._file is not None:
            return []
        folder = os.path.dirname(path)
        files = [file.path for file in find(self._places).files]
        beside = [each for each in files if each != path and os.path.dirname(each) == folder]
        return [*filter(self._is_inside, beside)][:_SIBLINGS]

    def _is_inside(self, path: str) -> bool:
        """Whether a session's file is in the folders of clients; these themselves may be links of the user's."""
        if not os.path.islink(path):
            return True
        target = Path(os.path.realpath(path))
        return any(target.is_relative_to(os.path.realpath(place.folder)) for place in self._places)

    def _open(self, path: str) -> AskedSession:
        status = os.stat(path)
        stamp = path, status.st_mtime_ns, status.st_size, status.st_ino
        if self._read is None or self._read[0] != stamp:
            self._read = stamp, AskedSession(path, _read(path))
        return self._read[1]


def _with_compacted(transcript: Transcript) -> Transcript:
    return replace(transcript, messages=tuple(whole(transcript)))


def _each(paths: Sequence[str]) -> Iterator[AskedSession]:
    """The sessions in files, each with what was compacted. One that cannot be read is none."""
    for path in paths:
        with suppress(CondenseError):
            yield AskedSession(path, _with_compacted(_read(path)))


def _read(path: str) -> Transcript:
    # A client may be in the middle of writing a line.
    return formats.parse(unpacked(read_bytes(path), path), name=path, lenient=True, others=Installed().formats)
