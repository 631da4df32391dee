"""Remember the state of conversations: in memory, or in an SQLite file that survives a restart.

The file holds cut points, digests, sizes and times. It holds content only if it is told to keep it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Final, Protocol

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ..storage.cache_files import CacheFile
from .requests import Segment, Segments, are_neighbours, digest_of

MOST_LISTS: Final = 64
"""Newest lists that are kept: one for every conversation, and for every branch of one."""

MOST_REQUESTS: Final = 256
"""Newest requests that are kept: the last one of each conversation."""

_TABLE: Final = (
    "CREATE TABLE IF NOT EXISTS segments "
    "(id INTEGER PRIMARY KEY AUTOINCREMENT, fingerprint TEXT NOT NULL, list BLOB NOT NULL)"
)
_REQUESTS: Final = (
    "CREATE TABLE IF NOT EXISTS requests "
    "(id INTEGER PRIMARY KEY AUTOINCREMENT, prefix TEXT UNIQUE NOT NULL, request BLOB NOT NULL)"
)
_WAIT: Final = 2.0


class LastRequest(Struct, frozen=True):
    """Last request of a conversation, which tells what a provider's cache still holds.

    `messages` is their number up to the client's last cache mark, and `prefix` their digest; `at` is the time of
    sending; `beside` is the digest of what was sent beside the messages, "" if unknown.
    """

    messages: int
    prefix: str
    at: float
    model: str | None
    beside: str


class State(Protocol):
    """Lists of frozen segments and last requests of conversations, newest first."""

    def lists(self, fingerprint: str) -> Sequence[Segments]:
        """Return the lists of a fingerprint (configuration and version). Raises sqlite3.Error, OSError."""

    def remember(self, fingerprint: str, segments: Segments, continues: Segments) -> None:
        """Add a list; it replaces `continues` if that is a whole remembered list."""

    def requests(self) -> Sequence[LastRequest]:
        """Return the last requests of conversations. Raises sqlite3.Error, OSError."""

    def sent(self, request: LastRequest, continues: LastRequest | None) -> None:
        """Add a request; it replaces the one that it `continues`. Raises sqlite3.Error, OSError."""


class Memory:
    """State for the life of the process."""

    def __init__(self) -> None:
        self._lists: dict[str, list[Segments]] = {}
        self._requests: dict[str, LastRequest] = {}

    def lists(self, fingerprint: str) -> Sequence[Segments]:
        return self._lists.get(fingerprint, ())

    def remember(self, fingerprint: str, segments: Segments, continues: Segments) -> None:
        others = [each for each in self.lists(fingerprint) if each not in (continues, segments)]
        self._lists[fingerprint] = [segments, *others][:MOST_LISTS]

    def requests(self) -> Sequence[LastRequest]:
        return [*self._requests.values()][::-1]

    def sent(self, request: LastRequest, continues: LastRequest | None) -> None:
        for each in (request, continues or request):
            self._requests.pop(each.prefix, None)
        self._requests[request.prefix] = request
        if len(self._requests) > MOST_REQUESTS:
            del self._requests[next(iter(self._requests))]


class StateFile:
    """State in a file of mode 0600. Content stays in memory; with `keep` it goes into the file too.

    Summaries written by a model need `keep`: nothing else gives the same bytes again.
    """

    def __init__(self, path: str | Path, *, keep: bool = False) -> None:
        self.path = Path(path)
        self._file = CacheFile(self.path, _TABLE, _WAIT)
        self.keeps = keep
        self._memory = Memory()
        self._read: set[str] = set()

    def lists(self, fingerprint: str) -> Sequence[Segments]:
        if fingerprint not in self._read:
            for segments in reversed(self._stored(fingerprint)):
                self._memory.remember(fingerprint, segments, ())
            self._read.add(fingerprint)
        return self._memory.lists(fingerprint)

    def remember(self, fingerprint: str, segments: Segments, continues: Segments) -> None:
        self._memory.remember(fingerprint, segments, continues)
        with closing(self._connected()) as connection, connection:
            connection.execute("DELETE FROM segments WHERE list = ?", (self._written(continues),))
            connection.execute(
                "INSERT INTO segments (fingerprint, list) VALUES (?, ?)", (fingerprint, self._written(segments))
            )
            connection.execute("DELETE FROM segments WHERE id <= (SELECT max(id) FROM segments) - ?", (MOST_LISTS,))

    def requests(self) -> Sequence[LastRequest]:
        """Read the requests from the file: other processes may have continued a conversation."""
        with closing(self._connected()) as connection:
            rows = connection.execute("SELECT request FROM requests ORDER BY id DESC").fetchall()
        found = []
        for (data,) in rows:
            with suppress(msgspec.DecodeError, msgspec.ValidationError):
                found.append(msgspec.json.decode(data, type=LastRequest))
        return found

    def sent(self, request: LastRequest, continues: LastRequest | None) -> None:
        with closing(self._connected()) as connection, connection:
            if continues is not None:
                connection.execute("DELETE FROM requests WHERE prefix = ?", (continues.prefix,))
            connection.execute(
                "INSERT OR REPLACE INTO requests (prefix, request) VALUES (?, ?)",
                (request.prefix, msgspec.json.encode(request)),
            )
            connection.execute(
                "DELETE FROM requests WHERE id NOT IN (SELECT id FROM requests ORDER BY id DESC LIMIT ?)",
                (MOST_REQUESTS,),
            )

    def _connected(self) -> sqlite3.Connection:
        connection = self._file.connect()
        try:
            connection.execute(_REQUESTS)
        except BaseException:
            connection.close()
            raise
        return connection

    def _stored(self, fingerprint: str) -> list[Segments]:
        """Read the lists in the file, newest first; broken ones are left out."""
        with closing(self._connected()) as connection:
            rows = connection.execute(
                "SELECT list FROM segments WHERE fingerprint = ? ORDER BY id DESC", (fingerprint,)
            ).fetchall()
        found: list[Segments] = []
        for (data,) in rows:
            try:
                segments = msgspec.json.decode(data, type=Segments)
            except (msgspec.DecodeError, msgspec.ValidationError):
                continue
            if are_neighbours(segments):
                found.append(tuple(map(_checked, segments)))
        return found

    def _written(self, segments: Segments) -> bytes:
        kept = segments if self.keeps else tuple(replace(segment, output=None) for segment in segments)
        return msgspec.json.encode(kept)


def _checked(segment: Segment) -> Segment:
    """Drop the output of a segment if it is not what was sent; it is recomputed then."""
    is_whole = segment.output is None or digest_of(segment.output) == segment.digest
    return segment if is_whole else replace(segment, output=None)


STATE_ERRORS: Final = (sqlite3.Error, OSError)
