"""A condensed session beside the original, where its client finds it."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from msgspec import Struct

from ..formats.engine.session_ids import session_files, sibling
from .files import create_bytes
from .origins import write_origin


class NewSession(Struct, frozen=True):
    """A session that was written. `command` resumes it, from `cwd` where that is known.

    `is_new` is False when the same file was there already. `is_found` is False when the client does not look in that
    folder, and has no command that takes a path.
    """

    id: str
    path: Path
    size: int
    cwd: str | None
    command: tuple[str, ...]
    is_new: bool
    is_found: bool

    def command_line(self, here: str) -> str:
        """What to type in a shell whose folder is `here`."""
        command = shlex.join(self.command)
        return command if self.cwd in (None, here) else f"cd {shlex.quote(str(self.cwd))} && {command}"


def write_new_session(file: Path, format_name: str, data: bytes) -> NewSession:
    """Write the bytes of a condensed session as a new one in the folder of the original.

    Raises UsageError when no client could resume it, OutputError when the file cannot be written or another one has
    its name.
    """
    files = session_files(format_name)
    place = Path(os.path.abspath(file))
    if not (files.is_home(_folders(place)) and place.samefile(file)):
        place = Path(os.path.realpath(file))  # A link from elsewhere to where the client keeps it.
    is_home = files.is_home(_folders(place))
    session = sibling(data, format_name, place.name, place.parent.name)
    path = place.with_name(session.name)
    is_new = create_bytes(path, session.data, like=place)
    write_origin(path, place)
    by_path = files.takes_path and not is_home
    command = (*files.resume, str(path) if by_path else session.id)
    return NewSession(session.id, path, len(session.data), session.cwd, command, is_new, is_home or by_path)


def _folders(path: Path) -> list[str]:
    """Names of the folders above a file, the nearest first."""
    return [folder.name for folder in path.parents]
