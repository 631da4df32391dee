"""Prices and context windows of models, from the table that the package genai-prices brings along, offline.

Importing that package takes a fifth of a second, so it happens inside the functions, when a cost is
asked for. What the table does not know is None: never guessed, never 0.

The table of prices lists the largest window that a model can have. A client may work with a smaller one, and a beta, or
a plan, may give a larger one.
"""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from functools import cache
from math import inf
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from msgspec.structs import replace

from ..core.lazy_pattern import lazy_pattern
from ..core.markers import is_marked
from ..core.transcript import Transcript
from ..core.values import WindowSigns

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, Provider

_PER: Final = 1_000_000
"""The table gives US dollars per million tokens."""

ANTHROPIC_WRITE_5M: Final = Decimal("1.25")
"""A cache write for five minutes as a multiple of the input price:
https://platform.claude.com/docs/en/build-with-claude/prompt-caching#pricing"""

ANTHROPIC_WRITE_1H: Final = 2
"""The same for an hour."""

_AUTOMATIC: Final = {"google": "gemini", "deepseek": "deepseek", "x-ai": "grok"}
"""Vendors whose cache fills by itself, at the price of input, and how the names of such models begin:
https://ai.google.dev/gemini-api/docs/caching (implicit caching), https://api-docs.deepseek.com/guides/kv_cache,
https://docs.x.ai/docs/models (cached prompt tokens)"""

_ROUTING: Final = lazy_pattern(
    r"^(?:(?:us|eu|apac|au|jp|ca|global|us-gov)\.)?"
    r"(?:anthropic|openai|amazon|meta|mistral|deepseek|cohere|google|qwen|moonshotai?)\."
)
"""Bedrock names: an inference region and the maker before the model, as in `us.anthropic.claude-…`."""
_VERSION: Final = lazy_pattern(r"(?:@[\w-]{1,60}|-v\d{1,4}:\d{1,4}(?::\d{1,6}k)?|\[\w{1,20}\]){1,4}$")
"""Bedrock's `-v1:0`, Vertex's `@20250101`, Claude Code's `[1m]`, also one behind another."""

_MILLION: Final = "[1m]"
"""What Claude Code writes behind the name of a model whose window is to have a million tokens:
https://code.claude.com/docs/en/model-config"""

_OPENAI_VERSION: Final = lazy_pattern(r"^gpt-(\d+)(?:[.-](\d{1,2})(?!\d))?")
_OPENAI_CHARGES_WRITES: Final = (5, 6)
"""From GPT-5.6 on a cache write costs more than input: https://platform.openai.com/docs/guides/prompt-caching"""


class Price(Struct, frozen=True):
    """What a model costs, in US dollars per token; `window` is its context window in tokens.

    A cache price of None is unknown; if reading is None, the table knows of no cache for this model.
    `assumed` are sentences about prices that the table lacks and a rule of the vendor gave. With `lives_hour` the
    client writes caches that live for an hour, which have a price of their own at Anthropic.
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
        """Return the price of writing a token to the cache, for as long as the client has it kept."""
        return self.cache_write_1h if self.lives_hour and self.cache_write_1h is not None else self.cache_write_5m


class PriceTable(Struct, frozen=True):
    """Which prices these are: the package's version, and the newest change of a price that it dates."""

    version: str
    newest_change: date | None

    def __str__(self) -> str:
        changed = f" up to {self.newest_change}" if self.newest_change else ""
        return f"genai-prices {self.version}{changed}"


def bare_name(model: str) -> str:
    """A model's own name, without routing (`openai/`, `us.anthropic.`) and without version suffixes."""
    bare = _ROUTING.sub("", model.strip().lower().rsplit("/", 1)[-1])
    return _VERSION.sub("", bare)


def price_of(model: str | None, when: datetime, input_tokens: int = 0, *, lives_hour: bool = False) -> Price | None:
    """Price of a model at a time, for requests of so many input tokens: some cost more above a limit.

    `lives_hour`: what is written to the cache lives for an hour. None where the table does not know the model or the
    price of its input.
    """
    if not model or model.endswith(":free"):  # Free at a reseller is not the maker's price.
        return None
    found = _find(model)
    price = _price(*found, when, input_tokens) if found else None
    return price and replace(price, window=context_window(model), lives_hour=lives_hour)


def context_window(model: str | None) -> int | None:
    """Tokens of a model's context window; None where neither the name nor the table tells it."""
    if names_window(model):
        return 1_000_000
    found = _find(model) if model else None
    return found[1].context_window if found else None


def names_window(model: str | None) -> bool:
    """Whether the name of a model says how large its window is to be."""
    return bool(model and model.lower().endswith(_MILLION))


