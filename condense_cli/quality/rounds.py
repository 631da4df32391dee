"""Work and condensing by turns: what is left of a conversation that was condensed again and again as it grew."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Final

from msgspec.structs import replace

from ..core.transcript import Message, cut_before
from ..lossless.decode import decode
from .cases import Case

ROUNDS: Final = 5


def after_rounds(case: Case, condense: Callable[[Case], Sequence[Message]], budget: float | None) -> list[Message]:
    """What is left of the part before a cut after five rounds: what is left so far is condensed with what came since.

    With a `budget`, the share of the tokens before the cut that all rounds condense to, the first begins when the
    conversation has reached it. All rounds bring the same number of messages.
    """
    messages = case.before.messages
    start = _reached(case, budget) if budget else 0
    kept: Sequence[Message] = messages[:start]
    for stop in _stops(messages, start):
        before = replace(case.before, messages=decode((*kept, *messages[start:stop])).messages)
        kept = condense(Case(before, case.questions, case.count, case.at, whole=case.tokens))
        start = stop
    return list(kept)


def _reached(case: Case, budget: float) -> int:
    """How many messages there are when a share of the tokens is reached."""
    messages = case.before.messages
    sizes = accumulate(map(case.count.message, messages))
    return cut_before(messages, sum(size <= budget * case.tokens for size in sizes))


def _stops(messages: Sequence[Message], start: int) -> list[int]:
    """Where rounds end, each behind some messages that are new."""
    rest = len(messages) - start
    stops = (cut_before(messages, start + rest * number // ROUNDS) for number in range(1, ROUNDS + 1))
    return sorted({stop for stop in stops if stop > start})
