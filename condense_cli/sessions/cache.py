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

from ..core.version import __version__
from ..formats.table import TABLE
from ..storage.cache_files import CacheFile, is_broken
from .finding import SessionFile
from .summary import Facts

NAME: Final = "sessions.sqlite3"
_SHAPE: Final = 5
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
        self._file = CacheFile(folder / NAME, _TABLE, _WAIT)
        self._program = f"{__version__} {_SHAPE} {' '.join(row.name for row in TABLE)}"
        self._database = self._opened()

    def get(self, file: SessionFile) -> Facts | None:
        key = (os.fsencode(file.path), file.size, file.mtime_ns, self._program)
        try:
            row = self._database.execute(_FIND, key).fetchone() if self._database else None
            return msgspec.msgpack.decode(row[0], type=Facts) if row else None
        except (msgspec.DecodeError, msgspec.ValidationError, TypeError):
            return None
        except sqlite3.DatabaseError as error:
            self._begin_anew(error)
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
        except sqlite3.DatabaseError as error:
            self._begin_anew(error)

    def close(self) -> None:
        if self._database:
            with contextlib.suppress(sqlite3.Error):
                self._database.close()
            self._database = None

    def _opened(self) -> sqlite3.Connection | None:
        for _ in range(2):
            try:
                return self._file.connect()
            except (sqlite3.Error, OSError) as error:
                if not self._is_set_aside(error):
                    break
        return None

    def _begin_anew(self, error: sqlite3.Error) -> None:
        """After damage: nothing in the file can be trusted, and nothing in it is missed.

        Other errors pass: another process is writing, the disk is full, the file is read-only.
        """
        if is_broken(error):
            self.close()
            self._database = self._opened() if self._is_set_aside(error) else None

    def _is_set_aside(self, error: Exception) -> bool:
        """Whether a new file can begin, as this one is broken and has another name now."""
        if not is_broken(error):
            return False
        try:
            self._file.set_aside()
        except OSError:
            return False
        return True
