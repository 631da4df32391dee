"""Record the cost of calls per day and conversation, over all runs, in a SQLite file in the user's cache folder.

It is written only if a limit per day or conversation is set. It holds amounts, days, and hashes of first requests.
Several processes may use it at once: a call's worst case is booked before it starts.
"""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Final

from msgspec import Struct

from ..core.transcript import Transcript
from ..core.values import BlockKind, Role
from ..storage.cache_files import CacheFile

FILE_NAME: Final = "spent.sqlite3"
_WAIT: Final = 10.0
_TABLE: Final = (
    "CREATE TABLE IF NOT EXISTS calls_1 (id INTEGER PRIMARY KEY, day TEXT NOT NULL, conversation TEXT NOT NULL, "
    "cost INTEGER NOT NULL)"
)
_UNIT: Final = Decimal("1e-9")
"""Dollars per stored unit."""


class Spendable(Struct, frozen=True):
    """Limits in dollars per day and per conversation; None is no limit."""

    per_day: Decimal | None = None
    per_conversation: Decimal | None = None


class Accounts:
    """Accounts on one `day` (YYYY-MM-DD). `conversation` is the one that calls are now made for."""

    def __init__(self, path: Path, day: str, limits: Spendable) -> None:
        self.conversation = ""
        self._file = CacheFile(path, _TABLE, _WAIT)
        self._day, self._limits = day, limits

    def book(self, cost: Decimal) -> int | None:
        """Book a call's worst-case cost and return the entry's number.

        None if a limit does not cover it or the file cannot be written.
        """
        try:
            with closing(self._file.connect()) as connection:
                connection.isolation_level = None
                connection.execute("BEGIN IMMEDIATE")  # Nobody else may book between the sums and the entry.
                if not self._covers(connection, cost):
                    connection.execute("ROLLBACK")
                    return None
                entry = (self._day, self.conversation, _units(cost))
                cursor = connection.execute("INSERT INTO calls_1 (day, conversation, cost) VALUES (?, ?, ?)", entry)
                connection.execute("COMMIT")
                return cursor.lastrowid
        except (sqlite3.Error, OSError):
            return None

    def settle(self, entry: int, cost: Decimal) -> None:
        """Replace a call's worst-case cost by its actual cost."""
        try:
            with closing(self._file.connect()) as connection, connection:
                connection.execute("UPDATE calls_1 SET cost = ? WHERE id = ?", (_units(cost), entry))
        except (sqlite3.Error, OSError):
            pass  # The worst case stays, so less can be spent than allowed.

    def _covers(self, connection: sqlite3.Connection, cost: Decimal) -> bool:
        for column, value, limit in (
            ("day", self._day, self._limits.per_day),
            ("conversation", self.conversation, self._limits.per_conversation),
        ):
            if limit is None or not value:
                continue
            [(spent,)] = connection.execute(f"SELECT total(cost) FROM calls_1 WHERE {column} = ?", (value,))
            if int(spent) + _units(cost) > _units(limit):
                return False
        return True


def conversation_of(transcript: Transcript) -> str:
    """Identify a conversation by its first request, in any file and however often it was condensed."""
    for message in transcript.messages:
        if message.role is Role.USER:
            for block in message.blocks:
                if block.kind is BlockKind.TEXT:
                    return hashlib.sha256(block.text.encode("utf-8", "surrogatepass")).hexdigest()
    return ""


def _units(cost: Decimal) -> int:
    return int((cost / _UNIT).to_integral_value(rounding="ROUND_CEILING"))
