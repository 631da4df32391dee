"""Say what a run means in money: which tokens stay cached, which are written anew, and when that pays."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from typing import Final

from msgspec import Struct

from ..core.wording import plural
from ..money import prices
from ..money.economics import NEVER, Economics, PrefixRewrite, Rates, weigh
from ..money.prices import Price
from ..passes.condensation import Condensation
from ..passes.prefix import shared_prefix
from ..tokens.counting import Counter
from ..tokens.factor import Known, factor_of

_SMALLEST: Final = Decimal("0.0001")
_LONG: Final = 1_000
"""Turns beyond which a digit after the point says nothing."""


_IN_JSON: Final = {"one_off": "one_time", "breakeven_turns": "pays_after_turns", "assumed": "assumptions"}


class Cost(Struct, frozen=True, rename=_IN_JSON):
    """Money in `currency`; null if a price is unknown or was not asked for.

    `spent` is the known cost of the calls for summaries (or would be, in a dry run). A turn is one request to the
    model. `one_off` comes on top of the first, with `spent` in it; `pays` is false for never.
    """

    currency: str = "USD"
    spent: Decimal = Decimal(0)
    one_off: Decimal | None = None
    next_turn_before: Decimal | None = None
    next_turn_after: Decimal | None = None
    breakeven_turns: float | None = None
    pays: bool | None = None
    prices: str | None = None
    assumed: list[str] = []


def digits(amount: Decimal) -> Decimal:
    """Return an amount of money for programs: without trailing zeros or an exponent, and without loss."""
    return Decimal(format(amount.normalize(), "f"))


def dollars(amount: Decimal | None) -> str:
    """Return an amount of dollars for people: with cents from a dollar on, with four digits below."""
    if amount is None:
        return "unknown"
    if not amount:
        return "$0"
    if amount < _SMALLEST:
        return f"<${_SMALLEST}"
    return f"${amount:,.2f}" if amount >= 1 else f"${amount:.4f}"


def pays_after(cost: Cost) -> str:
    """Say after how many turns a run has paid for its one-time cost."""
    if cost.pays is None:
        return "unknown"
    turns = cost.breakeven_turns
    if not cost.pays or turns is None:
        return "never"
    if turns <= 1:
        return "next turn"
    return f"{turns:,.0f} turns" if turns >= _LONG else f"{turns:,.1f} turns"


def cost_figures(cost: Cost, model: str | None, *, is_changed: bool) -> str:
    """Say the costs of one run in a line; empty if nobody asked for them."""
    if cost.prices is None:
        return ""
    if cost.next_turn_before is None:
        return unknown_price(model, cost.prices)
    if not is_changed:
        return f"Next turn: {dollars(cost.next_turn_before)}."
    pays = {
        "never": "never pays for itself",
        "unknown": "when it pays for itself is unknown",
        "next turn": "pays for itself next turn",
    }
    after = pays_after(cost)
    whole = plural(math.ceil(cost.breakeven_turns or 0), "turn")  # Nobody takes a part of one.
    when = pays.get(after, f"pays for itself after {whole}")
    return (
        f"Next turn: {dollars(cost.next_turn_before)} → {dollars(cost.next_turn_after)}; "
        f"one-time {dollars(cost.one_off)}, {when}."
    )


def unknown_price(model: str | None, table: str = "") -> str:
    """Say why there are no costs, and how to name a model with a known price."""
    if model is None:
        return "The model is unknown, so its price is too. Name it with --model."
    return f"The price of {model} is not known ({table}). --model NAME counts and prices the session as another one's."


_NOTHING: Final = Decimal(0)

PriceFor = Callable[[int], Price | None]
"""The price for requests of a number of tokens."""


class PriceSource(Struct, frozen=True):
    """The prices of one model at one time; `table` says where they are from."""

    price_for: PriceFor
    table: str

    @classmethod
    def of(cls, model: str | None, when: datetime, *, lives_hour: bool = False) -> PriceSource:
        """`lives_hour`: what is written to the cache lives for an hour."""
        return cls(
            lambda tokens: prices.price_of(model, when, tokens, lives_hour=lives_hour), str(prices.table(when.date()))
        )


def rewrite_of(result: Condensation, count: Counter, overhead: int) -> PrefixRewrite:
    """Return the model's tokens before the first changed block, overhead included, and the rest.

    They are what is billed, also where plain counts are shown.
    """
    is_bare = result.factor.known is Known.BARE
    shown = (factor_of(result.before, count) if is_bare else result.factor).shown
    kept = shown(shared_prefix(result.before.messages, result.transcript.messages, count))
    return PrefixRewrite(overhead + kept, shown(result.tokens_before) - kept, shown(result.tokens_after) - kept)


def weigh_run(
    result: Condensation, count: Counter, overhead: int, source: PriceSource, summaries: Decimal = _NOTHING
) -> Economics | None:
    """Return the costs and break-even of a run and its `summaries` in dollars; None if the price is unknown."""
    rewrite = rewrite_of(result, count, overhead)
    before, after = source.price_for(rewrite.before), source.price_for(rewrite.after)
    if before is None or after is None:
        return None
    return weigh(rewrite, Rates.of(before), Rates.of(after), summaries)


def cost_of(
    result: Condensation, count: Counter, overhead: int, source: PriceSource, summaries: Decimal = _NOTHING
) -> Cost:
    """Return the facts of `weigh_run` for the report."""
    return in_report(weigh_run(result, count, overhead, source, summaries), source, summaries)


def in_report(economics: Economics | None, source: PriceSource, summaries: Decimal = _NOTHING) -> Cost:
    """Return the cost and saving of a rewrite for the report; `summaries` are the dollars of its calls."""
    spent = digits(summaries)
    if economics is None:
        return Cost(spent=spent, prices=source.table)
    warm = economics.warm
    return Cost(
        spent=spent,
        one_off=as_money(economics.one_off),
        next_turn_before=as_money(economics.next_turn_before),
        next_turn_after=as_money(economics.next_turn_after),
        breakeven_turns=None if warm is None or warm == NEVER else round(float(warm), 2),
        pays=None if warm is None else warm != NEVER,
        prices=source.table,
        assumed=assumptions(source.price_for(0)),
    )


def as_money(amount: Decimal | None) -> Decimal | None:
    """Return dollars as `digits` has them; None if they are unknown."""
    return None if amount is None else digits(amount)


def assumptions(price: Price | None) -> list[str]:
    """List the assumptions of a model's costs in sentences."""
    if price is None:
        return []
    if price.cache_read is None:
        return ["No price for cached input is known, so each turn is charged at the full input price."]
    life = "an hour, as the file records" if price.lives_hour and price.cache_write_1h is not None else "5 minutes"
    sentences = [f"Assumes a warm cache ({life}); with a cold one, condensing pays at once."]
    if price.cache_write is None:
        sentences.append("No price for cache writes is known, so the one-time cost is unknown.")
    return [
        *sentences,
        "One-time cost: re-caching everything after the first change.",
        "New messages and answers cost the same either way and are left out.",
        *price.assumed,
    ]
