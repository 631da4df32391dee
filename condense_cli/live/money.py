"""What a request costs and how much fits into it, by the model's name."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from typing import Final

from ..money.economics import Rates
from ..money.prices import bare_name, context_window, price_of

_USUAL: Final = Rates(Decimal("1.25"), Decimal("0.1"))
"""What Anthropic takes for writing and reading, for one of input: for models without a price."""

_AN_HOUR: Final = 2
"""What Anthropic takes for writing what lives for an hour, for one of input."""


@cache
def window_of(model: str | None) -> int | None:
    """Tokens of a model's context window, None where it is not known."""
    return context_window(model)


def rates_of(model: str | None, now: float, *, is_long_lived: bool = False) -> Rates:
    """Dollars per token of writing and reading the cache at a time, or what they usually are for one of input.

    `is_long_lived`: entries live for an hour and not for five minutes.
    """
    return _rates_on(model and bare_name(model), datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%d"), is_long_lived)


@cache
def _rates_on(model: str | None, day: str, is_long_lived: bool) -> Rates:
    price = price_of(model, datetime.fromisoformat(day).replace(tzinfo=UTC))
    found = None if price is None else Rates.of(price)
    if price is None or found is None or found.write is None:
        return for_an_hour(_USUAL, Decimal(1)) if is_long_lived else _USUAL
    return for_an_hour(found, price.input) if is_long_lived else found


def for_an_hour(rates: Rates, paid: Decimal) -> Rates:
    """The rates of entries that live for an hour, where a token of input costs so much."""
    is_dearer = rates.write is not None and rates.write > paid  # Whoever writes for nothing has one life alone.
    return Rates(_AN_HOUR * paid, rates.read) if is_dearer else rates
