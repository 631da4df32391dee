"""Say when condensing is worth a try, and if its outcome pays."""

from __future__ import annotations

from decimal import Decimal
from typing import Final, Protocol

from msgspec import Struct

from ..core.wording import count_in, percent_in
from ..errors import UsageError
from ..money.economics import NEVER, TURNS, PrefixRewrite, Rates, weigh

LEAST_OLDER: Final = 4_000
"""Tokens (the model's) between the frozen part and the newest turns; with fewer a try is not worth its time."""

LEAST_REWRITTEN: Final = 10_000
"""The same where the cache is warm. Few large steps cost as much as many small ones, and cut less that is needed."""

SMALL: Final = 8_000
"""Tokens that fit every window; below, it is not looked up."""

LEAST_TURNS: Final = 8
"""Answers after which a conversation shows its subject. Earlier cuts are half blind, and cannot be undone."""

LEAST_SAVED: Final = 1_000
LEAST_SHARE: Final = 0.05
"""A decision saves at least LEAST_SAVED tokens, and at least this part of what it rewrites."""

GROWTH: Final = 1.25
"""Factor by which the part before the newest turns has to grow after a failed try."""


class Moment(Struct, frozen=True):
    """A request before it is sent, in the model's tokens: all of it, what follows its frozen part (`suffix`), and
    of that what precedes the newest turns (`older`).

    `fresh` tokens were not in the request before; `turns` is the number of answers. `window` is the model's, None
    if unknown. `is_cold`: the provider's cache holds nothing of it.
    """

    used: int
    suffix: int
    older: int
    fresh: int
    turns: int
    window: int | None
    is_cold: bool


class Outcome(Struct, frozen=True):
    """Outcome of a try, in the model's tokens of all messages: before, after, and the part that stays cached."""

    before: int
    after: int
    prefix: int

    @property
    def saved(self) -> int:
        return self.before - self.after

    @property
    def is_enough(self) -> bool:
        """True if it saves the least that a rewritten cache and a changed conversation are worth."""
        return self.saved >= max(LEAST_SAVED, LEAST_SHARE * (self.before - self.prefix))


def break_even(outcome: Outcome, moment: Moment, rates: Rates) -> Decimal:
    """Return the number of requests until a decision has paid for what it rewrites; 0 with a cold cache.

    Fresh messages are written either way.
    """
    if outcome.saved <= 0:
        return NEVER
    if moment.is_cold:
        return Decimal(0)
    fresh = min(moment.fresh, outcome.after - outcome.prefix)
    old, new = outcome.before - outcome.prefix - fresh, outcome.after - outcome.prefix - fresh
    found = weigh(PrefixRewrite(outcome.prefix, max(0, old), max(0, new)), rates).warm
    return NEVER if found is None else found


class Policy(Protocol):
    """When to decide. `due` returns the reason to try now, or an empty text; `pays` accepts an outcome that has
    paid for itself after `turns` requests."""

    @property
    def renews(self) -> bool:
        """True if each decision condenses the whole conversation anew."""

    def due(self, moment: Moment) -> str: ...

    def pays(self, outcome: Outcome, turns: Decimal, moment: Moment) -> bool: ...


def stated_limit(policy: Policy, moment: Moment) -> int | None:
    """Return the tokens that a policy stays below; None if it weighs costs alone or the window is unknown."""
    match policy:
        case Tokens():
            return policy.above
        case Share():
            return policy.limit(moment)
        case _:
            return None


class Economic(Struct, frozen=True):
    """Decide if that pays for itself within `turns` requests, or the cache is cold.

    With `looks_back` the conversation is expected to go on for a third of its requests so far, if those are more.
    """

    turns: int = TURNS
    looks_back: bool = False
    renews: bool = False

    def due(self, moment: Moment) -> str:
        least = LEAST_OLDER if moment.is_cold else LEAST_REWRITTEN
        if moment.older < least or (moment.turns < LEAST_TURNS and not moment.is_cold):
            return ""
        return "the cache is cold" if moment.is_cold else f"it may pay within {self.horizon(moment)} requests"

    def pays(self, outcome: Outcome, turns: Decimal, moment: Moment) -> bool:
        return outcome.is_enough and turns <= self.horizon(moment)

    def horizon(self, moment: Moment) -> int:
        return max(self.turns, moment.turns // 3) if self.looks_back else self.turns


class Tokens(Struct, frozen=True):
    """Decide from `above` tokens in use on."""

    above: int
    renews: bool = False

    def due(self, moment: Moment) -> str:
        if moment.used < self.above or moment.older < LEAST_OLDER:
            return ""
        return f"{moment.used:,} tokens are in use; the threshold is {self.above:,}"

    def pays(self, outcome: Outcome, turns: Decimal, moment: Moment) -> bool:
        return outcome.is_enough


class Share(Struct, frozen=True):
    """Decide when this part of the context window is in use; never if the window is unknown."""

    part: float
    renews: bool = False

    def due(self, moment: Moment) -> str:
        limit = self.limit(moment)
        if limit is None or moment.used < limit or moment.older < LEAST_OLDER:
            return ""
        return f"{moment.used:,} of {moment.window:,} tokens are in use; the threshold is {100 * self.part:g}%"

    def limit(self, moment: Moment) -> int | None:
        return None if moment.window is None else int(self.part * moment.window)

    def pays(self, outcome: Outcome, turns: Decimal, moment: Moment) -> bool:
        return outcome.is_enough


def policy_named(text: str) -> Policy:
    """Parse a policy: `economic`, `economic:20` (requests), `tokens:60000` or `60k`, `share:0.6` or `60%`.

    Raises UsageError.
    """
    name, _, value = text.partition(":")
    try:
        if name == "economic" and (not value or int(value) >= 0):
            return Economic(int(value)) if value else Economic(looks_back=True)
        if name == "tokens" and (above := count_in(value) or 0) > 0:
            return Tokens(above)
        if name == "share" and 0 < (part := _part(value)) <= 1:
            return Share(part)
    except ValueError:
        pass
    raise UsageError(f"There is no policy {text!r}.", "Give economic, economic:20, tokens:60000 or share:0.6.")


def _part(text: str) -> float:
    """Raises ValueError."""
    percent = percent_in(text)
    return float(text) if percent is None else percent / 100
