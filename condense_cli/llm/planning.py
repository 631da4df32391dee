"""What summaries would cost: the real requests, priced, with answers as long as they are likely to get at most."""

from __future__ import annotations

from collections.abc import Sequence

from ..economics import CallUsage
from ..markers import content_hash
from .cache import key_of
from .calls import Caller, CallOutcome, Fulfilment
from .prompts import PromptTask
from .reasons import Failure
from .spending import Spent, spent_on
from .summaries import plan


def planned(tasks: Sequence[PromptTask], caller: Caller) -> Fulfilment:
    """One outcome per task, without a call: the answer of the cache, or a text that stands in for the summary."""
    outcomes = [_planned(task, caller) for task in tasks]
    spent = sum((outcome.spent for outcome in outcomes), Spent())
    return Fulfilment(tuple(outcomes), spent)


def _planned(task: PromptTask, caller: Caller) -> CallOutcome:
    requests = plan(task, caller)
    if isinstance(requests, Failure):
        return CallOutcome(None, requests)
    if len(requests) == 1 and caller.cache is not None and caller.redactor is None:
        stored = caller.cache.get(key_of(requests[0], caller.access.profile))
        if stored is not None and stored.reason is None:
            return CallOutcome(stored.text, is_cached=True)
    length = task.limit if task.replaced is None else max(1, min(task.limit, task.replaced // 2))
    spent = Spent()
    for request in requests:
        read = caller.count(request.system) + caller.count(request.prompt)
        spent += _spent(read, min(length, request.limit), caller)
    if len(requests) > 1:  # Joining the parts reads them all once more.
        spent += _spent(sum(request.limit for request in requests), length, caller)
    return CallOutcome(_stand_in(caller.access.name, length, task), spent=spent)


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
