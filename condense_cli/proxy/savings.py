"""What was saved: tokens that were not sent, and money against what the same requests would have cost as they came.

The cost of a request is that of what its API reported; that of the request as it came is the one of so many tokens
more, of which those of the request before are read from the cache while it is warm.
"""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache
from typing import Final

from msgspec import Struct

from ..live.deciding import CacheGuess
from ..money.economics import Accounting, CallUsage, Rates
from ..money.prices import Price, bare_name, price_of

_NOTHING: Final = Decimal(0)
_THOUSAND: Final = 1_000
"""Prices change at whole thousands of tokens, if they do."""


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


class SentRequest(Struct, frozen=True):
    """Facts of a request besides its usage: for which model, what the cache may hold of it, and whether the
    client `caches` at all and `for_an_hour`. It took `saved` tokens fewer, and `rewrites`: a decision came with it."""

    model: str | None
    cache: CacheGuess
    saved: int
    caches: bool = True
    for_an_hour: bool = False
    rewrites: bool = False


class Savings:
    """One conversation's.

    Where nothing is changed (`watches`), what is sent is what came, and the other side is estimated.
    """

    def __init__(self) -> None:
        self.sums = Sums()
        self._other: int | None = None
        """Tokens of the request before, as it was not sent."""

    def add(
        self, usage: CallUsage, accounting: Accounting, asked: SentRequest, now: float, *, watches: bool = False
    ) -> Sums:
        """Return the sums of one request."""
        total = usage.total_tokens(accounting) - usage.output_tokens
        other = max(0, total - asked.saved if watches else total + asked.saved)
        fresh = total - usage.cache_read_tokens - usage.cache_write_tokens
        hour = Decimal(usage.hour_write_tokens) / usage.cache_write_tokens if usage.cache_write_tokens else None
        sent = _Billed(total, usage.cache_read_tokens, usage.cache_write_tokens, hour)
        if asked.caches:
            read = 0 if watches and asked.rewrites else self._cached(other, asked.cache)
            # What the client sends behind its last mark is not cached.
            behind = min(fresh, other - read) if accounting is Accounting.ANTHROPIC else 0
            hour = Decimal(asked.for_an_hour) if hour is None else hour
            unsent = _Billed(other, read, other - read - behind, hour)
        else:
            unsent = _Billed(other, 0, 0, None)
        self._other = other
        costs = [_cost(each, asked.model, now) for each in (unsent, sent)]
        money = None
        if costs[0] is not None and costs[1] is not None:
            difference = costs[1] - costs[0] if watches else costs[0] - costs[1]
            money = difference if asked.saved or self.sums.saved else _NOTHING
        added = Sums(1, total, usage.cache_read_tokens, asked.saved, money)
        self.sums.add(added)
        return added

    def _cached(self, other: int, cache: CacheGuess) -> int:
        """Of so many tokens, those that are read from the cache."""
        if cache.is_cold:
            return 0
        if cache.goes_on and self._other is not None:
            return min(other, self._other)
        return max(0, other - cache.fresh)


class _Billed(Struct, frozen=True):
    """Input tokens of a request; of those written to the cache the part `hour` is kept for an hour."""

    total: int
    read: int
    written: int
    hour: Decimal | None


def _cost(billed: _Billed, model: str | None, now: float) -> Decimal | None:
    """Dollars for the input; None where no price is known."""
    if model is None:
        return None
    day = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%d")
    price = _price(bare_name(model), day, -(-billed.total // _THOUSAND) * _THOUSAND)
    if price is None:
        return None
    rates = Rates.of(price)
    if rates.write is None:
        return None
    hour = billed.written * (billed.hour or _NOTHING)
    return (
        (billed.total - billed.read - billed.written) * price.input
        + billed.read * rates.read
        + (billed.written - hour) * rates.write
        + hour * (rates.write if price.cache_write_1h is None else price.cache_write_1h)
    )


@lru_cache(1_024)
def _price(model: str, day: str, tokens: int) -> Price | None:
    return price_of(model, datetime.fromisoformat(day).replace(tzinfo=UTC), tokens)
