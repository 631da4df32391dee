"""Ids of sessions: their places in a session file, and the name of a sibling with an id of its own.

A client finds a session by its id, which is in the name of the file and in its records. A condensed copy with another
id there is a session of its own. Records that came from other sessions keep theirs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from typing import Any, Final
from uuid import NAMESPACE_OID, uuid5

from msgspec import Struct

from ...core import json_text
from ...core.transcript import JsonPath
from ...errors import UsageError
from .container import open_document

_UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_ROLLOUT: Final = re.compile(r"rollout-(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d)-.+\.jsonl")
_LONGEST_FOLDER: Final = 200
_NO_CHANCE: Final = "Write to a file with -o FILE."


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
    `takes_path`, the path of a file anywhere.
    """

    client: str
    identify: Callable[[Iterable[Any], str, str], Session]
    places: Callable[[dict[str, Any], str], Iterator[JsonPath]]
    name: Callable[[str, Session, str], str]
    is_home: Callable[[Sequence[str]], bool]
    resume: tuple[str, ...]
    takes_path: bool = False


class Sibling(Struct, frozen=True):
    """A condensed session with an id of its own, and the name of its file."""

    id: str
    name: str
    cwd: str | None
    data: bytes


def session_files(format_name: str) -> SessionFiles:
    """Return the rules for a format. Raises UsageError if its client would not find a new file beside the others."""
    if format_name in SESSION_FILES:
        return SESSION_FILES[format_name]
    if format_name == "roo":
        raise UsageError(
            "A new task in Roo Code or Cline needs an entry in the editor's state, which condense does not write.",
            "Close the task and use --in-place, or write to a file with -o FILE.",
        )
    raise UsageError(f"--new-session is for sessions of Claude Code and Codex, and this is {format_name}.", _NO_CHANCE)


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


def _claude_session(values: Iterable[Any], name: str, folder: str) -> Session:
    stem = name.removesuffix(".jsonl")
    ids: dict[str, None] = {}
    places: dict[str, None] = {}
    for value in values:
        if not isinstance(value, dict) or value.get("isSidechain") is not False:
            continue  # Records of sub-agents carry the id of the session that started them.
        if isinstance(value.get("sessionId"), str):
            ids[value["sessionId"]] = None
        if isinstance(value.get("cwd"), str):
            places[value["cwd"]] = None
    if not ids:
        raise UsageError(
            f"{name} is not a session that Claude Code can resume: no message in it names one.", _NO_CHANCE
        )
    # The client looks in a folder named after the one it was started in; the session may have moved on from there.
    started = [place for place in places if _is_kept_in(place, folder)]
    return Session(stem if stem in ids else list(ids)[-1], cwd=next(iter([*started, *places]), None))


def claude_folder(project: str) -> str:
    """Return the folder in which Claude Code keeps the sessions of a project, as far as the path tells.

    A name of more than 200 characters is cut, and a hash follows that the path does not tell.
    """
    return _claude_name(project)[:_LONGEST_FOLDER]


def _claude_name(project: str) -> str:
    return re.sub(r"[^0-9A-Za-z]", "-", project)


def _is_kept_in(project: str, folder: str) -> bool:
    name = _claude_name(project)
    return folder.startswith(f"{claude_folder(project)}-") if len(name) > _LONGEST_FOLDER else folder == name


def _claude_places(value: dict[str, Any], session_id: str) -> Iterator[JsonPath]:
    if value.get("sessionId") == session_id:
        yield ("sessionId",)


def _codex_session(values: Iterable[Any], name: str, folder: str) -> Session:
    for value in values:
        if isinstance(value, dict) and value.get("type") == "session_meta" and isinstance(value.get("payload"), dict):
            session_id, began, cwd = (value["payload"].get(key) for key in ("id", "timestamp", "cwd"))
            if isinstance(session_id, str) and _UUID.fullmatch(session_id):
                return Session(
                    session_id, began if isinstance(began, str) else None, cwd if isinstance(cwd, str) else None
                )
    raise UsageError(f"{name} is not a session that Codex can resume: it has no session_meta with an id.", _NO_CHANCE)


def _codex_places(value: dict[str, Any], session_id: str) -> Iterator[JsonPath]:
    payload = value.get("payload")
    if value.get("type") == "session_meta" and isinstance(payload, dict):
        for key in ("id", "session_id"):
            if payload.get(key) == session_id:
                yield ("payload", key)


def _codex_name(name: str, session: Session, new: str) -> str:
    """Return a name that Codex accepts. A file that was renamed gets the time that its session began."""
    found = _ROLLOUT.fullmatch(name)
    time = found.group(1) if found else re.sub(r"[.Z].*", "", session.began or "1970-01-01T00:00:00").replace(":", "-")
    return f"rollout-{time}-{new}.jsonl"


SESSION_FILES: Final = {
    "claude-code": SessionFiles(
        "Claude Code",
        _claude_session,
        _claude_places,
        lambda name, session, new: f"{new}.jsonl",
        lambda folders: list(folders[1:2]) == ["projects"],
        ("claude", "--resume"),
        takes_path=True,
    ),
    "codex": SessionFiles(
        "Codex",
        _codex_session,
        _codex_places,
        _codex_name,
        lambda folders: list(folders[3:4]) == ["sessions"],
        ("codex", "resume"),
    ),
}
"""Rules by the name of the format, tried with Claude Code 2.1.197 and Codex 0.169.0."""
