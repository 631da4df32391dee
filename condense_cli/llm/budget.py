"""A limit in money and tokens that no call may cross, whatever it turns out to use."""

from __future__ import annotations

from decimal import Decimal

from msgspec import Struct


class Worst(Struct, frozen=True):
    """The most that a call can use: tokens read and written, and dollars (None: the price is not known)."""

    tokens: int
    cost: Decimal | None


class Budget:
    """Counts what calls have used and what those under way may still use. One budget serves a whole run.

    A call is reserved with its worst case when it starts, and settled with what it used when it ends. Where that
    is not known, the worst case is taken as used.
    """

    def __init__(self, max_cost: Decimal | None = None, max_tokens: int | None = None) -> None:
        self.max_cost = max_cost
        self.max_tokens = max_tokens
        self._cost = Decimal(0)
        self._tokens = 0

    def covers(self, worst: Worst) -> bool:
        """Whether a call with that worst case may start."""
        if self.max_tokens is not None and self._tokens + worst.tokens > self.max_tokens:
            return False
        return self.max_cost is None or (worst.cost is not None and self._cost + worst.cost <= self.max_cost)

    def reserve(self, worst: Worst) -> None:
        self._tokens += worst.tokens
        self._cost += worst.cost or 0

    def settle(self, worst: Worst, tokens: int | None, cost: Decimal | None) -> None:
        """Put what a call used in the place of its worst case; None is unknown, and the worst case stays."""
        if tokens is not None:
            self._tokens += tokens - worst.tokens
        if cost is not None:
            self._cost += cost - (worst.cost or 0)
