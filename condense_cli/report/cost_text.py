"""Costs in words and digits for people, the same in every report."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Final

from .facts import Cost

_SMALLEST: Final = Decimal("0.0001")
_LONG: Final = 1_000
"""Turns beyond which a digit after the point says nothing."""


def dollars(amount: str | None) -> str:
    """An amount of dollars: with cents from a dollar on, with four digits below."""
    if amount is None:
        return "unknown"
    value = Decimal(amount)
    if not value:
        return "$0"
    if value < _SMALLEST:
        return f"<${_SMALLEST}"
    return f"${value:,.2f}" if value >= 1 else f"${value:.4f}"


def pays_after(cost: Cost) -> str:
    """After how many turns a run has paid for its one-off cost."""
    if cost.pays is None:
        return "unknown"
    turns = cost.breakeven_turns
    if not cost.pays or turns is None:
        return "never"
    if turns <= 1:
        return "next turn"
    return f"{turns:,.0f} turns" if turns >= _LONG else f"{turns:,.1f} turns"


def cost_lines(cost: Cost, model: str | None, *, is_changed: bool) -> Iterator[str]:
    """The costs of one run in sentences: first the figures, then what they rest on."""
    if cost.prices is None:
        return
    if cost.next_turn_before is None:
        yield unknown_price(cost.prices, model)
        return
    yield f"Next turn: {dollars(cost.next_turn_before)} → {dollars(cost.next_turn_after)}."
    if is_changed:
        when = pays_after(cost)
        pays = {
            "never": "It never pays for itself.",
            "unknown": "When it pays is unknown.",
            "next turn": "It pays with the next turn.",
        }
        yield f"One-off cost: {dollars(cost.one_off)}. " + pays.get(when, f"It pays after {when}.")
    yield f"Prices: {cost.prices}."
    yield from cost.assumed


def unknown_price(table: str, model: str | None) -> str:
    if model is None:
        return "The model is unknown, and so is what it costs. Name it with --model."
    return f"The price of {model} is not known ({table})."
