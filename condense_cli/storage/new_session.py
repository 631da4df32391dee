"""Write a condensed session beside the original, where its client finds it, and note its origin.

The note is a file of its own whose name clients ignore, so the session stays as its client would write it.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct

from ..errors import CondenseError
from ..formats.engine.session_ids import session_files, sibling
from .files import create_bytes, holds

SUFFIX: Final = ".condense-origin"
_LARGEST: Final = 4_096
_MOST: Final = 100
"""Longest chain of sessions condensed one from the other."""


def write_origin(session: Path, original: Path) -> None:
    """Note beside a session which one it was condensed from. Ignores errors."""
    data = json.dumps({"version": 1, "origin": original.name}).encode()
    with contextlib.suppress(CondenseError, OSError):
        beside = _beside(session)
        if beside.exists() and not holds(beside, data):
            beside.unlink()
        create_bytes(beside, data, like=session)


def origin_of(session: str | Path) -> Path | None:
    """Return the session that this one was condensed from; None if that is unknown or gone."""
    session = Path(session)
    with contextlib.suppress(OSError, ValueError, AttributeError, TypeError, KeyError):
        with _beside(session).open("rb") as file:
            name = json.loads(file.read(_LARGEST))["origin"]
        original = session.with_name(name)
        if original.name != session.name and original.is_file():
            return original
    return None


def origins_of(session: str | Path) -> Iterator[Path]:
    """Yield the session that this one was condensed from, then that one's origin, and so on."""
    seen = {Path(session).name}
    found = origin_of(session)
    while found is not None and found.name not in seen and len(seen) < _MOST:
        seen.add(found.name)
        yield found
        found = origin_of(found)


def _beside(session: Path) -> Path:
    return session.with_name(session.name + SUFFIX)


class NewSession(Struct, frozen=True):
    """A session that was written. `command` resumes it, from `cwd` if that is known.

    `is_new` is False if the same file existed. `is_found` is False if the client does not look in that folder and
    has no command that takes a path.
    """

    id: str
    path: Path
    size: int
    cwd: str | None
    command: tuple[str, ...]
    is_new: bool
    is_found: bool

    def command_line(self, here: str) -> str:
        """Return the command to type in a shell whose folder is `here`."""
        command = shlex.join(self.command)
        return command if self.cwd in (None, here) else f"cd {shlex.quote(str(self.cwd))} && {command}"


def write_new_session(file: Path, format_name: str, data: bytes) -> NewSession:
    """Write a condensed session as a new one in the folder of the original.

    Raises UsageError if no client could resume it, OutputError if the file cannot be written or another one has its
    name.
    """
    files = session_files(format_name)
    place = Path(os.path.abspath(file))
    if not (files.is_home(_folders(place)) and place.samefile(file)):
        place = Path(os.path.realpath(file))  # A link from elsewhere into the client's folder.
    is_home = files.is_home(_folders(place))
    session = sibling(data, format_name, place.name, place.parent.name)
    path = place.with_name(session.name)
    is_new = create_bytes(path, session.data, like=place)
    write_origin(path, place)
    by_path = files.takes_path and not is_home
    command = (*files.resume, str(path) if by_path else session.id)
    return NewSession(session.id, path, len(session.data), session.cwd, command, is_new, is_home or by_path)


def _folders(path: Path) -> list[str]:
    """List the names of the folders above a file, nearest first."""
    return [folder.name for folder in path.parents]
