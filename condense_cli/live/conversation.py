"""Live: return the messages to send before each request of a conversation."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from .. import api
from ..config.models import Configuration
from ..core.arguments import (
    COUNT,
    NUMBER,
    POSITIVE,
    PRESET,
    SUMMARIZER,
    TEXT,
    ArgumentKind,
    having,
    is_number,
    with_arguments,
)
from ..core.version import __version__
from ..core.wording import nearest
from ..errors import UsageError
from ..passes.summaries import Summarizer
from .deciding import CacheGuess, Decider, Decision, DecisionKind, DecisionRequest, Fitted, Waiting, window_of
from .freezing import MESSAGE_FORMATS, FreezeSettings, recompute, usual_configuration
from .policies import SMALL, Moment, Policy, policy_named
from .requests import (
    BESIDE,
    WITH_BYTES,
    KnownMessage,
    Request,
    Segments,
    digest_beside,
    digest_of,
    end_of,
    has_bytes,
    last_marked,
    live_part,
    marks_in,
    matching,
    raws_for,
    sent_for,
    tokens_of,
    with_breakpoints,
    with_bytes,
)
from .state import STATE_ERRORS, LastRequest, Memory, State, StateFile

CACHE_LIFE: Final = 300.0
"""Seconds until a provider's cache drops unused entries."""

KEEP_RECENT: Final = 2
"""Newest messages that a decision leaves as they are. All of them are written to the cache anew."""

KEEP_READS: Final = 120
"""Messages within which a file that was read is likely to be edited."""

_LONG_LIFE: Final = 3_600.0
"""Seconds from which cache entries cost more to write."""

_NO_COUNT: Final = "usage holds no token counts; they were estimated"

_POLICY: Final = having("due pays", "Give a name such as economic:20, or a value of condense_cli.live.policies.")
_STATE: Final = having("lists remember requests sent", "Give a path, or a condense_cli.live.state.StateFile.")


class _Sent(Struct, frozen=True):
    """The previous request."""

    known: list[KnownMessage]
    last: LastRequest


class _Before(Struct, frozen=True):
    """Number of first messages shared with the request before. Without a known one (`last` is None) it is a guess.

    `goes_on`: the request contains all of the one before, which went through this process.
    """

    shared: int
    last: LastRequest | None = None
    goes_on: bool = False


class Live:
    """One running conversation. Several may share a `state`.

    `configuration` or `preset` is as for `condense_cli.condense`. The default is `balanced` with a `min_worth` of
    3, because a cut has to pay for the cache that it rewrites. `policy` says when to decide: `economic` (the
    default: if it pays within ten requests), `economic:20`, `share:0.6` (of the context window), `tokens:60000`, or
    a value of `condense_cli.live.policies`. Each also decides before the window is full. `state` is a path for what
    has to survive a restart, a `StateFile`, or None for memory. The newest `keep_recent` messages stay whole.
    Little is cut of files at work: what was written, and what was read in the last `keep_reads` messages and not
    edited since (default 120; 0 with a `configuration` or `preset` of yours). `cache_life` is the number of seconds
    after which the provider's cache is cold; from 3,600 on writing costs more. `turn` is entered while a decision
    is computed, so that many conversations take turns. With `raw`, frozen messages are `msgspec.Raw`, for callers
    that send JSON.

    `timeout` is the number of seconds that a request waits for a decision. A slower one goes on in the background
    and applies to a later request. With `ahead`, 0.8 say, it begins at this part of each threshold, so that no
    request waits. `cold_timeout` replaces `timeout` when nothing is cached and rewriting is free: after a pause, or
    for a conversation that is new here. Only a request that would not fit the window waits until the decision is
    there.

    Raises ConfigurationError and UsageError for invalid arguments; `fit` raises nothing for any list.
    """

    @with_arguments(
        preset=PRESET,
        policy=ArgumentKind(lambda value: isinstance(value, str) or _POLICY.fits(value), _POLICY.hint),
        state=ArgumentKind(lambda value: isinstance(value, str | Path) or _STATE.fits(value), _STATE.hint),
        model=TEXT,
        keep_recent=COUNT,
        keep_reads=COUNT,
        context_window=POSITIVE,
        cache_life=NUMBER,
        format=TEXT,
        summarizer=SUMMARIZER,
        timeout=NUMBER,
        cold_timeout=NUMBER,
        turn=having("__enter__ __exit__", "Give a lock, or another context manager."),
        ahead=ArgumentKind(
            lambda value: is_number(value) and 0 < value < 1, "Give a part of the threshold, such as 0.8."
        ),
    )
    def __init__(
        self,
        configuration: Configuration | Mapping[str, Any] | None = None,
        *,
        preset: str | None = None,
        model: str | None = None,
        policy: str | Policy = "economic",
        state: str | Path | State | None = None,
        keep_recent: int = KEEP_RECENT,
        keep_reads: int | None = None,
        context_window: int | None = None,
        cache_life: float = CACHE_LIFE,
        format: str | None = None,
        summarizer: Summarizer | None = None,
        timeout: float | None = None,
        cold_timeout: float | None = None,
        ahead: float | None = None,
        turn: AbstractContextManager[Any] | None = None,
        raw: bool = False,
    ) -> None:
        if configuration is None and preset is None:
            configuration = usual_configuration()
            keep_reads = KEEP_READS if keep_reads is None else keep_reads
        if summarizer is not None and (isinstance(state, str | Path) or _forgets(state)):
            raise UsageError(
                "Model summaries cannot be recomputed after a restart.", "Give state=StateFile(path, keep=True)."
            )
        if format is not None and format not in MESSAGE_FORMATS:
            near = nearest(format, MESSAGE_FORMATS)
            hint = f"Did you mean {near}?" if near else f"Choose {', '.join(MESSAGE_FORMATS)}."
            raise UsageError(f"format cannot be {format!r}.", hint)
        configuration = api.configuration_from(configuration, preset)
        self._means = FreezeSettings(configuration, max(1, keep_recent), summarizer, keep_reads or 0)
        self._model = model
        self._state = StateFile(state) if isinstance(state, str | Path) else state or Memory()
        self._window = context_window
        self._life = cache_life
        self._is_raw = raw
        self._fingerprint = _fingerprint(self._means)
        self._warning = ""
        self._sent: _Sent | None = None
        self._beside = 0
        self._decider = Decider(
            self._means,
            policy_named(policy) if isinstance(policy, str) else policy,
            format,
            Waiting(timeout, timeout if cold_timeout is None else cold_timeout, ahead),
            turn or nullcontext(),
            is_long_lived=cache_life >= _LONG_LIFE,
        )

    @property
    def cache_life(self) -> float:
        return self._life

    @cache_life.setter
    def cache_life(self, seconds: float) -> None:
        self._life = seconds
        self._decider.is_long_lived = seconds >= _LONG_LIFE

    @with_arguments(now=NUMBER, model=TEXT)
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
        """Return what to send in place of the whole history.

        `usage` is what the API reported for the request before, `now` the time in seconds, `model` that of this
        request. `system` and `tools` are sent beside the messages and only looked at: the cache is cold once
        they change, and their cache marks count. Without `decide`, the last decision is applied if that fits
        the window. `messages` may be a `Request` already. Raises UsageError if they are no list.
        """
        given = messages if isinstance(messages, Request) else _listed(messages)
        try:
            request = given if isinstance(given, Request) else Request(given, self._sent.known if self._sent else ())
            beside = digest_beside(system, tools)
        except Exception as error:
            return Fitted(
                [*(given.given if isinstance(given, Request) else given)],
                Decision(DecisionKind.FAILED, _said(error)),
                0,
                0,
                0,
            )
        now = time.time() if now is None else now
        model = model or self._model
        segments, over, decision = self._found(request)
        before = segments
        reported = 0 if usage is None else _reported(usage)
        known_before = self._before(request)
        moment = self._moment(request, segments, reported or 0, now, model, beside, known_before)
        asked = DecisionRequest(request, segments, moment, model, now, self._beside)
        # A request that is too large needs a decision, also without `decide` and after an error.
        if (decide and decision.kind is DecisionKind.NONE) or (asked.is_too_large and not decision.is_change):
            try:
                segments, decision = self._decider.decided(asked)
                if decision.is_change:
                    self._remember(segments, () if decision.kind is DecisionKind.RENEWAL else before)
            except Exception as error:
                self._decider.give_up(request, segments)
                decision = Decision(DecisionKind.FAILED, _said(error))
        self._note(request, now, model, beside)
        frozen = raws_for(segments) if self._is_raw else sent_for(segments)
        sent = frozen + list(live_part(request, segments, over if not decision.is_change else None).messages)
        format_name = segments[-1].format if segments else ""
        marks = marks_in(system) + marks_in(tools) if beside else BESIDE
        # Not every model of Bedrock takes marks: ours are added to those of the client.
        is_point = format_name == "bedrock-converse" and (last_marked(sent) is not None or bool(beside and marks))
        if format_name == "anthropic" or is_point:
            cached = sum(segment.sent for segment in before) if decision.kind is DecisionKind.SEGMENT else 0
            ends = [cached, len(frozen)] if cached else [len(frozen)]
            sent = with_breakpoints(sent, ends, marks, is_point=is_point)
        if format_name in WITH_BYTES and not self._is_raw and has_bytes(request.given):
            sent = with_bytes(sent)
        tokens = moment.used
        if decision.is_change and decision.tokens_after:
            tokens = decision.tokens_left(tokens) if self._beside else decision.tokens_after
            self._beside = tokens - decision.tokens_after
        if reported is None:
            decision = replace(decision, reason="; ".join(filter(None, (decision.reason, _NO_COUNT))))
        saved = sum(segment.saved for segment in segments)
        guess = CacheGuess(moment.is_cold, self._fresh(request, known_before), known_before.goes_on)
        return Fitted(sent, decision, len(frozen), end_of(segments), tokens, saved, self._warning, guess)

    def passed(
        self, request: Request, *, model: str | None = None, system: Any = None, tools: Any = None
    ) -> CacheGuess:
        """Note a request that is sent unchanged, and guess what the cache holds of it. Raises nothing."""
        now, model, beside = time.time(), model or self._model, digest_beside(system, tools)
        before = self._before(request)
        self._decider.set_model(model)
        guess = CacheGuess(self._is_cold(before, now, model, beside), self._fresh(request, before), before.goes_on)
        self._note(request, now, model, beside)
        return guess

    def _found(self, request: Request) -> tuple[Segments, int | None, Decision]:
        """Find the segments that apply, the message from which thinking refers to other segments, and any
        difference."""
        try:
            known = matching(request, self._state.lists(self._fingerprint))
        except STATE_ERRORS as error:
            self._go_on_in_memory(error)
            return (), None, Decision(DecisionKind.FAILED, self._warning)
        try:
            segments, difference = recompute(request, known, self._means)
        except Exception as error:
            return (), _thought_over(known), Decision(DecisionKind.FAILED, _said(error))
        if segments and segments != known[: len(segments)]:
            self._remember(segments if difference else (*segments, *known[len(segments) :]), known)
        over = _thought_over(known[len(segments) :])
        if difference:
            return segments, over, Decision(DecisionKind.RENEWAL, difference)
        return segments, over, Decision()

    def _moment(
        self, request: Request, segments: Segments, reported: int, now: float, model: str | None, beside: str,
        before: _Before,
    ) -> Moment:  # fmt: skip
        self._decider.set_model(model)
        tokens = self._decider.tokens
        suffix = tokens(request.characters(end_of(segments)))
        older = tokens(self._decider.older(request, segments))
        used = sum(segment.tokens for segment in segments) + suffix
        if self._sent is not None:
            length = len(self._sent.known)
            if not before.goes_on:
                self._decider.try_again()
            elif reported and length:  # The API's count wins over any estimate.
                self._beside = reported + tokens(request.characters(length + 1)) - used
        used = max(0, used + self._beside)
        window = self._window or (window_of(model) if used > SMALL else None)
        is_cold = self._is_cold(before, now, model, beside)
        # An unknown conversation counts as not cached: most often it is resumed after hours.
        fresh = suffix if before.last is None else min(self._fresh(request, before), suffix)
        return Moment(used, suffix, older, fresh, request.answers, window, is_cold)

    def _before(self, request: Request) -> _Before:
        """Compare with the request before, from this process or from the state."""
        if self._sent is not None:
            shared = request.shared(self._sent.known)
            return _Before(shared, self._sent.last, shared == len(self._sent.known))
        try:
            stored = self._state.requests()
        except STATE_ERRORS as error:
            self._go_on_in_memory(error)
            stored = ()
        chains: dict[int, str] = {}
        for each in sorted(stored, key=lambda each: each.messages, reverse=True):
            if each.messages <= len(request):
                if each.messages not in chains:
                    chains[each.messages] = request.chain(each.messages)
                if chains[each.messages] == each.prefix:
                    return _Before(each.messages, each)
        return _Before(request.newest_answer)

    def _is_cold(self, before: _Before, now: float, model: str | None, beside: str) -> bool:
        last = before.last
        return last is not None and (now - last.at > self._life or model != last.model or beside != last.beside)

    def _fresh(self, request: Request, before: _Before) -> int:
        return self._decider.tokens(request.characters(before.shared))

    def _note(self, request: Request, now: float, model: str | None, beside: str) -> None:
        """Remember the request as the last one, up to its last cache mark: what follows may be gone in the
        next."""
        marked = last_marked(request.given)
        messages = len(request) if marked is None else marked + 1
        last = LastRequest(messages, request.chain(messages), now, model, beside)
        continues = self._sent.last if self._sent is not None else None
        self._sent = _Sent(request.known, last)
        try:
            self._state.sent(last, continues)
        except STATE_ERRORS as error:
            self._go_on_in_memory(error)

    def _remember(self, segments: Segments, continues: Segments) -> None:
        try:
            self._state.remember(self._fingerprint, segments, continues)
        except STATE_ERRORS as error:  # Frozen messages stay frozen while this process runs.
            lists = self._state.lists(self._fingerprint)
            self._go_on_in_memory(error)
            for each in reversed((segments, *lists)):
                self._state.remember(self._fingerprint, each, ())

    def _go_on_in_memory(self, error: Exception) -> None:
        name = self._state.path if isinstance(self._state, StateFile) else "the state"
        self._warning = (
            f"{name} cannot be used ({error}): a restart will find nothing; move it away, or give another path"
        )
        self._state = Memory()


def _listed(messages: Any) -> list[Any]:
    """Raises UsageError."""
    if isinstance(messages, str):
        return [{"role": "user", "content": messages}]
    if isinstance(messages, Mapping | bytes) or not isinstance(messages, Iterable):
        raise UsageError(
            f"A list of messages is needed, not a {type(messages).__name__}.", "Give the messages of the request."
        )
    return [*messages]


def _forgets(state: Any) -> bool:
    """Check if a state loses what was sent at a restart."""
    return isinstance(state, StateFile) and not state.keeps


def _thought_over(lost: Segments) -> int | None:
    """Return the message from which thinking refers to lost segments, if the model refuses such thinking."""
    return lost[0].sent_from if lost and lost[0].drops_thinking else None


def _reported(usage: Any) -> int | None:
    """Return the tokens that an API reported; None if it reported none."""
    try:
        return max(0, tokens_of(usage))
    except Exception:  # A strange report must not stop the request.
        return None


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _fingerprint(means: FreezeSettings) -> str:
    configuration = msgspec.json.encode(means.configuration)
    return digest_of(f"{__version__} {means.keep_recent} {means.keep_reads} ".encode() + configuration)
