"""Look up prices and context windows of models, offline, in the table of the package genai-prices.

Importing that package takes a fifth of a second, so functions import it on demand. Values that it lacks are None: never
guessed, never 0.
"""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from msgspec.structs import replace

from ..core.lazy_pattern import lazy_pattern
from ..core.postponed import OF_PRICES, postponed
from ..tokens.models import bare_name

if TYPE_CHECKING:
    from genai_prices.data_snapshot import DataSnapshot
    from genai_prices.types import ModelInfo, Provider, TieredPrices

_PER: Final = 1_000_000
"""The table gives US dollars per million tokens."""

ANTHROPIC_WRITE_5M: Final = Decimal("1.25")
"""Price of a five-minute cache write as a multiple of the input price:
https://platform.claude.com/docs/en/build-with-claude/prompt-caching#pricing
"""

ANTHROPIC_WRITE_1H: Final = 2
"""The same for one hour."""

_AUTOMATIC: Final = {"google": "gemini", "deepseek": "deepseek", "x-ai": "grok"}
"""Vendors whose cache fills automatically at the input price, and the prefix of such models:
https://ai.google.dev/gemini-api/docs/caching (implicit caching), https://api-docs.deepseek.com/guides/kv_cache,
https://docs.x.ai/docs/models (cached prompt tokens)
"""

_MILLION: Final = "[1m]"
"""Claude Code's suffix for a model with a window of a million tokens: https://code.claude.com/docs/en/model-config"""

_OPENAI_VERSION: Final = lazy_pattern(r"^gpt-(\d+)(?:[.-](\d{1,2})(?!\d))?")
_OPENAI_CHARGES_WRITES: Final = (5, 6)
"""From GPT-5.6 on, a cache write costs more than input: https://platform.openai.com/docs/guides/prompt-caching"""


class Price(Struct, frozen=True):
    """Prices of a model in US dollars per token; `window` is its context window in tokens.

    A cache price of None is unknown; if `cache_read` is None, the table lists no cache for the model. `assumed`
    explains prices derived from a vendor's rule. With `lives_hour` the client writes one-hour caches, which Anthropic
    prices separately.
    """

    model: str
    provider: str
    input: Decimal
    output: Decimal | None
    cache_read: Decimal | None
    cache_write_5m: Decimal | None
    window: int | None = None
    assumed: tuple[str, ...] = ()
    cache_write_1h: Decimal | None = None
    lives_hour: bool = False

    @property
    def cache_write(self) -> Decimal | None:
        """Price of writing a token to the cache, for the lifetime that the client requests."""
        return self.cache_write_1h if self.lives_hour and self.cache_write_1h is not None else self.cache_write_5m


class PriceTable(Struct, frozen=True):
    """Version of the price table: the package's version and its newest dated price change."""

    version: str
    newest_change: date | None

    def __str__(self) -> str:
        changed = f" up to {self.newest_change}" if self.newest_change else ""
        return f"genai-prices {self.version}{changed}"


def price_of(model: str | None, when: datetime, input_tokens: int = 0, *, lives_hour: bool = False) -> Price | None:
    """Return a model's price at a time, for requests of `input_tokens`: some models cost more above a limit.

    `lives_hour`: caches are written for an hour. None if the table lacks the model or its input price.
    """
    if not model or model.endswith(":free"):  # Free at a reseller; that is not the maker's price.
        return None
    found = _find(model)
    price = _price(*found, when, input_tokens) if found else None
    return price and replace(price, window=context_window(model), lives_hour=lives_hour)


def context_window(model: str | None) -> int | None:
    """Return the tokens of a model's context window. None if neither name nor table gives it."""
    if names_window(model):
        return 1_000_000
    found = _find(model) if model else None
    return found[1].context_window if found else None


def names_window(model: str | None) -> bool:
    """Return whether the model's name states its window."""
    return bool(model and model.lower().endswith(_MILLION))


def _find(model: str) -> tuple[Provider, ModelInfo] | None:
    try:
        return _snapshot()[1].find_provider_model(bare_name(model), None, None, None)
    except LookupError:
        return None


def _snapshot() -> tuple[str, DataSnapshot]:
    """Return the version of genai-prices and its table."""
    with postponed(OF_PRICES):
        import genai_prices
        from genai_prices.data_snapshot import get_snapshot

    return genai_prices.__version__, get_snapshot()


def _price(provider: Provider, info: ModelInfo, when: datetime, input_tokens: int) -> Price | None:
    prices = info.get_prices(when)

    def per_token(value: Any) -> Decimal | None:
        price = _in_tier(value, input_tokens)
        return None if price is None else price / _PER

    paid = per_token(prices.input_mtok)
    if paid is None:
        return None
    read = per_token(prices.cache_read_mtok)
    write = per_token(prices.cache_write_5m_mtok)
    if write is None:
        write = per_token(prices.cache_write_mtok)
    hour = per_token(prices.cache_write_1h_mtok)
    assumed = []
    if read is not None and provider.id == "anthropic":
        if write is None:
            write = paid * ANTHROPIC_WRITE_5M
            assumed.append(f"Cache writes are assumed to cost {ANTHROPIC_WRITE_5M} times the input price.")
        hour = paid * ANTHROPIC_WRITE_1H if hour is None else hour
    elif read is not None and write is None and _caches_automatically(provider.id, info.id):
        write = paid
        assumed.append("Cache writes are assumed to cost no more than input.")
    return Price(
        info.id,
        provider.name,
        paid,
        per_token(prices.output_mtok),
        read,
        write,
        assumed=tuple(assumed),
        cache_write_1h=hour,
    )


def _caches_automatically(provider: str, model: str) -> bool:
    """Return whether the vendor charges no more for input that it caches automatically."""
    if provider == "openai":
        version = _OPENAI_VERSION.match(model)
        return version is None or (int(version[1]), int(version[2] or 0)) < _OPENAI_CHARGES_WRITES
    return provider in _AUTOMATIC and model.startswith(_AUTOMATIC[provider])


def _in_tier(value: Decimal | TieredPrices | None, input_tokens: int) -> Decimal | None:
    """Return a price; of a tiered price, the one that applies to all tokens of a request of that size."""
    if value is None or isinstance(value, Decimal):
        return value
    reached = [tier.price for tier in value.tiers if input_tokens > tier.start]
    return reached[-1] if reached else value.base


@cache
def table(on: date) -> PriceTable:
    """Return the installed table's version and its newest change up to that day."""
    version, snapshot = _snapshot()
    starts = [
        start
        for provider in snapshot.providers
        for info in provider.models
        if isinstance(info.prices, list)
        for conditional in info.prices
        if (start := getattr(conditional.constraint, "start_date", None)) is not None
    ]
    return PriceTable(version, max((start for start in starts if start <= on), default=None))
