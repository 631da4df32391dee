"""What calls cost: prices of a profile, and a running sum that never passes off the unknown as nothing."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from typing import Final, assert_never

from msgspec import Struct, structs

from ..config.profiles import Profile
from ..money.economics import Accounting, CallUsage, cost_of_call
from ..money.prices import Price, price_of

_PER: Final = 1_000_000


class Spent(Struct, frozen=True):
    """Calls and what they used. `cost` are the dollars that are known.

    `unknown` counts calls that cost more than that: their usage or their price is not known, or they broke off.
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
        case "openai" | "offline" | "installed":  # The last two report no usage.
            return Accounting.OPENAI
        case other:
            assert_never(other)


def price_for(profile: Profile, when: datetime, input_tokens: int = 0) -> Price | None:
    """The price of a profile for requests of so many input tokens; None where it is not known.

    The table knows what the vendors take. What a server at another address takes only the profile can say.
    """
    listed = None if profile.base_url else price_of(profile.model, when, input_tokens)
    own = profile.price
    if own is None:
        return listed
    given = {
        name: None if value is None else value / _PER
        for name, value in (
            ("input", own.input),
            ("output", own.output),
            ("cache_read", own.cache_read),
            ("cache_write_5m", own.cache_write),
        )
    }
    known = {name: value for name, value in given.items() if value is not None}
    if listed is not None:
        return structs.replace(listed, **known)
    if given["input"] is None:
        return None
    return Price(
        profile.model,
        profile.host,
        given["input"],
        given["output"],
        given["cache_read"],
        given["cache_write_5m"],
    )


def spent_on(usage: CallUsage | None, profile: Profile, when: datetime) -> Spent:
    """What one call cost, by the accounting of its API."""
    if usage is None:
        return Spent(calls=1, unknown=1)
    accounting = accounting_of(profile)
    tokens = usage.total_tokens(accounting)
    price = price_for(profile, when, tokens - usage.output_tokens)
    cost = cost_of_call(usage, price, accounting) if price else None
    return Spent(1, tokens, cost or Decimal(0), int(cost is None or not usage.is_whole))
