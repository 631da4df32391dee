"""Plan and write summaries of any length: requests, checks of required content, and cost estimates.

A summary that lacks required content is requested once more.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ..config.profiles import Access
from ..core.markers import content_hash
from ..ledger.checklist import Checklist
from ..money.economics import CallUsage
from ..money.prices import context_window
from .budget import Spent, spent_on
from .cache import key_of
from .calls import Caller, CallOutcome, Fulfilment, fulfil, not_covered, worst_of
from .client import ANSWERED, Cause, Failure, ModelRequest, failure, max_output, names_of
from .prompts import PromptTask, TooLargeError, request_again, requests_for, worst_input

_SHOWN: Final = 3
"""Missing items that a refusal names."""

_LONGEST: Final = 60
"""Maximum characters per item."""


def checklist_of(task: PromptTask, caller: Caller) -> Checklist | None:
    """Return the required content of a task's summary, without what the request masks."""
    checklist, redactor = task.checklist, caller.redactor
    if checklist is None or redactor is None:
        return checklist
    sent = tuple(item for item in checklist.items if not redactor.hides(item.text))
    return replace(checklist, items=sent) if sent else None


def again(
    task: PromptTask, request: ModelRequest, answer: CallOutcome, window: int, caller: Caller
) -> ModelRequest | None:
    """Build the request for content missing in an answer.

    None if the answer is complete enough, there is none, or both do not fit into the window. The task's requests were
    sent or found in the cache before, so all its secrets are known.
    """
    checklist = checklist_of(task, caller)
    if checklist is None or answer.text is None or checklist.holds_enough(answer.text):
        return None
    missing = (item.text for item in checklist.missing(answer.text))
    if caller.redactor is not None:  # A fact may contain the beginning of a secret, which is not recognised.
        sent = caller.redactor.masked(request.prompt)
        missing = (text for text in missing if text in sent)
    named = list(islice(missing, checklist.at_most))
    if not named:
        return None
    asked = request_again(request, answer.text, named)
    profile = caller.access.profile
    most = worst_input(asked, caller.count, exact=caller.exact) + max_output(profile, asked.limit)
    return asked if most <= window else None


def judged(task: PromptTask, first: CallOutcome, second: CallOutcome | None, caller: Caller) -> CallOutcome:
    """Return the better of a first and an optional second answer, or the reason why neither is accepted.

    Content that neither has may be in the ledger that follows.
    """
    checklist = checklist_of(task, caller)
    if checklist is None or first.text is None:
        return first
    texts = [outcome.text for outcome in (second, first) if outcome is not None and outcome.text is not None]
    best = min(texts, key=lambda text: len(checklist.missing(text)))
    if checklist.holds_enough(best) or checklist.holds_enough(best, task.listed):
        return CallOutcome(best)
    if second is not None and second.failure is not None and second.failure.reason not in ANSWERED:
        return second  # The model may succeed another time.
    return CallOutcome(None, _lacking(checklist, best, caller))


def _lacking(checklist: Checklist, text: str, caller: Caller) -> Failure:
    missing = checklist.missing(text)
    named = ", ".join(_named(item.text) for item in missing[:_SHOWN])
    detail = f"(It names {len(checklist.items) - len(missing):,} of {len(checklist.items):,}; missing: {named}.)"
    return failure(Cause.LACKS_CONTENT, names_of(caller.access), detail)


def _named(text: str) -> str:
    """Shorten an item; of a path keep the end."""
    if len(text) <= _LONGEST:
        return text
    is_path = "/" in text and " " not in text
    return f"…{text[1 - _LONGEST :]}" if is_path else f"{text[: _LONGEST - 1]}…"


_ASSUMED_WINDOW: Final = 100_000
"""Tokens assumed for a vendor's model that the table lacks. Its API refuses longer requests; nothing is cut."""


_AGAIN_AT_ONCE: Final = 10
"""Number of repeated requests sent before checking whether the model can give the missing content at all."""


class _State(Struct):
    task: PromptTask
    requests: tuple[ModelRequest, ...]
    spent: Spent = Spent()
    is_cached: bool = True
    outcome: CallOutcome | None = None
    first: CallOutcome | None = None
    """Incomplete answer, once the missing content was requested."""

    def end(self, outcome: CallOutcome) -> None:
        self.outcome = replace(outcome, spent=self.spent, is_cached=self.is_cached)


def plan(task: PromptTask, caller: Caller, *, joins: bool = False) -> tuple[ModelRequest, ...] | Failure:
    """Return a task's first requests, which a dry run can price, or those that join the summaries of its parts;
    TOO_LARGE if no window suffices."""
    window = window_of(caller.access)
    try:
        return requests_for(task, caller.access.profile, window, caller.count, exact=caller.exact, joins=joins)
    except TooLargeError:
        return failure(Cause.TOO_LARGE, names_of(caller.access), f"({window:,} tokens.)")


def joining(task: PromptTask, texts: Sequence[str], caller: Caller) -> tuple[ModelRequest, ...] | Failure:
    """Return requests that join the summaries of a task's parts; TOO_LARGE if no window suffices."""
    pieces = tuple(f"Part {number}:\n{text}\n\n" for number, text in enumerate(texts, start=1))
    return plan(replace(task, pieces=pieces), caller, joins=True)


