"""SQLite files in the user's cache folder: private to the user, and set aside once broken.

Several processes may have one open at the same time. Their content can be computed again.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

T = TypeVar("T")

_BROKEN: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


class CacheFile:
    """One cache file. `table` is the statement that creates its table, `wait` the seconds to wait for other
    processes."""

    def __init__(self, path: Path, table: str, wait: float) -> None:
        self.path = path
        self._table = table
        self._wait = wait
        self._connected: tuple[int, int] | None = None

    def connect(self) -> sqlite3.Connection:
        """Connect to the file, and create it if it is missing. Raises sqlite3.Error, and OSError for a link."""
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self.path.is_symlink():  # A link may lead to somebody else's file, which would be written to.
            raise OSError("it is a link")
        # Private: it shows what the user asked. SQLite gives its other files the same permissions.
        handle = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            self._connected = _identity(os.fstat(handle))
        finally:
            os.close(handle)
        self.path.chmod(0o600)
        connection = sqlite3.connect(self.path, timeout=self._wait)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute(self._table)
        except BaseException:
            connection.close()
            raise
        return connection

    def set_aside(self) -> Path | None:
        """Rename the broken file, so that a new one can begin; return None if another process did so first.

        Close the connection before. Raises OSError.
        """
        if _identity(self.path.stat()) != self._connected:
            return None
        number = 1
        while (aside := self.path.with_name(f"{self.path.name}.broken-{number}")).exists():
            number += 1
        self.path.rename(aside)  # SQLite drops the log of the old file once the new, empty one is opened.
        return aside


class OpenCache:
    """A cache file, opened on first use. A fault stops nothing: a broken file is set aside and a new one started; after
    any other error the cache stays unused, or `goes_on` if it could be opened. `notes` tell the user. Not thread-safe.
    """

    def __init__(self, name: str, file: CacheFile, *, goes_on: bool = False) -> None:
        """`name` begins the notes."""
        self.notes: list[str] = []
        self._name, self._file, self._goes_on = name, file, goes_on
        self._connection: sqlite3.Connection | None = None
        self._is_off = False

    def do(self, work: Callable[[sqlite3.Connection], T]) -> T | None:
        """Run `work` as a transaction. None if the cache cannot be used."""
        for _ in range(0 if self._is_off else 2):
            try:
                self._connection = self._connection or self._file.connect()
                with self._connection:
                    return work(self._connection)
            except (sqlite3.Error, OSError) as error:
                if not self._can_begin_anew(error):
                    break
        return None

    def close(self) -> None:
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.close()
        self._connection = None

    def _can_begin_anew(self, error: Exception) -> bool:
        """Set a broken file aside; after any other error give up."""
        if self._goes_on and self._connection is not None and not is_broken(error):
            return False
        self.close()
        if is_broken(error):
            with suppress(OSError):
                aside = self._file.set_aside()
                if aside is not None:
                    self.notes.append(f"{self._name} was damaged; it was moved to {aside} and a new one started.")
                return True
        self._is_off = True
        self.notes.append(f"{self._name} {self._file.path} cannot be used ({error}); the run continues without it.")
        return False


def is_broken(error: Exception) -> bool:
    """Check if an error means that the file is damaged or no database. Others pass, such as a full disk."""
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in _BROKEN  # The low byte is the error, the rest its details.


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino
