"""Live: before each request of a conversation, the messages to send out."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct

from .. import __version__, api
from ..config.models import Configuration
from ..passes.summaries import Summarizer
from ..providers.decision import RESERVED_TOKENS, limit_of
from .breakpoints import BESIDE, marks_in, with_breakpoints
from .decisions import Decision, Fitted, Kind
from .freezing import Means, usual_configuration
from .money import rates_of, window_of
from .policies import GROWTH, Moment, Outcome, Policy, break_even, policy_named
from .requests import Known, Request, as_bytes, digest_of
from .segments import Segments, end_of, live_part, matching, sent_for
from .state import STATE_ERRORS, Memory, State, StateFile
from .steps import again, next_segment, renewed
from .usage import tokens_of

CACHE_LIFE: Final = 300.0
"""Seconds after which a provider's cache forgets what nobody asked for."""

KEEP_RECENT: Final = 5
"""Turns at the end that a decision leaves as they are."""

_TOKENS_PER_CHARACTER: Final = 0.3
"""Until something was counted."""

_SMALL: Final = 8_000
"""Tokens that every window holds: below, nobody asks how large it is."""

_ROOM: Final = 0.6
"""At the limit the conversation is brought to this part of it where a segment alone does not help enough."""

_ENOUGH: Final = 0.9


class _Sent(Struct, frozen=True):
    """The request before this one."""

    known: list[Known]
    at: float
    model: str | None
    beside: str


class Live:
    """One conversation that goes on. Several may share a `state`.

    `configuration` or `preset` is as for `condense_cli.condense`; without either it is `balanced` with a `min_worth` of
    0.4, as a cut has to pay for the cache that it rewrites. `policy` says when to decide: `economic` (the
    default: when it pays within ten requests), `economic:20`, `share:0.6` (of the context window), `tokens:60000`, or
    a value of `condense_cli.live.policies`; each also decides before the window is full. `state` is a path for what
    has to survive a restart, a `StateFile`, or None for memory. `keep_recent` turns at the end stay whole.
    `cache_life` are the seconds after which the provider's cache is cold. A `turn` is entered while a decision is
    worked out, so that many conversations take turns.

    Raises ConfigurationError and UsageError for what cannot be; `fit` raises nothing.
    """

    def __init__(
        self,
        configuration: Configuration | Mapping[str, Any] | None = None,
        *,
        preset: str | None = None,
        model: str | None = None,
        policy: str | Policy = "economic",
        state: str | Path | State | None = None,
        keep_recent: int = KEEP_RECENT,
        context_window: int | None = None,
        cache_life: float = CACHE_LIFE,
        format: str | None = None,
        summarizer: Summarizer | None = None,
        turn: AbstractContextManager[Any] | None = None,
    ) -> None:
        if configuration is None and preset is None:
            configuration = usual_configuration()
        self._means = Means(api.configuration_from(configuration, preset), max(1, keep_recent), summarizer)
        self._model = model
        self._policy = policy_named(policy) if isinstance(policy, str) else policy
        self._state = StateFile(state) if isinstance(state, str | Path) else state or Memory()
        self._window = context_window
        self._life = cache_life
        self._format = format
        self._turn = turn or nullcontext()
        self._fingerprint = _fingerprint(self._means)
        self._sent: _Sent | None = None
        self._ratio = _TOKENS_PER_CHARACTER
        self._beside = 0
        self._retry_at = 0.0

    def fit(
        self,
        messages: Sequence[Any] | str | Request,
        *,
        usage: Any = None,
        now: float | None = None,
        model: str | None = None,
        system: Any = None,
        tools: Any = None,
        decide: bool = True,
    ) -> Fitted:
        """What to send out in place of the whole history.

        `usage` is what the API reported for the request before, `now` the time in seconds, `model` the one of this
        request. `system` and `tools` are sent beside the messages; they are only looked at: a cache is cold when they
        changed, and the cache marks in them count. Unless it may `decide`, what was decided before is sent. `messages`
        may be a `Request` of them already.
        """
        messages = [{"role": "user", "content": messages}] if isinstance(messages, str) else messages
        try:
            if isinstance(messages, Request):
                request = messages
            else:
                request = Request(messages, self._sent.known if self._sent else ())
            beside = digest_of(as_bytes([system, tools])) if system is not None or tools is not None else ""
        except Exception as error:
            given = messages.given if isinstance(messages, Request) else messages
            return Fitted(list(given), Decision(Kind.FAILED, _said(error)), 0, 0, 0)
        now = time.time() if now is None else now
        model = model or self._model
        segments, over, decision = self._found(request)
        before = segments
        moment = self._moment(request, segments, usage, now, model, beside)
        if decide and decision.kind is Kind.NONE:
            try:
                segments, decision = self._decided(request, segments, moment, model, now)
            except Exception as error:
                self._retry_at = self._older(request, segments) * GROWTH
                decision = Decision(Kind.FAILED, _said(error))
        self._sent = _Sent(request.known, now, model, beside)
        frozen = sent_for(segments)
        sent = frozen + list(live_part(request, segments, over if not decision.is_change else None).messages)
        if segments and segments[-1].format == "anthropic":
            marks = marks_in(system) + marks_in(tools) if beside else BESIDE
            cached = sum(segment.sent for segment in before) if decision.kind is Kind.SEGMENT else 0
            sent = with_breakpoints(sent, [cached, len(frozen)] if cached else [len(frozen)], marks)
        tokens = decision.tokens_after + self._beside if decision.tokens_after and decision.is_change else moment.used
        return Fitted(sent, decision, len(frozen), end_of(segments), tokens, sum(each.saved for each in segments))

    def _found(self, request: Request) -> tuple[Segments, int | None, Decision]:
        """The segments that apply; from where on thinking was made over others; and whether that is a decision."""
        try:
            known = matching(request, self._state.lists(self._fingerprint))
        except STATE_ERRORS as error:
            self._state = Memory()
            return (), None, Decision(Kind.FAILED, f"the state cannot be used ({error})")
        try:
            segments, difference = again(request, known, self._means)
        except Exception as error:
            return (), _thought_over(known), Decision(Kind.FAILED, _said(error))
        if segments and segments != known[: len(segments)]:
            self._remember(segments if difference else (*segments, *known[len(segments) :]), known)
        over = _thought_over(known[len(segments) :])
        if difference:
            return segments, over, Decision(Kind.RENEWAL, difference)
        return segments, over, Decision()

    def _moment(
        self, request: Request, segments: Segments, usage: Any, now: float, model: str | None, beside: str
    ) -> Moment:
        suffix = self._tokens(request.characters(end_of(segments)))
        older = self._tokens(self._older(request, segments))
        used = sum(segment.tokens for segment in segments) + suffix
        before = self._sent
        fresh = suffix
        is_cold = False
        if before is not None:
            is_cold = now - before.at > self._life or model != before.model or beside != before.beside
            if not request.agrees(before.known):
                self._retry_at = 0.0
            else:
                fresh = self._tokens(request.characters(len(before.known)))
                if usage is not None and before.known:
                    reported = _reported(usage) + self._tokens(request.characters(len(before.known) + 1))
                    self._beside = max(0, reported - used) if reported else self._beside
        used += self._beside
        window = self._window or (window_of(model) if used > _SMALL else None)
        return Moment(used, suffix, older, min(fresh, suffix), request.answers, window, is_cold)

    def _older(self, request: Request, segments: Segments) -> int:
        """Characters between the frozen part and the newest turns, about."""
        return request.characters(end_of(segments), max(0, len(request) - self._means.keep_recent))

    def _tokens(self, characters: int) -> int:
        return round(characters * self._ratio)

    def _decided(
        self, request: Request, segments: Segments, moment: Moment, model: str | None, now: float
    ) -> tuple[Segments, Decision]:
        limit = None if moment.window is None else limit_of(moment.window, min(RESERVED_TOKENS, moment.window // 10))
        is_over = limit is not None and moment.used > limit
        why = f"{moment.used:,} tokens are in use, and the limit is {limit:,}" if is_over else self._policy.due(moment)
        if not why or (self._older(request, segments) < self._retry_at and not moment.is_cold):
            return segments, Decision()
        renews = bool(segments) and (moment.is_cold or self._policy.renews)
        with self._turn:
            best, decision = self._tried(request, segments, moment, model, now, why, renews=renews, must=is_over)
            if is_over and limit is not None and moment.used - _saved(decision) > _ENOUGH * limit:
                target = max(1, int(_ROOM * limit) - self._beside)
                other, smaller = self._tried(
                    request, segments, moment, model, now, why, renews=True, must=True, target=target
                )
                if _saved(smaller) > _saved(decision):
                    best, decision = other, smaller
        if not decision.is_change:
            self._retry_at = self._older(request, segments) * GROWTH
            return segments, decision
        self._retry_at = 0.0
        self._remember(best, () if decision.kind is Kind.RENEWAL else segments)
        return best, decision

    def _tried(
        self, request: Request, segments: Segments, moment: Moment, model: str | None, now: float, why: str,
        *, renews: bool, must: bool, target: int | None = None,
    ) -> tuple[Segments, Decision]:  # fmt: skip
        """One try: the new list and what it is, or the list as it is and why."""
        if renews:
            step = renewed(request, segments, self._means, self._format, model, target)
        else:
            step = next_segment(request, segments, self._means, self._format, model, target)
        if isinstance(step, str):
            return segments, Decision(Kind.DECLINED, f"{why}; {step}")
        self._ratio = step.original / max(1, step.characters)
        kind = Kind.RENEWAL if renews and segments else Kind.SEGMENT
        sent_now = sum(segment.tokens for segment in segments) + self._tokens(request.characters(end_of(segments)))
        outcome = Outcome(sent_now if kind is Kind.RENEWAL else step.before, step.after, step.prefix)
        turns = break_even(outcome, moment, rates_of(model, now))
        decision = Decision(kind, why, outcome.before, outcome.after, turns)
        if outcome.saved > 0 and (must or self._policy.pays(outcome, turns, moment)):
            return step.segments, decision
        saved = f"it would save {max(0, outcome.saved):,} tokens, and pay after {_requests(turns)}"
        return segments, Decision(Kind.DECLINED, f"{why}; {saved}", outcome.before, outcome.before, turns)

    def _remember(self, segments: Segments, continues: Segments) -> None:
        try:
            self._state.remember(self._fingerprint, segments, continues)
        except STATE_ERRORS:  # What is frozen stays so while this process runs.
            lists = self._state.lists(self._fingerprint)
            self._state = Memory()
            for each in reversed((segments, *lists)):
                self._state.remember(self._fingerprint, each, ())


def _thought_over(lost: Segments) -> int | None:
    """From where on thinking was made over segments that are not sent, by a model that refuses it then."""
    return lost[0].known if lost and lost[0].drops_thinking else None


def _saved(decision: Decision) -> int:
    return decision.tokens_before - decision.tokens_after if decision.is_change else 0


def _requests(turns: Decimal) -> str:
    return f"{turns:.0f} requests" if turns.is_finite() else "no number of requests"


def _reported(usage: Any) -> int:
    try:
        return tokens_of(usage)
    except Exception:  # What an API reports is no reason to send nothing.
        return 0


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _fingerprint(means: Means) -> str:
    configuration = msgspec.json.encode(means.configuration)
    return digest_of(f"{__version__} {means.keep_recent} ".encode() + configuration)
