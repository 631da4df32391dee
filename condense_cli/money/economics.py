"""What condensing costs and when it pays. Pure arithmetic in US dollars and tokens; money is Decimal.

A request is read from the provider's cache as far as it begins like the one before. Condensing keeps
a prefix P, and replaces the suffix S by S', which is written to the cache anew, once. With w and r as
the price of writing and reading a token of the cache and L as the price of the summaries:

    k = ((w − r) · S' + L) / (r · (S − S'))

turns pay for it. Once the cache has expired all is written anyway: then it pays at once if L < w · (S − S').

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
"""The break-even of what never pays for itself."""

TURNS: Final = 10
"""Requests within which condensing is to pay for itself, unless somebody says otherwise."""

_NOTHING: Final = Decimal(0)


class Rates(Struct, frozen=True):
    """Dollars per input token when it is written to the cache, and when it is read from there.

    A `write` of None is unknown. Without a cache both are the price of input.
    """

    write: Decimal | None
    read: Decimal

    @classmethod
    def of(cls, price: Price) -> Rates:
        """The rates of a model, for as long as its client has cache entries kept."""
        if price.cache_read is None:
            return cls(price.input, price.input)
        return cls(price.cache_write, price.cache_read)


class PrefixRewrite(Struct, frozen=True):
    """Tokens of a request: the prefix that stays, and the suffix before and after condensing."""

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
    """Dollars and turns. A turn is one request; its new messages and its answer cost the same either way.

    `one_off` comes on top of the first turn: summaries, and the new suffix written instead of read.
    A break-even of `k` turns means that k turns cost the same with and without condensing; up to 1
    it pays with the next turn, and NEVER is NEVER. None is unknown.
    """

    next_turn_before: Decimal
    next_turn_after: Decimal
    one_off: Decimal | None
    warm: Decimal | None


def weigh(
    rewrite: PrefixRewrite, before: Rates, after: Rates | None = None, summaries: Decimal = _NOTHING
) -> Economics:
    """What a rewrite costs and brings.

    `after` are the rates of the smaller request, where its size changes them; `summaries` is the
    price L of the calls that wrote summaries, in dollars.
    """
    after = after or before
    old_turn = before.read * rewrite.before
    new_turn = after.read * rewrite.after
    saving = old_turn - new_turn
    if before.write is None or after.write is None:
        return Economics(old_turn, new_turn, None, None)
    one_off = (after.write - after.read) * rewrite.new_suffix + summaries
    return Economics(old_turn, new_turn, one_off, _warm(one_off, saving))


def most_left(rates: Rates, turns: int = TURNS) -> Decimal | None:
    """The part S' / S of the suffix that may be left if that is to pay within so many turns: `weigh`, solved for it.

    1 where it always pays, None where the price of writing is unknown.
    """
    if rates.write is None:
        return None
    dearer, saved = rates.write - rates.read, rates.read * turns
    return Decimal(1) if dearer <= 0 else saved / (dearer + saved)


def _warm(one_off: Decimal, saving: Decimal) -> Decimal:
    """Turns after which a saving per turn has paid for what was spent once."""
    if saving <= 0:
        return NEVER
    return max(_NOTHING, one_off) / saving


class Accounting(StrEnum):
    """What a provider means by input tokens."""

    ANTHROPIC = "anthropic"
    """Without those read from the cache and those written to it."""
    OPENAI = "openai"
    """All of them, cached ones included."""


class CallUsage(Struct, frozen=True):
    """Tokens of one call, as its provider reports them; at least that many if the answer broke off.

    Of the `cache_write_tokens`, `hour_write_tokens` are kept for an hour, which costs more.
    """

    input_tokens: int
    output_tokens: int
    cache_write_tokens: int = 0
    cache_read_tokens: int = 0
    is_whole: bool = True
    hour_write_tokens: int = 0

    def total_tokens(self, accounting: Accounting) -> int:
        """All tokens, read and written, cached or not."""
        tokens = self.input_tokens + self.output_tokens
        match accounting:
            case Accounting.ANTHROPIC:
                return tokens + self.cache_write_tokens + self.cache_read_tokens
            case Accounting.OPENAI:
                return tokens
            case other:
                assert_never(other)


def cost_of_call(usage: CallUsage, price: Price, accounting: Accounting) -> Decimal | None:
    """Dollars that a call cost; None if it used something whose price is unknown."""
    match accounting:
        case Accounting.ANTHROPIC:
            fresh = usage.input_tokens
        case Accounting.OPENAI:
            fresh = max(0, usage.input_tokens - usage.cache_write_tokens - usage.cache_read_tokens)
        case other:
            assert_never(other)
    parts = [
        (fresh, price.input),
        (usage.output_tokens, price.output),
        (usage.cache_write_tokens, price.cache_write_5m),
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
