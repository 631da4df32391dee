"""What a run of the proxy did, in memory alone: sums, the last decisions with their reasons, and its own faults."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from decimal import Decimal
from typing import Final

from msgspec import Struct

from ..core.wording import plural
from ..live.deciding import Decision, DecisionKind
from .savings import Sums

_LAST: Final = 50


class Decided(Struct, frozen=True):
    """A decision: when, in which conversation and for which model."""

    at: float
    conversation: str
    model: str
    decision: Decision

    def __str__(self) -> str:
        decision = self.decision
        words = f"{self.conversation} {self.model}: {decision.reason}"
        if decision.is_change:
            words += f"; {decision.tokens_before:,} → {decision.tokens_after:,} tokens"
        return words


class Fault(Struct, frozen=True):
    """Something that the proxy itself could not do."""

    at: float
    words: str


class Record:
    """`say` is told of each decision that changes something, and of each fault."""

    def __init__(self, say: Callable[[str], None] | None = None) -> None:
        self.sums = Sums()
        self.decisions: deque[Decided] = deque(maxlen=_LAST)
        self.faults: deque[Fault] = deque(maxlen=_LAST)
        self.fault_count = 0
        self._say = say or (lambda _: None)

    def decided(self, decided: Decided) -> None:
        if decided.decision.kind is not DecisionKind.NONE:
            self.decisions.append(decided)
        if decided.decision.is_change:
            self._say(str(decided))

    def failed(self, at: float, words: str) -> None:
        self.faults.append(Fault(at, words))
        self.fault_count += 1
        self._say(words)


def summary(record: Record, conversations: int, *, watches: bool) -> str:
    """The run in one line."""
    sums = record.sums
    if not sums.requests:
        return "no request with a conversation has come through"
    came = sums.sent + (0 if watches else sums.saved)
    share = f" ({sums.saved / came:.0%})" if came else ""
    would = "would have saved" if watches else "saved"
    words = (
        f"{plural(sums.requests, 'request')} in {plural(conversations, 'conversation')}; "
        f"{would} {sums.saved:,} of {came:,} input tokens{share}"
    )
    if sums.saved and sums.money is not None:
        words += f", {money_words(sums.money)}"
    return words + (f"; {plural(record.fault_count, 'fault')}" if record.fault_count else "")


def money_words(money: Decimal) -> str:
    """Dollars saved; what was spent in addition is told as that."""
    return f"about ${money:.2f}" if money >= 0 else f"so far at an extra ${-money:.2f}"
