"""Compute the cost of condensing and its break-even, in US dollars (Decimal) and tokens.

A provider's cache serves the part of a request that equals the beginning of the previous one. Condensing keeps a prefix
P and replaces the suffix S by S', which is written to the cache once. With the prices w and r of writing and reading
one cached token and the price L of the summaries, condensing has paid for itself after

    k = ((w − r) · S' + L) / (r · (S − S'))

turns. Once the cache has expired, everything is written anyway. Then it pays at once if L < w · (S − S').

https://platform.claude.com/docs/en/build-with-claude/prompt-caching#pricing (write 1.25, read 0.1)
https://platform.openai.com/docs/guides/prompt-caching (write 1 before GPT-5.6, read 0.1 to 0.5)
"""

from __future__ import annotations

from decimal import Decimal
from enum import StrEnum
from typing import Final, assert_never

from msgspec import Struct

from .prices import Price

NEVER: Final = Decimal("Infinity")
"""Break-even of a rewrite that never pays for itself."""

TURNS: Final = 10
"""Default number of requests within which condensing should pay for itself."""

_NOTHING: Final = Decimal(0)


class Rates(Struct, frozen=True):
    """Dollars per input token written to the cache, and read from it.

    `write` is None if unknown. Without a cache both are the input price.
    """

    write: Decimal | None
    read: Decimal

    @classmethod
    def of(cls, price: Price) -> Rates:
        """Return a model's rates, for the cache lifetime that its client requests."""
        if price.cache_read is None:
            return cls(price.input, price.input)
        return cls(price.cache_write, price.cache_read)


class PrefixRewrite(Struct, frozen=True):
    """Tokens of a request: the kept prefix, and the suffix before and after condensing."""

    prefix: int
    old_suffix: int
    new_suffix: int

    @property
    def before(self) -> int:
        return self.prefix + self.old_suffix

    @property
    def after(self) -> int:
        return self.prefix + self.new_suffix


class Economics(Struct, frozen=True):
    """Dollars and turns. A turn is one request; its new messages and answer cost the same either way.

    `one_off` is added to the first turn: summaries, and the new suffix written instead of read. After `warm` turns the
    cost is the same with and without condensing; up to 1 it pays with the next turn, and NEVER means never. None is
    unknown.
    """

    next_turn_before: Decimal
    next_turn_after: Decimal
    one_off: Decimal | None
    warm: Decimal | None


def weigh(
    rewrite: PrefixRewrite, before: Rates, after: Rates | None = None, summaries: Decimal = _NOTHING
) -> Economics:
    """Compute costs and break-even of a rewrite.

    `after` are the rates of the smaller request, if its size changes them. `summaries` is the price L of the summary
    calls.
    """
    after = after or before
    old_turn = before.read * rewrite.before
    new_turn = after.read * rewrite.after
    saving = old_turn - new_turn
    if before.write is None or after.write is None:
        return Economics(old_turn, new_turn, None, None)
    one_off = (after.write - after.read) * rewrite.new_suffix + summaries
    warm = max(_NOTHING, one_off) / saving if saving > 0 else NEVER
    return Economics(old_turn, new_turn, one_off, warm)


def most_left(rates: Rates, turns: int = TURNS) -> Decimal | None:
    """Return the largest share S' / S of the suffix that may be left to pay within `turns`: `weigh` solved for it.

    1 if it always pays, None if the price of writing is unknown.
    """
    if rates.write is None:
        return None
    dearer, saved = rates.write - rates.read, rates.read * turns
    return Decimal(1) if dearer <= 0 else saved / (dearer + saved)


class Accounting(StrEnum):
    """A provider's definition of input tokens."""

    ANTHROPIC = "anthropic"
    """Excludes tokens read from the cache or written to it."""
    OPENAI = "openai"
    """Includes cached tokens."""


class CallUsage(Struct, frozen=True):
    """Tokens of one call, as reported; a lower bound if the answer broke off.

    `hour_write_tokens`, part of `cache_write_tokens`, are cached for an hour, which costs more.
    """

    input_tokens: int
    output_tokens: int
    cache_write_tokens: int = 0
    cache_read_tokens: int = 0
    is_whole: bool = True
    hour_write_tokens: int = 0

    def total_tokens(self, accounting: Accounting) -> int:
        """Return all tokens, input and output, cached or not."""
        tokens = self.input_tokens + self.output_tokens
        match accounting:
            case Accounting.ANTHROPIC:
                return tokens + self.cache_write_tokens + self.cache_read_tokens
            case Accounting.OPENAI:
                return tokens
            case other:
                assert_never(other)


def cost_of_call(usage: CallUsage, price: Price, accounting: Accounting) -> Decimal | None:
    """Return the dollars a call cost. None if it used something whose price is unknown."""
    match accounting:
        case Accounting.ANTHROPIC:
            fresh = usage.input_tokens
        case Accounting.OPENAI:
            fresh = max(0, usage.input_tokens - usage.cache_write_tokens - usage.cache_read_tokens)
        case other:
            assert_never(other)
    hour = usage.hour_write_tokens
    parts = [
        (fresh, price.input),
        (usage.output_tokens, price.output),
        (usage.cache_write_tokens - hour, price.cache_write_5m),
        (hour, price.cache_write_5m if price.cache_write_1h is None else price.cache_write_1h),
        (usage.cache_read_tokens, price.cache_read),
    ]
    cost = _NOTHING
    for tokens, each in parts:
        if not tokens:
            continue
        if each is None:
            return None
        cost += tokens * each
    return cost
