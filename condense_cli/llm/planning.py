"""What summaries would cost: the real requests, priced, with answers as long as they are likely to get at most."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from ..core.markers import content_hash
from ..money.economics import CallUsage
from .cache import key_of
from .calls import Caller, CallOutcome, Fulfilment, not_covered, worst_of
from .checking import again, judged
from .client import ModelRequest
from .prompts import PromptTask
from .reasons import Failure
from .spending import Spent, spent_on
from .summaries import joining, plan, window_of


def planned(tasks: Sequence[PromptTask], caller: Caller) -> Fulfilment:
    """One outcome per task, without a call: the answer of the cache, or a text that stands in for the summary."""
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
            used = _spent(read, min(length, request.limit), caller)
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
    text = _stand_in(caller.access.name, length, task) if refused is None else None
    return CallOutcome(text, refused, spent=spent)


def _longest(request: ModelRequest) -> str:
    """An answer of as many tokens as a request allows."""
    return " ·" * request.limit


def _may_ask_again(task: PromptTask, request: ModelRequest, caller: Caller) -> None:
    """Let the budget know what it would cost if an answer at its longest lacked all that it must hold."""
    if caller.budget is None:
        return
    unmasked = replace(caller, redactor=None)
    asked = again(task, request, CallOutcome(_longest(request)), window_of(caller.access), unmasked)
    if asked is not None:
        caller.budget.may_need(worst_of(asked, caller))


def _remembered(request: ModelRequest, caller: Caller) -> CallOutcome | None:
    """The answer of the cache. What is masked in a request is not known before it is sent."""
    if caller.cache is None or caller.redactor is not None:
        return None
    stored = caller.cache.get(key_of(request, caller.access.profile))
    return CallOutcome(stored.text) if stored is not None and stored.reason is None else None


def _spent(read: int, written: int, caller: Caller) -> Spent:
    """What a call costs that reads and writes so many tokens as we count: its price is for the model's."""
    usage = CallUsage(round(caller.factor * read), round(caller.factor * written))
    return spent_on(usage, caller.access.profile, caller.when)


def _stand_in(profile: str, tokens: int, task: PromptTask) -> str:
    """A text of about so many tokens in place of one that nobody has written.

    It is another for each content: equal ones would become references to each other, as real summaries do not.
    """
    said = f"(a summary of #{content_hash(''.join(task.pieces))} by {profile}, of {tokens:,} tokens at most)"
    return said + " ·" * max(0, tokens - 26)
