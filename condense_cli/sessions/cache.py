"""What was found out about session files, kept between runs: counting a thousand of them again takes minutes.

An SQLite file, so that processes can share it. It is a convenience: whatever is wrong with it, listing works without.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

from .. import __version__
from ..formats.table import TABLE
from .finding import SessionFile
from .summary import Facts

NAME: Final = "sessions.sqlite3"
_SHAPE: Final = 1
"""Rises with every change of Facts, or of how they are found out, between two releases."""
_ROWS: Final = 50_000
"""Rows that are kept: the newest written."""
_WAIT: Final = 2.0
"""Seconds to wait for another process before giving up."""

_TABLE: Final = (
    "CREATE TABLE IF NOT EXISTS facts (path BLOB PRIMARY KEY, size INTEGER, mtime_ns INTEGER, program TEXT, facts BLOB)"
)
_FIND: Final = "SELECT facts FROM facts WHERE path = ? AND size = ? AND mtime_ns = ? AND program = ?"
_KEEP: Final = "INSERT OR REPLACE INTO facts VALUES (?, ?, ?, ?, ?)"
_PRUNE: Final = "DELETE FROM facts WHERE rowid <= (SELECT max(rowid) FROM facts) - ?"


class FactsCache:
    """Facts by path, size and time of change of the file. One that another program version wrote is not used."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME
        self._program = f"{__version__} {_SHAPE} {' '.join(row.name for row in TABLE)}"
        self._database = self._opened()

    def get(self, file: SessionFile) -> Facts | None:
        key = (os.fsencode(file.path), file.size, file.mtime_ns, self._program)
        try:
            row = self._database.execute(_FIND, key).fetchone() if self._database else None
            return msgspec.msgpack.decode(row[0], type=Facts) if row else None
        except (sqlite3.OperationalError, msgspec.DecodeError, msgspec.ValidationError, TypeError):
            return None
        except sqlite3.DatabaseError:
            self._begin_anew()
            return None

    def put(self, found: Iterable[tuple[SessionFile, Facts]]) -> None:
        rows = []
        for file, facts in found:
            with contextlib.suppress(UnicodeEncodeError):  # A name with half a character in it.
                value = msgspec.msgpack.encode(facts)
                rows.append((os.fsencode(file.path), file.size, file.mtime_ns, self._program, value))
        try:
            if self._database and rows:
                with self._database:
                    self._database.executemany(_KEEP, rows)
                    self._database.execute(_PRUNE, (_ROWS,))
        except sqlite3.OperationalError:
            pass  # Another process is writing, the disk is full, the file is read-only.
        except sqlite3.DatabaseError:
            self._begin_anew()

    def close(self) -> None:
        if self._database:
            with contextlib.suppress(sqlite3.Error):
                self._database.close()
            self._database = None

    def _opened(self) -> sqlite3.Connection | None:
        try:
            return self._connected()
        except sqlite3.OperationalError:
            return None
        except sqlite3.DatabaseError:
            self._set_aside()
        except OSError:
            return None
        try:
            return self._connected()
        except (sqlite3.Error, OSError):
            return None

    def _connected(self) -> sqlite3.Connection:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # What people asked is nobody else's business; SQLite gives its other files the same permissions.
        os.close(os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600))
        database = sqlite3.connect(self._path, timeout=_WAIT)
        try:
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("PRAGMA synchronous = NORMAL")
            with database:
                database.execute(_TABLE)
        except BaseException:
            database.close()
            raise
        return database

    def _begin_anew(self) -> None:
        """The file is damaged: nothing in it can be trusted, and nothing in it is missed."""
        self.close()
        self._set_aside()
        self._database = self._opened()

    def _set_aside(self) -> None:
        with contextlib.suppress(OSError):
            os.replace(self._path, self._path.with_suffix(".broken"))
        for suffix in ("-wal", "-shm"):
            with contextlib.suppress(OSError):
                os.unlink(f"{self._path}{suffix}")
