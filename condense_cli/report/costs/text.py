"""Costs in words and digits for people, the same in every report."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Final

from ...core.wording import plural
from ..run.facts import Cost

_SMALLEST: Final = Decimal("0.0001")
_LONG: Final = 1_000
"""Turns beyond which a digit after the point says nothing."""


def digits(amount: Decimal) -> str:
    """An amount of money as reports for programs have it: plain digits, without loss."""
    return format(amount.normalize(), "f")


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


def cost_figures(cost: Cost, model: str | None, *, is_changed: bool) -> str:
    """The costs of one run in a line; empty if nobody asked for them."""
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
    return (
        f"Next turn: {dollars(cost.next_turn_before)} → {dollars(cost.next_turn_after)}; "
        f"one-time {dollars(cost.one_off)}, {pays.get(after, f'pays for itself after {whole}')}."
    )


def unknown_price(model: str | None, table: str = "") -> str:
    """Why there are no costs, and how to name a model whose price is in the table."""
    if model is None:
        return "The model is unknown, so its price is too. Name it with --model."
    return f"The price of {model} is not known ({table}). --model NAME counts and prices the session as another one's."
