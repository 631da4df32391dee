"""Read sessions of opencode and Goose, which keep all of them in one SQLite file.

A session is named as if its database were a folder: `.../opencode/opencode.db/ses_...`. It is read as its client
exports it: {"info": {...}, "messages": [{"info": {...}, "parts": [...]}]}, or for Goose {..., "conversation": [...]}.

https://github.com/anomalyco/opencode/blob/dev/packages/opencode/src/session/session.sql.ts
https://github.com/block/goose/blob/main/crates/goose/src/session/session_manager.rs
"""

from __future__ import annotations

import contextlib
import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from msgspec import Struct

from ..errors import UnreadableError

if TYPE_CHECKING:
    import sqlite3  # Every file is read through this module, and few are databases.

_HINT: Final = "Write the result to a file with -o, and give it back with {} FILE."
_WAIT: Final = 2.0
"""Seconds to wait for a client that is writing."""


class StoredSession(Struct, frozen=True):
    """A session by its row. `updated` is in milliseconds since 1970; `parts` is their number."""

    id: str
    title: str
    project: str
    updated: int
    parts: int
    is_side: bool


def is_in_database(path: Path) -> bool:
    """Check if a path names a session in a database."""
    return path.parent.suffix == ".db" and path.parent.is_file()


def keeper_of(path: Path) -> tuple[str, str]:
    """Return the client in whose database a session is, and how to give it back."""
    client, command = (
        ("Goose", "goose session import") if _is_of_goose(path.parent) else ("opencode", "opencode import")
    )
    return client, _HINT.format(command)


def _is_of_goose(database: Path) -> bool:
    return database.name == "sessions.db"


def sessions(database: Path) -> list[StoredSession]:
    """List the sessions with messages; sub-agents and archived ones are `is_side`. Raises UnreadableError."""
    with _opened(database) as opened:
        return list((_goose_sessions if _is_of_goose(database) else _opencode_sessions)(opened))


def exported(path: Path) -> bytes:
    """Return a session as its client exports it. Raises UnreadableError."""
    with _opened(path.parent) as database:
        value = (_of_goose if _is_of_goose(path.parent) else _of_opencode)(database, path.name)
    if value is None:
        raise UnreadableError(f"{path.parent} holds no session {path.name}.", "condense sessions lists them.")
    return json.dumps(value, ensure_ascii=False, indent=2).encode("utf-8", "surrogatepass") + b"\n"


def _opencode_sessions(database: sqlite3.Connection) -> Iterator[StoredSession]:
    # An index gives the number of parts. Their length would take reading all of them.
    query = """
        SELECT session.id, title, directory, session.time_updated, parts.number,
               parent_id IS NOT NULL OR time_archived IS NOT NULL
        FROM session JOIN (SELECT session_id, count(*) AS number FROM part GROUP BY session_id) AS parts
        ON parts.session_id = session.id
    """
    for session_id, title, project, updated, parts, is_side in database.execute(query):
        yield StoredSession(session_id, title, project, updated, parts, bool(is_side))


def _of_opencode(database: sqlite3.Connection, session: str) -> dict[str, Any] | None:
    found = database.execute("SELECT * FROM session WHERE id = ?", (session,)).fetchone()
    if found is None:
        return None
    by_message: dict[str, list[dict[str, Any]]] = defaultdict(list)
    parts = "SELECT id, message_id, data FROM part WHERE session_id = ? ORDER BY id"
    for entry_id, message, data in database.execute(parts, (session,)):
        by_message[message].append({**json.loads(data), "id": entry_id, "sessionID": session, "messageID": message})
    messages = "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id"
    listed = [
        {"info": {**json.loads(data), "id": entry_id, "sessionID": session}, "parts": by_message[entry_id]}
        for entry_id, data in database.execute(messages, (session,))
    ]
    return {"info": _info(found), "messages": listed}


def _info(row: sqlite3.Row) -> dict[str, Any]:
    """Return the head of an export, which `opencode import` reads."""
    known = dict(row)
    info = {
        "id": known["id"],
        "slug": known.get("slug"),
        "projectID": known["project_id"],
        "directory": known["directory"],
        "path": known.get("path"),
        "parentID": known.get("parent_id"),
        "title": known["title"],
        "agent": known.get("agent"),
        "version": known["version"],
        "cost": known.get("cost"),
        "time": {"created": known["time_created"], "updated": known["time_updated"]},
    }
    for key in ("model", "permission"):
        if isinstance(known.get(key), str):
            info[key] = json.loads(known[key])
    return {key: value for key, value in info.items() if value is not None}


_GOOSE_TYPES: Final = ("user", "scheduled", "terminal")
"""Types of sessions that a person has; others are sub-agents and hidden ones."""
_GOOSE_JSON: Final = {"recipe_json": "recipe", "user_recipe_values_json": "user_recipe_values"}
_GOOSE_OBJECTS: Final = ("extension_data", "model_config", *_GOOSE_JSON.values())


def _goose_sessions(database: sqlite3.Connection) -> Iterator[StoredSession]:
    # What a session has besides came in later versions of the database.
    query = """
        SELECT sessions.*, 1000 * CAST(strftime('%s', updated_at) AS INTEGER) AS milliseconds, parts.number AS parts
        FROM sessions JOIN (SELECT session_id, count(*) AS number FROM messages GROUP BY session_id) AS parts
        ON parts.session_id = sessions.id
    """
    for row in map(dict, database.execute(query)):
        is_side = row.get("session_type", "user") not in _GOOSE_TYPES or row.get("archived_at") is not None
        title = row.get("name") or row.get("description") or ""
        yield StoredSession(row["id"], title, row["working_dir"], row["milliseconds"] or 0, row["parts"], is_side)


def _of_goose(database: sqlite3.Connection, session: str) -> dict[str, Any] | None:
    found = database.execute("SELECT * FROM sessions WHERE id = ?", (session,)).fetchone()
    if found is None:
        return None
    head = {_GOOSE_JSON.get(key, key.removesuffix("_json")): value for key, value in dict(found).items()}
    for key in _GOOSE_OBJECTS:
        if isinstance(head.get(key), str):
            head[key] = json.loads(head[key])
    head["user_set_name"] = bool(head.get("user_set_name"))
    for key in ("created_at", "updated_at", "archived_at"):  # "2026-01-02 03:04:05", in UTC.
        if isinstance(head.get(key), str) and "T" not in head[key]:
            head[key] = head[key].replace(" ", "T") + "Z"
    messages: list[dict[str, Any]] = []
    # The client writes a conversation anew when it changes, so that the numbers are in its order.
    for row in map(dict, database.execute("SELECT * FROM messages WHERE session_id = ? ORDER BY id", (session,))):
        name = row.get("message_id") or f"msg_{session}_{len(messages)}"
        about = {"id": name, "role": row["role"], "created": row["created_timestamp"]}
        metadata = {"metadata": json.loads(row["metadata_json"])} if row.get("metadata_json") else {}
        messages.append({**about, "content": json.loads(row["content_json"]), **metadata})
    head = {key: value for key, value in head.items() if value is not None}
    return {**head, "conversation": messages, "message_count": len(messages)}


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    """Open the database for reading. Any fault of it, or of its content, is an UnreadableError."""
    import sqlite3

    try:
        database = sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True, timeout=_WAIT)
        database.row_factory = sqlite3.Row
        with contextlib.closing(database):
            yield database
    except (sqlite3.Error, ValueError, KeyError, TypeError, RecursionError) as error:
        raise UnreadableError(f"Cannot read {path}: {error}.") from None
