"""Account for the cost of calls and enforce limits in money and tokens.

Costs per day and conversation, over all runs, are recorded in a SQLite file in the user's cache folder, but only if one
of these limits is set. It holds amounts, days, and hashes of first requests. Several processes may use it at once: a
call's worst case is booked before it starts.
"""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import closing
from datetime import datetime
from decimal import ROUND_UP, Decimal
from pathlib import Path
from typing import Final, assert_never

from msgspec import Struct, structs

from ..config.profiles import Profile
from ..core.transcript import Transcript
from ..core.values import BlockKind, Role
from ..money.economics import Accounting, CallUsage, cost_of_call
from ..money.prices import Price, price_of
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


_PER: Final = 1_000_000


class Spent(Struct, frozen=True):
    """Calls and their use. `cost` is the known part, in dollars.

    `unknown` counts calls that cost more: they broke off, or their usage or price is unknown.
    """

    calls: int = 0
    tokens: int = 0
    cost: Decimal = Decimal(0)
    unknown: int = 0

    def __add__(self, other: Spent) -> Spent:
        return Spent(
            self.calls + other.calls,
            self.tokens + other.tokens,
            self.cost + other.cost,
            self.unknown + other.unknown,
        )


def accounting_of(profile: Profile) -> Accounting:
    match profile.api:
        case "anthropic":
            return Accounting.ANTHROPIC
        case "openai" | "offline" | "installed":  # The last two report none.
            return Accounting.OPENAI
        case other:
            assert_never(other)


def price_for(profile: Profile, when: datetime, input_tokens: int = 0) -> Price | None:
    """Return a profile's price for requests of `input_tokens`. None if unknown.

    The table has the vendors' prices. For a server at another address only the profile can state them.
    """
    listed = None if profile.base_url else price_of(profile.model, when, input_tokens)
    own = profile.price
    if own is None:
        return listed
    stated = (("input", own.input), ("output", own.output), ("cache_read", own.cache_read))
    given = {name: value / _PER for name, value in (*stated, ("cache_write_5m", own.cache_write)) if value is not None}
    if listed is None and "input" in given:
        listed = Price(profile.model, profile.host, given["input"], None, None, None)
    return listed and structs.replace(listed, **given)


def spent_on(usage: CallUsage | None, profile: Profile, when: datetime) -> Spent:
    """Compute the cost of one call by its API's accounting."""
    if usage is None:
        return Spent(calls=1, unknown=1)
    accounting = accounting_of(profile)
    tokens = usage.total_tokens(accounting)
    price = price_for(profile, when, tokens - usage.output_tokens)
    cost = cost_of_call(usage, price, accounting) if price else None
    return Spent(1, tokens, cost or Decimal(0), int(cost is None or not usage.is_whole))


class Worst(Struct, frozen=True):
    """Worst case of a call: input and output tokens, and dollars (None if the price is unknown)."""

    tokens: int
    cost: Decimal | None


class Reserved(Struct, frozen=True):
    """A reserved call and its entry in the accounts."""

    worst: Worst
    entry: int | None = None


class Budget:
    """Tracks use by finished and running calls of a whole run.

    A call is reserved with its worst case when it starts and settled with its actual use when it ends. If that is
    unknown, the worst case counts. `accounts` hold limits over all runs.
    """

    def __init__(
        self, max_cost: Decimal | None = None, max_tokens: int | None = None, accounts: Accounts | None = None
    ) -> None:
        self.max_cost = max_cost
        self.max_tokens = max_tokens
        self.accounts = accounts
        self.needed = Decimal(0)
        """Most that the planned calls may cost, made or not."""
        self._cost = Decimal(0)
        self._tokens = 0

    @property
    def has_enough(self) -> bool:
        """Return whether the money limit covers all planned calls."""
        return self.max_cost is not None and self.max_cost >= self.needed

    @property
    def is_in_money(self) -> bool:
        return self.max_cost is not None or self.accounts is not None

    def covers(self, worst: Worst) -> bool:
        """Return whether a call with this worst case may start, by this run's own limits."""
        if self.max_tokens is not None and self._tokens + worst.tokens > self.max_tokens:
            return False
        if self.is_in_money and worst.cost is None:
            return False
        return self.max_cost is None or self._cost + (worst.cost or 0) <= self.max_cost

    def uncovered(self, worst: Worst) -> str:
        """Explain with sums why no call with this worst case may start."""
        if self.max_tokens is not None and self._tokens + worst.tokens > self.max_tokens:
            left = max(0, self.max_tokens - self._tokens)
            return f"(The next call may take {worst.tokens:,} tokens, and {left:,} of {self.max_tokens:,} are left.)"
        cost = worst.cost or Decimal(0)
        if self.max_cost is not None and self._cost + cost > self.max_cost:
            rest = as_limit(max(Decimal(0), self.max_cost - self._cost))
            return f"(The next call may cost {as_limit(cost)}, and {rest} of {as_limit(self.max_cost)} is left.)"
        return f"(The next call may cost {as_limit(cost)}, and less is left for the day or the conversation.)"

    def may_need(self, worst: Worst) -> None:
        """Add a call that may follow the planned ones."""
        self.needed += worst.cost or 0

    def plan(self, worst: Worst, tokens: int, cost: Decimal) -> bool:
        """Return whether a call with this worst case would be made; if so, count this use."""
        self.may_need(worst)
        if not self.covers(worst):
            return False
        self._tokens += tokens
        self._cost += cost
        return True

    def reserve(self, worst: Worst) -> Reserved | None:
        """Reserve a covered call. None if the accounts do not cover it."""
        entry = None
        if self.accounts is not None:
            entry = self.accounts.book(worst.cost or Decimal(0))
            if entry is None:
                return None
        self._tokens += worst.tokens
        self._cost += worst.cost or 0
        return Reserved(worst, entry)

    def settle(self, reserved: Reserved, tokens: int | None, cost: Decimal | None) -> None:
        """Replace a call's worst case by its actual use. None is unknown and leaves the worst case."""
        worst = reserved.worst
        if tokens is not None:
            self._tokens += tokens - worst.tokens
        if cost is not None:
            self._cost += cost - (worst.cost or 0)
            if self.accounts is not None and reserved.entry is not None:
                self.accounts.settle(reserved.entry, cost)


def as_limit(amount: Decimal) -> str:
    """Format dollars rounded up, so that the figure suffices as a limit."""
    return f"${amount.quantize(Decimal('0.0001'), ROUND_UP):f}"
