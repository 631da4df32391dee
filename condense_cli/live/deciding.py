"""Decide before a request: whether a try is due, what it brings, and whether it pays for the cache that it rewrites."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from decimal import Decimal
from enum import StrEnum
from functools import cache
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from ..money.economics import Rates
from ..money.prices import ANTHROPIC_WRITE_1H, ANTHROPIC_WRITE_5M, context_window, price_of
from ..tokens.factor import typical_of
from ..tokens.models import bare_name
from ..window.decision import RESERVED_TOKENS, limit_of
from .freezing import FreezeSettings, NewSegments, next_segment
from .policies import GROWTH, SMALL, Moment, Outcome, Policy, Share, break_even, stated_limit
from .requests import Request, Segments, end_of


class DecisionKind(StrEnum):
    NONE = "none"
    """Nothing was due."""
    SEGMENT = "segment"
    """Messages since the last decision were condensed; those frozen before are sent as they were."""
    RENEWAL = "renewal"
    """The whole conversation was condensed anew, from the caller's messages."""
    DECLINED = "declined"
    """A try would not have paid, or saved too little."""
    PENDING = "pending"
    """The decision takes longer than the request may wait, and applies to a later one."""
    FAILED = "failed"
    """An error occurred: the frozen messages are sent, with the new ones as they came."""


class Decision(Struct, frozen=True):
    """A decision and its reason; tokens are the model's, of the messages.

    `pays_after` is the number of requests until it has paid for what it rewrote; None if it rewrote nothing. A
    declined try leaves as many tokens as there were.
    """

    kind: DecisionKind = DecisionKind.NONE
    reason: str = ""
    tokens_before: int = 0
    tokens_after: int = 0
    pays_after: Decimal | None = None

    @property
    def is_change(self) -> bool:
        """True if messages are sent in another form than in the request before."""
        return self.kind in (DecisionKind.SEGMENT, DecisionKind.RENEWAL)

    def tokens_left(self, used: int) -> int:
        """Estimate the tokens in use after it, in the API's count.

        If the API counts fewer than we do, it also saves fewer; if it counts more, the rest is beside the
        messages.
        """
        if not self.is_change or not self.tokens_before:
            return used
        saved = (self.tokens_before - self.tokens_after) * min(1.0, used / self.tokens_before)
        return max(0, used - round(saved))


class CacheGuess(Struct, frozen=True):
    """Estimate of what a provider's cache holds of the messages as they came: nothing if `is_cold`, else all but
    about `fresh` tokens (the model's). `goes_on`: they begin with all of the request before, which went through
    here."""

    is_cold: bool = False
    fresh: int = 0
    goes_on: bool = False


class Fitted(Struct, frozen=True):
    """Messages to send; the first `frozen` stay the same until the next decision.

    Those replace the first `covered` messages given, which had `saved` more tokens. `tokens` is about the size of
    the request, with system prompt and tools as far as they are known. `warning` is a sentence, on every request,
    once the state cannot be used: frozen messages are then lost with the process. `cache` estimates what the
    provider still holds.
    """

    messages: list[Any]
    decision: Decision
    frozen: int
    covered: int
    tokens: int
    saved: int = 0
    warning: str = ""
    cache: CacheGuess = CacheGuess()


_READ: Final = Decimal("0.1")
"""Anthropic's price of reading, relative to input; used, like that of writing, for models without a price."""


@cache
def window_of(model: str | None) -> int | None:
    """Look up a model's context window in tokens; None if unknown."""
    return context_window(model)


