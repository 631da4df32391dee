"""What was decided before a request, and what is sent."""

from __future__ import annotations

from decimal import Decimal
from enum import StrEnum
from typing import Any

from msgspec import Struct


class DecisionKind(StrEnum):
    NONE = "none"
    """There was nothing to decide."""
    SEGMENT = "segment"
    """What came since the last decision was condensed; what was frozen before is sent as it was."""
    RENEWAL = "renewal"
    """The whole conversation was condensed anew, from the caller's messages."""
    DECLINED = "declined"
    """A try would not have paid, or saved too little."""
    PENDING = "pending"
    """The decision takes longer than the request may wait: it is taken with a later one."""
    FAILED = "failed"
    """An error came in between: what was frozen before is sent, with the new messages as they came."""


class Decision(Struct, frozen=True):
    """What was decided and why, in the model's tokens of the messages.

    `pays_after` are the requests after which it has paid for what it rewrote, None where nothing was rewritten. Where a
    try was declined, as many tokens are left as there were.
    """

    kind: DecisionKind = DecisionKind.NONE
    reason: str = ""
    tokens_before: int = 0
    tokens_after: int = 0
    pays_after: Decimal | None = None

    @property
    def is_change(self) -> bool:
        """Whether something is sent otherwise than in the request before."""
        return self.kind in (DecisionKind.SEGMENT, DecisionKind.RENEWAL)

    def left_of(self, used: int) -> int:
        """What it leaves of so many tokens in use, as the API counts them.

        Where those are fewer than ours, so are those that it saves; where they are more, the others are besides.
        """
        if not self.is_change or not self.tokens_before:
            return used
        saved = (self.tokens_before - self.tokens_after) * min(1.0, used / self.tokens_before)
        return max(0, used - round(saved))


class CacheGuess(Struct, frozen=True):
    """The part that a provider's cache may hold of the messages as they came: none where `is_cold`, else all but about
    `fresh` of the model's tokens. `goes_on`: they begin with all of the request before, which went through here."""

    is_cold: bool = False
    fresh: int = 0
    goes_on: bool = False


class Fitted(Struct, frozen=True):
    """What to send out: `messages`, of which the first `frozen` will be the same until the next decision.

    They stand for the first `covered` messages that were given, which had `saved` tokens more. `tokens` is about what
    the request takes, system prompt and tools included as far as they are known. `warning` is a sentence where the
    state cannot be used, from then on with each request: what is frozen is lost then with the process. `cache` says
    what the provider may still hold.
    """

    messages: list[Any]
    decision: Decision
    frozen: int
    covered: int
    tokens: int
    saved: int = 0
    warning: str = ""
    cache: CacheGuess = CacheGuess()
