"""Whether a summary holds what it must, the one request for what is missing, and what comes of both answers."""

from __future__ import annotations

from itertools import islice
from typing import Final

from msgspec.structs import replace

from ..ledger.checklist import Checklist
from .calls import Caller, CallOutcome
from .client import ModelRequest, max_output, names_of
from .parts import worst_input
from .prompts import PromptTask, request_again
from .reasons import ANSWERED, Cause, Failure, failure

_SHOWN: Final = 3
"""Missing items that a refusal names."""

_LONGEST: Final = 60
"""Characters of one of them."""


def checklist_of(task: PromptTask, caller: Caller) -> Checklist | None:
    """What the summary of a task must hold, without what was masked in the request."""
    checklist, redactor = task.checklist, caller.redactor
    if checklist is None or redactor is None:
        return checklist
    sent = tuple(item for item in checklist.items if not redactor.hides(item.text))
    return replace(checklist, items=sent) if sent else None


def again(
    task: PromptTask, request: ModelRequest, answer: CallOutcome, window: int, caller: Caller
) -> ModelRequest | None:
    """The request for what an answer lacks; None where it holds enough, is none, or both do not fit into the window.

    The requests of the task have been sent, or found in the cache, so that all its secrets are known.
    """
    checklist = checklist_of(task, caller)
    if checklist is None or answer.text is None or checklist.holds_enough(answer.text):
        return None
    missing = (item.text for item in checklist.missing(answer.text))
    if caller.redactor is not None:  # A fact may hold the beginning of a secret, which nobody recognises.
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
    """What becomes of an answer, and of the second one where it was asked for: the better one, or why neither is taken.

    What neither says may stand in the ledger that follows.
    """
    checklist = checklist_of(task, caller)
    if checklist is None or first.text is None:
        return first
    texts = [outcome.text for outcome in (second, first) if outcome is not None and outcome.text is not None]
    best = min(texts, key=lambda text: len(checklist.missing(text)))
    if checklist.holds_enough(best) or checklist.holds_enough(best, task.listed):
        return CallOutcome(best)
    if second is not None and second.failure is not None and second.failure.reason not in ANSWERED:
        return second  # Another time the model may give what is missing.
    return CallOutcome(None, _lacking(checklist, best, caller))


def _lacking(checklist: Checklist, text: str, caller: Caller) -> Failure:
    missing = checklist.missing(text)
    named = ", ".join(_named(item.text) for item in missing[:_SHOWN])
    detail = f"(It names {len(checklist.items) - len(missing):,} of {len(checklist.items):,}; missing: {named}.)"
    return failure(Cause.LACKS_CONTENT, names_of(caller.access), detail)


def _named(text: str) -> str:
    """An item in few characters: of a path the end tells more."""
    if len(text) <= _LONGEST:
        return text
    is_path = "/" in text and " " not in text
    return f"…{text[1 - _LONGEST :]}" if is_path else f"{text[: _LONGEST - 1]}…"
