"""Cache answers, so that each question is paid for once.

One SQLite file in the user's cache folder, readable by the user alone. It holds hashes and answers, not questions.
Several processes may use it at once. A faulty cache never stops a run: a broken file is set aside, and if nothing can
be written the run goes on without a cache.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

from msgspec import Struct

from ..config.profiles import Profile
from ..core.user_folders import cache_folder
from ..storage.cache_files import CacheFile, is_broken
from .client import Cause, ModelRequest, max_output
from .prompts import PROMPT_VERSION

T = TypeVar("T")

FILE_NAME: Final = "summaries.sqlite3"
_WAIT: Final = 10.0
"""Seconds to wait for another process that is writing."""

_TABLE: Final = "CREATE TABLE IF NOT EXISTS answers_1 (key BLOB PRIMARY KEY, text TEXT NOT NULL, reason TEXT NOT NULL)"


class Stored(Struct, frozen=True):
    """An answer, or the permanent reason why the model gave no useful one."""

    text: str = ""
    reason: Cause | None = None


class CacheInfo(Struct, frozen=True):
    path: Path
    answers: int
    refused: int
    bytes: int


def cache_path() -> Path:
    """Return the cache file: ~/.cache/condense/summaries.sqlite3, or below XDG_CACHE_HOME."""
    return Path(cache_folder()) / FILE_NAME


def key_of(request: ModelRequest, profile: Profile) -> bytes:
    """Hash everything that determines a model's answer."""
    parts = (
        PROMPT_VERSION,
        profile.api,
        profile.url,
        profile.model,
        profile.reasoning_effort or "",
        str(max_output(profile, request.limit)),
        request.system,
        request.prompt,
    )
    found = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        found.update(b"%d:" % len(data))
        found.update(data)
    return found.digest()


class Cache:
    """The cache file, opened on first use. Not thread-safe. `notes` lists problems."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.notes: list[str] = []
        self._connection: sqlite3.Connection | None = None
        self._file = CacheFile(path, _TABLE, _WAIT)
        self._is_off = False

    def get(self, key: bytes) -> Stored | None:
        """Look up an answer. Does not create a missing file."""
        if self._connection is None and not os.path.lexists(self.path):
            return None
        row = self._do(lambda db: db.execute("SELECT text, reason FROM answers_1 WHERE key = ?", (key,)).fetchone())
        if row is None:
            return None
        text, reason = row
        with suppress(ValueError):
            return Stored(text, Cause(reason) if reason else None)
        return None  # A reason by a later version.

    def put(self, key: bytes, stored: Stored) -> None:
        row = (key, stored.text.encode("utf-8", "replace").decode(), stored.reason or "")
        self._do(lambda db: db.execute("INSERT OR REPLACE INTO answers_1 VALUES (?, ?, ?)", row))

    def info(self) -> CacheInfo:
        """Count the cache's answers and bytes. Does not create a missing file."""
        row = None
        if self.path.exists():
            row = self._do(
                lambda db: db.execute("SELECT COUNT(*), COUNT(NULLIF(reason, '')) FROM answers_1").fetchone()
            )
        total, refused = row or (0, 0)
        size = 0
        for suffix in ("", "-wal", "-shm"):  # SQLite keeps the last two beside a database.
            with suppress(OSError):
                size += self.path.with_name(self.path.name + suffix).stat().st_size
        return CacheInfo(self.path, total, refused, size)

    def clear(self) -> int:
        """Delete all answers and return their number. Other processes then go on with an empty cache."""
        if not self.path.exists():
            return 0
        count: int | None = self._do(lambda db: db.execute("DELETE FROM answers_1").rowcount)
        self._do(lambda db: db.execute("VACUUM"))
        self._do(lambda db: db.execute("PRAGMA wal_checkpoint(TRUNCATE)"))
        return count or 0

    def close(self) -> None:
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.close()
        self._connection = None

    def _do(self, work: Callable[[sqlite3.Connection], T]) -> T | None:
        """Run `work` on the connection. None if the cache cannot be used."""
        for _ in range(2):
            if self._is_off:
                return None
            try:
                return work(self._open())
            except (sqlite3.Error, OSError) as error:
                self._recover(error)
        return None

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = self._file.connect()
            # Autocommit: each answer is stored at once.
            self._connection.isolation_level = None
        return self._connection

    def _recover(self, error: Exception) -> None:
        """Set a broken file aside and start a new one; for other errors go on without a cache."""
        self.close()
        if is_broken(error):
            with suppress(OSError):
                aside = self._file.set_aside()
                if aside is not None:
                    self.notes.append(
                        f"The cache of summaries was damaged; it was moved to {aside} and a new one started."
                    )
                return
        self._is_off = True
        self.notes.append(f"The cache of summaries {self.path} cannot be used ({error}); the run continues without it.")
