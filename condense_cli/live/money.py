"""What a request costs and how much fits into it, by the model's name."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from functools import cache
from typing import Final

from ..money.economics import Rates
from ..money.prices import ANTHROPIC_WRITE_1H, ANTHROPIC_WRITE_5M, bare_name, context_window, price_of

_READ: Final = Decimal("0.1")
"""What Anthropic takes for reading, for one of input: for models without a price, as for writing."""


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
    price = price_of(model, datetime.fromisoformat(day).replace(tzinfo=UTC), lives_hour=is_long_lived)
    found = None if price is None else Rates.of(price)
    if found is None or found.write is None:
        return Rates(Decimal(ANTHROPIC_WRITE_1H) if is_long_lived else ANTHROPIC_WRITE_5M, _READ)
    return found