def _find(model: str) -> tuple[Provider, ModelInfo] | None:
    from genai_prices.data_snapshot import get_snapshot

    try:
        return get_snapshot().find_provider_model(bare_name(model), None, None, None)
    except LookupError:
        return None


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
    elif read is not None and write is None and _writes_for_nothing(provider.id, info.id):
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


def _writes_for_nothing(provider: str, model: str) -> bool:
    """Whether a vendor takes no more for input that it caches by itself than for other input."""
    if provider == "openai":
        return not _openai_charges_writes(model)
    return provider in _AUTOMATIC and model.startswith(_AUTOMATIC[provider])


def _in_tier(value: Any, input_tokens: int) -> Decimal | None:
    """A price, or of a price in tiers the one that holds for all tokens of a request of that size."""
    from genai_prices.types import TieredPrices

    if not isinstance(value, TieredPrices):
        return value if isinstance(value, Decimal) else None
    reached = [tier.price for tier in value.tiers if input_tokens > tier.start]
    return reached[-1] if reached else value.base


def _openai_charges_writes(model: str) -> bool:
    version = _OPENAI_VERSION.match(model)
    return version is not None and (int(version[1]), int(version[2] or 0)) >= _OPENAI_CHARGES_WRITES


@cache
def table(on: date) -> PriceTable:
    """Version of the installed table, and the newest change in it that is not after that day."""
    import genai_prices
    from genai_prices.data_snapshot import get_snapshot
    from genai_prices.types import StartDateConstraint

    starts = [
        conditional.constraint.start_date
        for provider in get_snapshot().providers
        for info in provider.models
        if isinstance(info.prices, list)
        for conditional in info.prices
        if isinstance(conditional.constraint, StartDateConstraint)
    ]
    return PriceTable(genai_prices.__version__, max((start for start in starts if start <= on), default=None))


LISTED: Final = "price table"
UNKNOWN: Final = "unknown"
RECORDED_USE: Final = "recorded use"
NAMED: Final = "named by the client"

USUAL: Final = (
    *(32_000, 64_000, 128_000, 200_000, 256_000, 400_000, 500_000),
    *(1_000_000, 2_000_000, 5_000_000, 10_000_000),
)
"""Sizes that windows have."""

LARGEST_BESIDE: Final = 100_000
"""System prompt and tools hardly ever take more tokens than this."""

_LARGEST: Final = 2_000_000
"""Hardly any window is larger."""

_FAR_LESS: Final = 0.5
"""Clients compact when most of the window is full. One that did so below this part of the listed window had another."""


def signs_of(transcript: Transcript) -> WindowSigns:
    """What a transcript shows of the window of its model; requests of other models say nothing about it."""
    model = transcript.model
    sent = [usage.input_tokens for usage in transcript.usages if _is_same(usage.model, model)]
    found = [signs for signs in transcript.window_signs if _is_same(signs.model, model)]
    used, most = [*sent, *(signs.used for signs in found)], most_sent(transcript)
    if max(used, default=0) > most and not any(is_marked(block.content) for _, block in transcript.blocks()):
        used = [tokens for tokens in used if tokens <= most]  # Nothing went from the file: so much was never sent.
    return WindowSigns(
        model,
        max(used, default=0),
        max((signs.compacted_at for signs in found), default=0),
        max((signs.named for signs in found), default=0),
    )


def most_sent(transcript: Transcript) -> float:
    """The most tokens that a request can have had: no more than the largest windows hold, or than the file has bytes,
    with system prompt and tools.

    What a conversation that begins in its middle took before is not in the file.
    """
    return inf if transcript.begins_in_middle else max(_LARGEST, len(transcript.source.data) + LARGEST_BESIDE)


def window_size(model: str | None, signs: WindowSigns) -> tuple[int | None, str]:
    """The tokens of a model's window, None where nothing tells, and where that is known from."""
    listed = context_window(model)
    if not _is_same(signs.model, model):
        return listed, UNKNOWN if listed is None else LISTED
    if signs.named and not names_window(model):
        return signs.named, NAMED
    size, source = listed, UNKNOWN if listed is None else LISTED
    at = signs.compacted_at
    if at and not names_window(model) and (listed is None or at < _FAR_LESS * listed):
        smaller = _holding(at)
        if smaller and signs.used <= smaller:
            size, source = smaller, f"the client's own compaction at {at:,}"
    if size and signs.used > size:
        larger = _holding(signs.used)
        size, source = (larger, RECORDED_USE) if larger else (size, source)
    return size, source


def _holding(tokens: int) -> int | None:
    """The next of the usual sizes; None for tokens that no window holds."""
    return next((size for size in USUAL if size >= tokens), None)


def _is_same(one: str | None, other: str | None) -> bool:
    """Whether both may be the same model; None is any."""
    return one is None or other is None or bare_name(one) == bare_name(other)
