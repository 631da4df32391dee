"""The one session that a command is to work on: named by its id, by the beginning of it, or as the newest."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from ..errors import UnreadableError, UsageError
from ..storage.files import read_bytes
from .finding import SessionFile, find
from .listing import has_messages, newest, of_project, project_root
from .names import Names
from .peek import READERS
from .places import Client, SessionPlace
from .records import HEAD

LATEST: Final = "latest"
_NAMED: Final = 5
"""Candidates that an error names."""


class SessionChoice(Struct, frozen=True):
    """A session file; `is_elsewhere` if it is the newest of all because the current project has none."""

    file: SessionFile
    title: str | None = None
    is_elsewhere: bool = False


def choose(wanted: str, places: Sequence[SessionPlace], folder: Path) -> SessionChoice:
    """The session that has the id, or whose id alone begins so; for "latest" the newest of the folder's project.

    Raises UnreadableError where there is none, UsageError where there are several.
    """
    if wanted == LATEST:
        return _latest(places, folder)
    files = find(places, everything=True).files
    exact = [file for file in files if file.id == wanted]
    begun = [file for file in files if wanted and (file.id.startswith(wanted) or _begins_id(file, wanted))]
    # What a list shows without --all goes before what it leaves out.
    matches = exact or [file for file in begun if not file.is_side] or begun
    if not matches:
        raise UnreadableError(
            f"There is no session {wanted!r} on this machine.",
            "condense sessions lists them; --all adds sub-agents and archived ones.",
        )
    share_id = len({file.id for file in matches}) == 1
    if share_id and len(matches) > 1:
        matches = [file for file in matches if has_messages(file)] or matches
    if len(matches) > 1:
        named = ", ".join(file.path if share_id else f"{file.id} ({file.client})" for file in matches[:_NAMED])
        more = f", and {len(matches) - _NAMED:,} more" if len(matches) > _NAMED else ""
        raise UsageError(
            f"{len(matches):,} sessions {'have the id' if share_id else 'begin with'} {wanted!r}: {named}{more}.",
            "Name one of these files instead." if share_id else "Give more of the id.",
        )
    return SessionChoice(matches[0])


def _begins_id(file: SessionFile, wanted: str) -> bool:
    """Whether the file of a session has the wanted id inside, and the beginning of it in its name."""
    if file.client is not Client.GEMINI or not wanted.startswith(file.id):
        return False
    with contextlib.suppress(OSError), open(file.path, "rb") as stream:
        return f'"{wanted}"'.encode("utf-8", "replace") in stream.read(HEAD)
    return False


def _latest(places: Sequence[SessionPlace], folder: Path) -> SessionChoice:
    files = find(places).files
    own = newest(of_project(files, project_root(folder)))
    file = own or newest(files)
    if file is None:
        raise UnreadableError("There are no sessions on this machine.", "condense sessions shows where it looks.")
    title = Names().of(file).title or READERS[file.client].title(read_bytes(file.path))
    return SessionChoice(file, title, is_elsewhere=own is None)