def summarize(tasks: Sequence[PromptTask], caller: Caller) -> Fulfilment:
    """Return one outcome per task, in order. A task fails if any part of it fails: nothing is silently missing."""
    states: list[_State] = []
    for task in tasks:
        first = plan(task, caller)
        if isinstance(first, Failure):
            states.append(_State(task, (), outcome=CallOutcome(None, first)))
        else:
            states.append(_State(task, first))
    spent, is_interrupted = Spent(), False
    notes: tuple[str, ...] = ()
    try:
        while not is_interrupted and (waiting := _next(states)):
            done = fulfil([request for state in waiting for request in state.requests], caller)
            spent, notes, is_interrupted = spent + done.spent, done.notes, done.is_interrupted
            outcomes = iter(done.outcomes)
            for state in waiting:
                _take(state, [next(outcomes) for _ in state.requests], caller)
    except KeyboardInterrupt:  # Between two rounds; `fulfil` catches it during one.
        is_interrupted = True
    stopped = CallOutcome(None, failure(Cause.INTERRUPTED, names_of(caller.access)))
    ended = tuple(state.outcome or replace(stopped, spent=state.spent) for state in states)
    return Fulfilment(ended, spent, is_interrupted, notes)


def _next(states: Sequence[_State]) -> Sequence[_State]:
    """Return the tasks to send together: all first requests, then a few of the repeated ones."""
    waiting = [state for state in states if state.outcome is None]
    return [state for state in waiting if state.first is None] or waiting[:_AGAIN_AT_ONCE]


def window_of(access: Access) -> int:
    """Return the tokens available for a request and its answer together."""
    return window_if_known(access) or _ASSUMED_WINDOW


def window_if_known(access: Access) -> int | None:
    """Return the context window from the profile or, for a vendor's own API, from the price table."""
    profile = access.profile
    if profile.context_window is not None or profile.base_url:
        return profile.context_window
    return context_window(profile.model)


def _take(state: _State, outcomes: list[CallOutcome], caller: Caller) -> None:
    """Take the outcomes of a task's requests: end it, repeat a request, or join parts."""
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


def planned(tasks: Sequence[PromptTask], caller: Caller) -> Fulfilment:
    """Return one outcome per task without a call: the cached answer, or placeholder text for the summary."""
    outcomes = [_planned(task, caller) for task in tasks]
    spent = sum((outcome.spent for outcome in outcomes), Spent())
    return Fulfilment(tuple(outcomes), spent)


def _planned(task: PromptTask, caller: Caller) -> CallOutcome:
    requests = plan(task, caller)
    if isinstance(requests, Failure):
        return CallOutcome(None, requests)
    is_first = True
    if len(requests) == 1:
        first = _remembered(requests[0], caller)
        if first is not None:
            asked = again(task, requests[0], first, window_of(caller.access), caller)
            second = _remembered(asked, caller) if asked is not None else None
            if asked is None or second is not None:
                return replace(judged(task, first, second, caller), is_cached=True)
            requests, is_first = (asked,), False
    length = task.limit if task.replaced is None else max(1, min(task.limit, task.replaced // 2))
    spent, refused = Spent(), None
    while True:
        for request in requests:
            read = caller.count(request.system) + caller.count(request.prompt)
            written = min(length, request.limit)
            usage = CallUsage(round(caller.factor * read), round(caller.factor * written))
            used = spent_on(usage, caller.access.profile, caller.when)
            worst = worst_of(request, caller)
            if caller.budget is None or caller.budget.plan(worst, used.tokens, used.cost):
                spent += used
            else:
                refused = refused or not_covered(caller.budget, worst, caller.access)
        if len(requests) == 1:
            break
        joined = joining(task, [_longest(request) for request in requests], caller)
        if isinstance(joined, Failure):
            return CallOutcome(None, refused or joined, spent=spent)
        requests = joined
    if is_first:
        _may_ask_again(task, requests[0], caller)
    text = _placeholder(caller.access.name, length, task) if refused is None else None
    return CallOutcome(text, refused, spent=spent)


def _longest(request: ModelRequest) -> str:
    """Return an answer as long as the request allows."""
    return " ·" * request.limit


def _may_ask_again(task: PromptTask, request: ModelRequest, caller: Caller) -> None:
    """Tell the budget the cost of a repeated request after the longest possible, insufficient answer."""
    if caller.budget is None:
        return
    unmasked = replace(caller, redactor=None)
    asked = again(task, request, CallOutcome(_longest(request)), window_of(caller.access), unmasked)
    if asked is not None:
        caller.budget.may_need(worst_of(asked, caller))


def _remembered(request: ModelRequest, caller: Caller) -> CallOutcome | None:
    """Look up a cached answer. With a redactor there is none, because masking is only known when sending."""
    if caller.cache is None or caller.redactor is not None:
        return None
    stored = caller.cache.get(key_of(request, caller.access.profile))
    return CallOutcome(stored.text) if stored is not None and stored.reason is None else None


def _placeholder(profile: str, tokens: int, task: PromptTask) -> str:
    """Return placeholder text of about `tokens` tokens for a summary that nobody wrote.

    It differs per content: equal texts would become references to each other, which real summaries do not.
    """
    said = f"(a summary of #{content_hash(''.join(task.pieces))} by {profile}, of {tokens:,} tokens at most)"
    return said + " ·" * max(0, tokens - 26)
