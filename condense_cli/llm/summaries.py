"""Summaries of any length: tasks become requests, long ones several, whose answers are joined until one is left.

What that one lacks is asked for once more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ..config.profiles import Access
from ..money.prices import context_window
from .calls import Caller, CallOutcome, Fulfilment, fulfil
from .checking import again, judged
from .client import ModelRequest, names_of
from .parts import TooLargeError, requests_for
from .prompts import PromptTask
from .reasons import Cause, Failure, failure
from .spending import Spent

_ASSUMED_WINDOW: Final = 100_000
"""Tokens, for a vendor's model that the table does not know. Its API refuses what is longer; nothing is cut."""


_AGAIN_AT_ONCE: Final = 10
"""Requests for what is missing, before it is seen whether the model can give it at all."""


class _State(Struct):
    task: PromptTask
    requests: tuple[ModelRequest, ...]
    spent: Spent = Spent()
    is_cached: bool = True
    outcome: CallOutcome | None = None
    first: CallOutcome | None = None
    """The answer of which something was missing, once that has been asked for."""

    def end(self, outcome: CallOutcome) -> None:
        self.outcome = replace(outcome, spent=self.spent, is_cached=self.is_cached)


def plan(task: PromptTask, caller: Caller) -> tuple[ModelRequest, ...] | Failure:
    """The first requests for a task, which a dry run can price; TOO_LARGE if no window is large enough."""
    return _plan(task, caller, joins=False)


def joining(task: PromptTask, texts: Sequence[str], caller: Caller) -> tuple[ModelRequest, ...] | Failure:
    """The requests that join the summaries of a task's parts; TOO_LARGE if no window is large enough."""
    pieces = tuple(f"Part {number}:\n{text}\n\n" for number, text in enumerate(texts, start=1))
    return _plan(replace(task, pieces=pieces), caller, joins=True)


def summarize(tasks: Sequence[PromptTask], caller: Caller) -> Fulfilment:
    """One outcome per task, in order. A task of which any part fails has failed: nothing is left out silently."""
    states = [_begun(task, caller) for task in tasks]
    spent, is_interrupted = Spent(), False
    notes: tuple[str, ...] = ()
    try:
        while not is_interrupted and (waiting := _next(states)):
            done = fulfil([request for state in waiting for request in state.requests], caller)
            spent, notes, is_interrupted = spent + done.spent, done.notes, done.is_interrupted
            outcomes = iter(done.outcomes)
            for state in waiting:
                _take(state, [next(outcomes) for _ in state.requests], caller)
    except KeyboardInterrupt:  # Between two rounds; during one `fulfil` takes it.
        is_interrupted = True
    stopped = CallOutcome(None, failure(Cause.INTERRUPTED, names_of(caller.access)))
    ended = tuple(state.outcome or replace(stopped, spent=state.spent) for state in states)
    return Fulfilment(ended, spent, is_interrupted, notes)


def _next(states: Sequence[_State]) -> Sequence[_State]:
    """The tasks whose requests are sent together: all that are asked for the first time, then some of the others."""
    waiting = [state for state in states if state.outcome is None]
    return [state for state in waiting if state.first is None] or waiting[:_AGAIN_AT_ONCE]


def window_of(access: Access) -> int:
    """Tokens that a request and its answer may have together."""
    return window_if_known(access) or _ASSUMED_WINDOW


def window_if_known(access: Access) -> int | None:
    """The context window as the profile or, for a vendor's own API, the price table says."""
    profile = access.profile
    if profile.context_window is not None or profile.base_url:
        return profile.context_window
    return context_window(profile.model)


def _plan(task: PromptTask, caller: Caller, *, joins: bool) -> tuple[ModelRequest, ...] | Failure:
    window = window_of(caller.access)
    try:
        return requests_for(task, caller.access.profile, window, caller.count, exact=caller.exact, joins=joins)
    except TooLargeError:
        return failure(Cause.TOO_LARGE, names_of(caller.access), f"({window:,} tokens.)")


def _begun(task: PromptTask, caller: Caller) -> _State:
    planned = _plan(task, caller, joins=False)
    if isinstance(planned, Failure):
        return _State(task, (), outcome=CallOutcome(None, planned))
    return _State(task, planned)


def _take(state: _State, outcomes: list[CallOutcome], caller: Caller) -> None:
    """Take the outcomes of a task's requests: it has ended, or its answers are to be joined."""
    for outcome in outcomes:
        state.spent += outcome.spent
        state.is_cached = state.is_cached and outcome.is_cached
    if state.first is not None:
        outcome = judged(state.task, state.first, outcomes[0], caller)
        if outcome.failure is None or outcome.failure.reason is Cause.LACKS_CONTENT:
            caller.patience.take(outcome.failure)
        state.end(outcome)
        return
    failed = next((outcome for outcome in outcomes if outcome.text is None), None)
    if failed is not None:
        state.end(failed)
        return
    if len(outcomes) == 1:
        (answer,) = outcomes
        asked = again(state.task, state.requests[0], answer, window_of(caller.access), caller)
        if asked is None:
            state.end(judged(state.task, answer, None, caller))
        else:
            state.first, state.requests = answer, (asked,)
        return
    planned = joining(state.task, [outcome.text or "" for outcome in outcomes], caller)
    if isinstance(planned, Failure):
        state.outcome = CallOutcome(None, planned, state.spent)
        return
    state.requests = planned
