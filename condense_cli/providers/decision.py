"""Decide whether to condense a conversation, from sizes and thresholds alone."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from msgspec import Struct

RESERVED_TOKENS: Final = 8_192
"""Tokens kept free for the answer if no profile limits it."""

USABLE_PERCENT: Final = 90
"""Usable part of the window. The rest is a margin: for most models token counts are estimates."""

FAR: Final = 500_000
"""Tokens in use that few conversations reach, because each turn has become expensive long before."""


class DecisionReason(StrEnum):
    SWITCHED_OFF = "switched_off"
    UNKNOWN_WINDOW = "unknown_window"
    THRESHOLD = "threshold"
    ABOVE = "above"
    LIMIT = "limit"
    BELOW = "below"


class Sizes(Struct, frozen=True):
    """Sizes to decide on, in tokens. `beside` is everything in use besides the counted messages.

    `threshold` (percent of `window`) and `above` (tokens in use) start condensing. `reserved` stays free for the
    answer. `source` names the origin of the figures.
    """

    tokens: int
    beside: int
    window: int | None
    threshold: float = 100
    reserved: int = RESERVED_TOKENS
    is_automatic: bool = True
    source: str = "estimated"
    above: int | None = None

    @property
    def used(self) -> int:
        """Tokens of a request."""
        return self.tokens + self.beside


class CheckDecision(Struct, frozen=True):
    """A decision and its figures. `percent` is the share of the window in use, `limit` the most that may be in use.

    Both are None if the window is unknown. `is_over_limit` holds even if condensing is switched off.
    """

    sizes: Sizes
    reason: DecisionReason
    percent: float | None = None
    limit: int | None = None

    @property
    def should_condense(self) -> bool:
        return self.reason in (DecisionReason.THRESHOLD, DecisionReason.ABOVE, DecisionReason.LIMIT)

    @property
    def is_hardly_ever_due(self) -> bool:
        """Return whether only the limit decides, at a size that few conversations reach."""
        sizes = self.sizes
        if not sizes.is_automatic or sizes.window is None or sizes.above is not None or self.limit is None:
            return False
        return FAR <= self.limit < sizes.window * sizes.threshold / 100

    @property
    def is_over_limit(self) -> bool:
        return self.limit is not None and self.sizes.used > self.limit

    def __str__(self) -> str:
        """Word the reason with the figures that decided."""
        sizes = self.sizes
        if self.percent is None or self.limit is None:
            share = f"{sizes.used:,} tokens are in use; the context window of the model is not known"
        else:
            share = f"{sizes.used:,} of {sizes.window:,} tokens are in use ({self.percent:.1f}%, {sizes.source})"
        match self.reason:
            case DecisionReason.SWITCHED_OFF:
                return f"{share}; auto_condense_context is false."
            case DecisionReason.UNKNOWN_WINDOW:
                return f"{share}."
            case DecisionReason.THRESHOLD:
                return f"{share}, at or above the threshold of {sizes.threshold:g}%."
            case DecisionReason.ABOVE:
                return f"{share}; condensing is due from {sizes.above:,} tokens on."
            case DecisionReason.LIMIT:
                return f"{share}, above the limit of {self.limit:,}."
            case DecisionReason.BELOW if self.limit is None:
                return f"{share}; condensing is due from {sizes.above:,} tokens on."
            case DecisionReason.BELOW:
                above = "" if sizes.above is None else f"the {sizes.above:,} tokens set with --above, "
                return f"{share}, below {above}the threshold of {sizes.threshold:g}% and the limit of {self.limit:,}."


def decide(sizes: Sizes) -> CheckDecision:
    """Decide to condense if use reaches a threshold or leaves too little room for the answer."""
    percent = limit = None
    if sizes.window is not None:
        percent = 100 * sizes.used / sizes.window
        limit = limit_of(sizes.window, sizes.reserved)
    return CheckDecision(sizes, _reason(sizes, percent, limit), percent, limit)


def limit_of(window: int, reserved: int) -> int:
    """Return the most tokens that may be in use if `reserved` stay free for the answer."""
    return window * USABLE_PERCENT // 100 - reserved


def _reason(sizes: Sizes, percent: float | None, limit: int | None) -> DecisionReason:
    if not sizes.is_automatic:
        return DecisionReason.SWITCHED_OFF
    if percent is not None and percent >= sizes.threshold:
        return DecisionReason.THRESHOLD
    if sizes.above is not None and sizes.used >= sizes.above:
        return DecisionReason.ABOVE
    if limit is None:
        return DecisionReason.UNKNOWN_WINDOW if sizes.above is None else DecisionReason.BELOW
    return DecisionReason.LIMIT if sizes.used > limit else DecisionReason.BELOW
