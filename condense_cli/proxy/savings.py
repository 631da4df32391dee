"""What was saved: tokens that were not sent, and money against what the same requests would have cost as they came.

The cost of a request is what its API reported; that of the request as it came is the one of so many tokens more, of
which those of the request before are read from the cache while it is warm.
"""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from functools import cache

from msgspec import Struct

from ..money.economics import Accounting, CallUsage
from ..money.prices import Price, bare_name, price_of

_NOTHING = Decimal(0)


class Sums(Struct):
    """Of some requests. `sent` are input tokens that were billed, `read` those of them that came from the cache,
    `saved` those that the requests had more as they came; `money` is in US dollars, None where no price is known."""

    requests: int = 0
    sent: int = 0
    read: int = 0
    saved: int = 0
    money: Decimal | None = None

    def add(self, other: Sums) -> None:
        self.requests += other.requests
        self.sent += other.sent
        self.read += other.read
        self.saved += other.saved
        if other.money is not None:
            self.money = (self.money or _NOTHING) + other.money


class Savings:
    """One conversation's. `life` are the seconds after which the provider's cache is cold.

    Where nothing is changed (`watches`), what is sent is what came, and the other side is estimated.
    """

    def __init__(self, life: float) -> None:
        self.sums = Sums()
        self._life = life
        self._other: int | None = None
        """Tokens of the request before, as it was not sent."""
        self._at = 0.0

    def add(
        self, usage: CallUsage, accounting: Accounting, saved: int, model: str | None, now: float,
        *, rewrites: bool = False, watches: bool = False,
    ) -> Sums:  # fmt: skip
        """What one request comes to: its usage, and how many tokens fewer it took.

        `rewrites`: a decision was taken with it.
        """
        total = _input(usage, accounting)
        cold = self._other is None or now - self._at > self._life
        price = _price(bare_name(model), datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%d")) if model else None
        other = max(0, total - saved if watches else total + saved)
        money = None
        if price is not None and price.cache_read is not None and price.cache_write_5m is not None:
            read = 0 if cold or (watches and rewrites) else min(other, self._other or 0)
            fresh = total - usage.cache_read_tokens - usage.cache_write_tokens
            if usage.cache_read_tokens + usage.cache_write_tokens == 0:
                cost_other = other * price.input
            else:
                fresh_other = min(fresh, other - read) if accounting is Accounting.ANTHROPIC else 0
                cost_other = (
                    read * price.cache_read
                    + (other - read - fresh_other) * price.cache_write_5m
                    + fresh_other * price.input
                )
            cost = (
                fresh * price.input
                + usage.cache_write_tokens * price.cache_write_5m
                + usage.cache_read_tokens * price.cache_read
            )
            difference = cost - cost_other if watches else cost_other - cost
            money = difference if saved or self.sums.saved else _NOTHING
        self._other, self._at = other, now
        added = Sums(1, total, usage.cache_read_tokens, saved, money)
        self.sums.add(added)
        return added


def _input(usage: CallUsage, accounting: Accounting) -> int:
    """Input tokens, cached or not."""
    return usage.total_tokens(accounting) - usage.output_tokens


@cache
def _price(model: str, day: str) -> Price | None:
    return price_of(model, datetime.fromisoformat(day).replace(tzinfo=UTC))
