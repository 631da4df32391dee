"""Write a condensed session beside the original, where its client finds it, and note its origin.

A client finds a session by its id, which is in the name of the file and in its records. A condensed copy with another
id there is a session of its own; records that came from other sessions keep theirs. The note of its origin is a file of
its own whose name clients ignore, so the session stays as its client would write it.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Final
from uuid import NAMESPACE_OID, uuid5

from msgspec import Struct

from ..core import json_text
from ..core.transcript import JsonPath
from ..errors import CondenseError, UsageError
from ..formats.engine.container import open_document
from ..storage.files import create_bytes, holds
from .client import NO_CHANCE, SessionFiles
from .table import CLIENTS

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


class Sibling(Struct, frozen=True):
    """A condensed session with an id of its own, and the name of its file."""

    id: str
    name: str
    cwd: str | None
    data: bytes


def session_files(format_name: str) -> SessionFiles:
    """Return the rules for a format. Raises UsageError if its client would not find a new file beside the others."""
    known = next((client for name, client in CLIENTS.items() if name.value == format_name), None)
    if known is not None and known.files is not None:
        return known.files
    if format_name == "roo":
        raise UsageError(
            "A new task in Roo Code or Cline needs an entry in the editor's state, which condense does not write.",
            "Close the task and use --in-place, or write to a file with -o FILE.",
        )
    raise UsageError(f"--new-session is for sessions of Claude Code and Codex, and this is {format_name}.", NO_CHANCE)


def sibling(data: bytes, format_name: str, name: str, folder: str) -> Sibling:
    """Return the session in the bytes of a condensed file under a new id, derived from the old one and these bytes.

    `name` and `folder` are the names of the original file and its folder. Only the literals of the id are exchanged.
    Raises UsageError if no client could resume it.
    """
    files = session_files(format_name)
    session = files.identify(open_document(data, name, lenient=True).values, name, folder)
    new = str(uuid5(NAMESPACE_OID, f"{session.id} {sha256(data).hexdigest()}"))
    pieces: list[bytes] = []
    position = 0
    document = open_document(data, name, lenient=True)  # Anew: its values are read once and never held together.
    for value, (start, end) in zip(document.values, document.source.spans, strict=True):
        edits: dict[JsonPath, str | None] = (
            {path: json.dumps(new) for path in files.places(value, session.id)} if isinstance(value, dict) else {}
        )
        if edits:
            changed = json_text.encode(json_text.splice(json_text.decode(data[start:end]), edits))
            pieces += (data[position:start], changed)
            position = end
    return Sibling(new, files.name(name, session, new), session.cwd, b"".join([*pieces, data[position:]]))


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
    original = files.identify(open_document(data, place.name, lenient=True).values, place.name, place.parent.name)
    session = sibling(files.titled(data, original.id), format_name, place.name, place.parent.name)
    path = place.with_name(session.name)
    is_new = create_bytes(path, session.data, like=place)
    write_origin(path, place)
    command, is_found = _resuming(files, path, session.id)
    return NewSession(session.id, path, len(session.data), session.cwd, command, is_new, is_found)


def command_to_resume(file: Path, format_name: str, data: bytes, here: str) -> str | None:
    """Return the command to type in a shell in `here` that resumes the session in a file with these bytes.

    None if its client would not find it.
    """
    try:
        files = session_files(format_name)
        place = Path(os.path.abspath(file))
        session = files.identify(open_document(data, place.name, lenient=True).values, place.name, place.parent.name)
    except UsageError:
        return None
    command, is_found = _resuming(files, place, session.id)
    written = NewSession(session.id, place, len(data), session.cwd, command, is_new=False, is_found=is_found)
    return written.command_line(here) if is_found else None


def _resuming(files: SessionFiles, place: Path, session_id: str) -> tuple[tuple[str, ...], bool]:
    """Return the command that resumes a session in a file, and whether the client finds it."""
    is_home = files.is_home(_folders(place))
    by_path = files.takes_path and not is_home
    # At home a client looks for the name of the file.
    is_found = by_path or (is_home and session_id in place.name)
    return (*files.resume, str(place) if by_path else session_id), is_found


def _folders(path: Path) -> list[str]:
    """List the names of the folders above a file, nearest first."""
    return [folder.name for folder in path.parents]
