"""Cache answers, so that each question is paid for once.

One SQLite file in the user's cache folder, readable by the user alone. It holds hashes and answers, not questions.
Several processes may use it at once. A faulty cache never stops a run: a broken file is set aside, and if nothing can
be written the run goes on without a cache.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from ..config.profiles import Profile
from ..core.user_folders import cache_folder
from ..storage.cache_files import CacheFile, OpenCache
from .client import Cause, ModelRequest, max_output
from .prompts import PROMPT_VERSION

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
    """The cache file. Not thread-safe. `notes` lists problems."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = OpenCache("The cache of summaries", CacheFile(path, _TABLE, _WAIT))
        self.notes = self._file.notes
        self.close = self._file.close

    def get(self, key: bytes) -> Stored | None:
        """Look up an answer. Does not create a missing file."""
        if not os.path.lexists(self.path):
            return None
        find = "SELECT text, reason FROM answers_1 WHERE key = ?"
        row = self._file.do(lambda database: database.execute(find, (key,)).fetchone())
        if row is None:
            return None
        text, reason = row
        with suppress(ValueError):
            return Stored(text, Cause(reason) if reason else None)
        return None  # A reason by a later version.

    def put(self, key: bytes, stored: Stored) -> None:
        row = (key, stored.text.encode("utf-8", "replace").decode(), stored.reason or "")
        self._file.do(lambda database: database.execute("INSERT OR REPLACE INTO answers_1 VALUES (?, ?, ?)", row))

    def info(self) -> CacheInfo:
        """Count the cache's answers and bytes. Does not create a missing file."""
        row = None
        if self.path.exists():
            count = "SELECT COUNT(*), COUNT(NULLIF(reason, '')) FROM answers_1"
            row = self._file.do(lambda database: database.execute(count).fetchone())
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
        count: int | None = self._file.do(lambda database: database.execute("DELETE FROM answers_1").rowcount)
        self._file.do(lambda database: database.execute("VACUUM"))
        self._file.do(lambda database: database.execute("PRAGMA wal_checkpoint(TRUNCATE)"))
        return count or 0
