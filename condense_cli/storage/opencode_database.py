"""Read sessions of opencode, which keeps all of them in one SQLite file.

A session is named as if its database were a folder: `.../opencode/opencode.db/ses_...`. It is read as `opencode export`
writes it: {"info": {...}, "messages": [{"info": {...}, "parts": [...]}]}.

https://github.com/anomalyco/opencode/blob/dev/packages/opencode/src/session/session.sql.ts
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

HINT: Final = "Write the result to a file with -o, and give it back with opencode import FILE."
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


def sessions(database: Path) -> list[StoredSession]:
    """List the sessions with messages; sub-agents and archived ones are `is_side`. Raises UnreadableError."""
    # An index gives the number of parts. Their length would take reading all of them.
    query = """
        SELECT session.id, title, directory, session.time_updated, parts.number,
               parent_id IS NOT NULL OR time_archived IS NOT NULL
        FROM session JOIN (SELECT session_id, count(*) AS number FROM part GROUP BY session_id) AS parts
        ON parts.session_id = session.id
    """
    with _opened(database) as opened:
        return [
            StoredSession(session_id, title, project, updated, parts, bool(is_side))
            for session_id, title, project, updated, parts, is_side in opened.execute(query)
        ]


def exported(path: Path) -> bytes:
    """Return a session as `opencode export` writes it. Raises UnreadableError."""
    with _opened(path.parent) as database:
        found = database.execute("SELECT * FROM session WHERE id = ?", (path.name,)).fetchone()
        if found is None:
            raise UnreadableError(f"{path.parent} holds no session {path.name}.", "condense sessions lists them.")
        by_message: dict[str, list[dict[str, Any]]] = defaultdict(list)
        parts = "SELECT id, message_id, data FROM part WHERE session_id = ? ORDER BY id"
        for entry_id, message, data in database.execute(parts, (path.name,)):
            by_message[message].append(
                {**json.loads(data), "id": entry_id, "sessionID": path.name, "messageID": message}
            )
        messages = "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id"
        listed = [
            {"info": {**json.loads(data), "id": entry_id, "sessionID": path.name}, "parts": by_message[entry_id]}
            for entry_id, data in database.execute(messages, (path.name,))
        ]
    value = {"info": _info(found), "messages": listed}
    return json.dumps(value, ensure_ascii=False, indent=2).encode("utf-8", "surrogatepass") + b"\n"


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