def rates_of(model: str | None, now: float, *, is_long_lived: bool = False) -> Rates:
    """Return dollars per token for writing and reading the cache at a time; without a price, usual rates relative
    to input.

    `is_long_lived`: entries live for an hour instead of five minutes.
    """
    return _rates_on(model and bare_name(model), datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%d"), is_long_lived)


@cache
def _rates_on(model: str | None, day: str, is_long_lived: bool) -> Rates:
    price = price_of(model, datetime.fromisoformat(day).replace(tzinfo=UTC), lives_hour=is_long_lived)
    found = None if price is None else Rates.of(price)
    if found is None or found.write is None:
        return Rates(Decimal(ANTHROPIC_WRITE_1H) if is_long_lived else ANTHROPIC_WRITE_5M, _READ)
    return found


class Attempt(Struct, frozen=True):
    """A try: all messages anew (`renews`), or those since the last segment; `target` is in tokens of the whole
    conversation."""

    request: Request
    segments: Segments
    means: FreezeSettings
    format: str | None
    model: str | None
    target: int | None
    renews: bool

    def run(self) -> NewSegments | str:
        """Run it; return the segments, or the reason why there are none."""
        segments = () if self.renews else self.segments
        format_name = self.segments[-1].format if self.segments else self.format
        return next_segment(self.request, segments, self.means, format_name, self.model, self.target)

    def is_good_for(self, later: Attempt) -> bool:
        """Check if its outcome can serve a later try in the same conversation."""
        length = len(self.request)
        return (
            (self.renews, self.target, self.model) == (later.renews, later.target, later.model)
            and self.segments == later.segments
            and length <= len(later.request)
            and self.request.chain(length) == later.request.chain(length)
        )


class AttemptAhead:
    """An attempt in a thread of its own, which holds the `turn` while it works."""

    def __init__(self, attempt: Attempt, turn: AbstractContextManager[Any]) -> None:
        self.attempt = attempt
        self._turn = turn
        self._done = threading.Event()
        self._found: NewSegments | str | Exception | None = None
        threading.Thread(target=self._run, name="condense-live", daemon=True).start()

    def _run(self) -> None:
        try:
            with self._turn:
                self._found = self.attempt.run()
        except Exception as error:
            self._found = error
        self._done.set()

    def result(self, seconds: float | None) -> NewSegments | str | None:
        """Return the outcome; None if it is not done after `seconds`. Raises what the attempt raised."""
        if not self._done.wait(seconds):
            return None
        if isinstance(self._found, Exception):
            raise self._found
        return self._found


_TOKENS_PER_CHARACTER: Final = 0.3
"""Bare tokens per character, until something was counted."""

_ROOM: Final = 0.6
"""Part of the window's limit to bring the conversation to if a segment alone does not help enough."""

_STATED_ROOM: Final = 0.75
"""The same part of a limit that a policy states: it may be exceeded for one request, and files at work are cut for it.
"""

_ENOUGH: Final = 0.9


class Waiting(Struct, frozen=True):
    """Seconds that a request waits for a decision (None: until it is there), also if nothing is cached
    (`cold_timeout`), and the part of a threshold at which to prepare one in the background (None: never)."""

    timeout: float | None = None
    cold_timeout: float | None = None
    ahead: float | None = None

    @property
    def is_beside(self) -> bool:
        return self.timeout is not None or self.ahead is not None


class DecisionRequest(Struct, frozen=True):
    """A request to decide about. `beside` is the number of tokens sent beside the messages."""

    request: Request
    segments: Segments
    moment: Moment
    model: str | None
    now: float
    beside: int

    @property
    def limit(self) -> int | None:
        """Tokens above which `condense check` says yes."""
        window = self.moment.window
        return None if window is None else limit_of(window, min(RESERVED_TOKENS, window // 10))

    @property
    def is_over(self) -> bool:
        return self.limit is not None and self.moment.used > self.limit

    def room(self, limit: int) -> int:
        """Convert a limit of the API's to tokens for the messages, in our count."""
        goal = (_ROOM if self.is_over else _STATED_ROOM) * limit
        if self.beside >= 0:
            return max(1, int(goal) - self.beside)
        ours = self.moment.used - self.beside  # The API counts fewer tokens than we do.
        return max(1, int(goal * ours / max(1, self.moment.used)))

    @property
    def lacks_window(self) -> bool:
        """True if the window matters and is unknown."""
        return self.moment.window is None and self.moment.used > SMALL

    @property
    def rewrites_nothing(self) -> bool:
        """True if all of it is written to the cache anyway."""
        return self.moment.is_cold or self.moment.fresh == self.moment.suffix

    @property
    def is_too_large(self) -> bool:
        """True if the API would refuse it unchanged."""
        return self.moment.window is not None and self.moment.used > self.moment.window


class _Way(Struct, frozen=True):
    """A way to condense: messages since the last decision, or all anew (`renews`), optionally down to `target`
    tokens."""

    renews: bool
    target: int | None = None

    @property
    def said(self) -> str:
        return ", cut further to fit" if self.target is not None else ", from the start" if self.renews else ""


class Decider:
    """Decide for one conversation. Remembers tokens per character, and when the last try failed.

    `turn` is entered while an attempt runs.
    """

    def __init__(
        self,
        means: FreezeSettings,
        policy: Policy,
        format_name: str | None,
        waiting: Waiting,
        turn: AbstractContextManager[Any],
        *,
        is_long_lived: bool,
    ) -> None:
        self._means, self._policy, self._format, self._waiting = means, policy, format_name, waiting
        self._turn = turn
        self.is_long_lived = is_long_lived
        self._ratio = _TOKENS_PER_CHARACTER
        self._factor = 1.0
        self._retry_at = 0.0
        self._failed_over = False
        self._renew_at = 0.0
        self._work: AttemptAhead | None = None

    def set_model(self, model: str | None) -> None:
        """Set the model whose tokens are reported."""
        self._factor = typical_of(model)

    def tokens(self, characters: int) -> int:
        return round(characters * self._ratio * self._factor)

    def older(self, request: Request, segments: Segments) -> int:
        """Estimate the characters between the frozen part and the newest turns."""
        return request.characters(end_of(segments), max(0, len(request) - self._means.keep_recent))

    def try_again(self) -> None:
        """Allow a try at once: this is another conversation."""
        self._retry_at = 0.0

    def give_up(self, request: Request, segments: Segments, *, is_over: bool = True) -> None:
        """Allow no try until the conversation has grown, or is over the limit, unless it `is_over` already."""
        self._retry_at = self.older(request, segments) * GROWTH
        self._failed_over = is_over

    def decided(self, asked: DecisionRequest) -> tuple[Segments, Decision]:
        """Return the segments to send, and the decision. Raises any error of a try."""
        why = self._due(asked)
        waits = self.older(asked.request, asked.segments) < self._retry_at and (self._failed_over or not asked.is_over)
        if isinstance(self._policy, Share) and asked.lacks_window and not waits:
            self.give_up(asked.request, asked.segments)
            return asked.segments, Decision(DecisionKind.FAILED, _unknown_window(asked.model))
        if not why or (waits and not asked.moment.is_cold and not asked.is_too_large):
            self._prepare(asked)
            return asked.segments, Decision()
        way = self._under_way(asked) or _Way(self._renews(asked))
        best, decision = self._tried(asked, why, way)
        best, decision = self._brought_below(asked, why, way, best, decision)
        if decision.is_change:
            self._retry_at = 0.0
        elif decision.kind is not DecisionKind.PENDING:
            self.give_up(asked.request, asked.segments, is_over=asked.is_over)
        return best, decision

    def _due(self, asked: DecisionRequest) -> str:
        if asked.is_over:
            return f"{asked.moment.used:,} tokens are in use; the limit is {asked.limit:,}"
        return self._policy.due(asked.moment)

    def _renews(self, asked: DecisionRequest) -> bool:
        return bool(asked.segments) and (asked.moment.is_cold or self._policy.renews)

    def _brought_below(
        self, asked: DecisionRequest, why: str, tried: _Way, best: Segments, decision: Decision
    ) -> tuple[Segments, Decision]:
        """Return the decision, or a stronger one if it leaves the conversation above a limit."""
        used = asked.moment.used
        limit = asked.limit if asked.is_over else stated_limit(self._policy, asked.moment)
        if limit is None or tried.target is not None or not (asked.is_over or len(asked.request) >= self._renew_at):
            return best, decision
        if not asked.is_over and asked.beside > limit / 2:  # System prompt and tools leave too little room.
            return best, decision
        ways = [_Way(True, asked.room(limit))]
        if asked.segments and not asked.is_over and not tried.renews:
            ways.insert(0, _Way(True))
        enough = _ENOUGH * limit if asked.is_over else limit
        for way in ways:
            if decision.kind is DecisionKind.PENDING or decision.tokens_left(used) <= enough:
                return best, decision
            other, smaller = self._tried(asked, why, way)
            if smaller.kind is DecisionKind.PENDING or _saved(smaller) > _saved(decision):
                best, decision = other, smaller
        if decision.tokens_left(used) > limit:  # Too much stays: another try soon would only cost the cache.
            self._renew_at = len(asked.request) * GROWTH
        return best, decision

    def _under_way(self, asked: DecisionRequest) -> _Way | None:
        """Return the way of a background try for a limit, so that it comes to an end."""
        if self._work is None or not self._work.attempt.renews:
            return None
        way = _Way(True, self._work.attempt.target)
        return way if self._work.attempt.is_good_for(self._attempt(asked, way)) else None

    def _prepare(self, asked: DecisionRequest) -> None:
        """Start a try that is due soon."""
        part = self._waiting.ahead
        if part is None or (self._work is not None and self._work.result(0) is None):
            return
        moment = asked.moment
        later = replace(moment, used=int(moment.used / part), older=int(moment.older / part))
        if not self._due(replace(asked, moment=later)):
            return
        attempt = self._attempt(asked, _Way(self._renews(asked)))
        work = self._work
        if work is not None and work.attempt.is_good_for(attempt):
            before = self.older(work.attempt.request, work.attempt.segments)
            if self.older(asked.request, asked.segments) < before * GROWTH:
                return
        self._work = AttemptAhead(attempt, self._turn)

    def _attempt(self, asked: DecisionRequest, way: _Way) -> Attempt:
        return Attempt(asked.request, asked.segments, self._means, self._format, asked.model, way.target, way.renews)

    def _tried(self, asked: DecisionRequest, why: str, way: _Way) -> tuple[Segments, Decision]:
        """Try one way; return the new segments with their decision, or the old ones with the reason.

        When the window is nearly full, any saving is taken.
        """
        request, segments, moment = asked.request, asked.segments, asked.moment
        why += way.said if segments or way.target is not None else ""
        seconds = self._waiting.cold_timeout if asked.rewrites_nothing else self._waiting.timeout
        step = self._step(self._attempt(asked, way), None if asked.is_too_large else seconds)
        if step is None:
            return segments, Decision(DecisionKind.PENDING, f"{why}; that takes longer than {seconds:g} s")
        if isinstance(step, str):
            sent_now = self._sent_now(asked)
            return segments, Decision(DecisionKind.DECLINED, f"{why}; {step}", sent_now, sent_now)
        self._ratio = step.original / max(1, step.characters) / self._factor
        kind = DecisionKind.RENEWAL if way.renews and segments else DecisionKind.SEGMENT
        since = self.tokens(request.characters(step.segments[-1].known))
        before = self._sent_now(asked) if kind is DecisionKind.RENEWAL else step.before + since
        outcome = Outcome(before, step.after + since, step.prefix)
        turns = break_even(outcome, moment, rates_of(asked.model, asked.now, is_long_lived=self.is_long_lived))
        decision = Decision(kind, why, outcome.before, outcome.after, turns)
        if outcome.saved > 0 and (asked.is_over or self._policy.pays(outcome, turns, moment)):
            return step.segments, decision
        saved = f"it would save {max(0, outcome.saved):,} tokens and pay after {_requests(turns)}"
        return segments, Decision(DecisionKind.DECLINED, f"{why}; {saved}", outcome.before, outcome.before, turns)

    def _sent_now(self, asked: DecisionRequest) -> int:
        """Count the tokens that are sent without a decision."""
        rest = self.tokens(asked.request.characters(end_of(asked.segments)))
        return sum(segment.tokens for segment in asked.segments) + rest

    def _step(self, attempt: Attempt, seconds: float | None) -> NewSegments | str | None:
        """Return the outcome of an attempt, or of a prepared one; None if it takes longer than `seconds`."""
        if not self._waiting.is_beside:
            with self._turn:
                return attempt.run()
        work = self._work
        if work is None or not work.attempt.is_good_for(attempt):
            work = self._work = AttemptAhead(attempt, self._turn)
        try:
            found = work.result(seconds)
        except Exception:
            self._work = None
            raise
        if found is None:
            return None
        self._work = None
        if isinstance(found, str):
            is_old = len(work.attempt.request) < len(attempt.request)
            return self._step(attempt, seconds) if is_old else found
        taken = replace(found.segments[-1], taken=len(attempt.request))
        return replace(found, segments=(*found.segments[:-1], taken))


def _saved(decision: Decision) -> int:
    return decision.tokens_before - decision.tokens_after if decision.is_change else 0


def _unknown_window(model: str | None) -> str:
    if model is None:
        return "the context window is not known; give model or context_window, or the policy tokens:60000"
    return f"the context window of {model} is not known; give context_window, or the policy tokens:60000"


def _requests(turns: Decimal) -> str:
    return f"{turns:.0f} requests" if turns.is_finite() else "an unknown number of requests"
