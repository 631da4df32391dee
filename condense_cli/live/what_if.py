"""Compute what the proxy would have cost on the recorded requests of a session."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from itertools import groupby
from typing import Final

from ..core.transcript import Transcript
from ..core.values import STANDING_ROLES
from ..formats.requests import recorded_requests
from ..money.bill import CacheRules, PromptCache, dollars
from ..report.history import WhatIf
from ..tokens.counting import Counter
from ..tokens.factor import Factor
from ..window.use import overhead_of
from .conversation import Live
from .replaying import MARK, BlockSizes, ClientRequest, answers_in, api_messages, as_marked

POLICY: Final = "economic"
_SECONDS: Final = 20.0
"""Between requests if the file has no times."""
_SYSTEM: Final = [{"type": "text", "text": "system", **MARK}]


def what_if(transcript: Transcript, count: Counter, factor: Factor) -> WhatIf:
    """Bill the requests of a transcript as they were sent and as the proxy would have sent them.

    Raises CondenseError if they cannot be sent again.
    """
    rules = CacheRules.of(transcript.model, for_an_hour=transcript.lives_hour)
    beside, _ = overhead_of(transcript, count, factor)
    standing = sum(count.message(message) for message in transcript.messages if message.role in STANDING_ROLES)
    beside += factor.shown(standing)  # Anthropic's messages have none of these.
    caches, sizes = [PromptCache(rules, beside) for _ in range(2)], BlockSizes(factor.value)
    live = Live(policy=POLICY, format="anthropic", cache_life=rules.life)
    tokens, paid, requests, decisions = [0, 0], [Decimal(0), Decimal(0)], 0, 0
    used = None
    for request in client_requests(transcript):
        fitted = live.fit(request.messages, usage=used, now=request.at, model=request.model, system=_SYSTEM)
        requests += 1
        decisions += fitted.decision.is_change
        for number, messages in enumerate((request.messages, fitted.messages)):
            billed = caches[number].bill(sizes.pieces(messages), request.at, request.model)
            tokens[number] += billed.tokens
            paid[number] += dollars(billed, request.model, request.at) or 0
            used = billed.tokens
    return WhatIf(POLICY, requests, decisions, tokens[0], tokens[1], paid[0], paid[1])


def client_requests(transcript: Transcript) -> Iterator[ClientRequest]:
    """Yield the recorded requests in the form of Anthropic's API. Raises CondenseError if there is none."""
    now = 0.0
    for _, some in groupby(recorded_requests(transcript), key=lambda each: id(each.messages)):
        recorded = [*some]
        messages, taken_over = recorded[0].messages, recorded[0].taken_over
        before = api_messages(transcript, messages[:taken_over])
        whole = [*before, *api_messages(transcript, messages[taken_over:])]
        # As many answers, but for those that have no form there.
        for position, one in zip(answers_in(whole, len(before)), recorded, strict=False):
            now = now + _SECONDS if one.at is None else max(now, one.at)
            yield ClientRequest(position, as_marked(whole[:position]), now, one.model or "")
