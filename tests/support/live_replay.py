"""A conversation sent request by request through Live, and what has to hold for each request."""

import copy
import json
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from condense_cli import Live, api
from condense_cli.live.deciding import DecisionKind, Fitted
from condense_cli.live.policies import Moment, Outcome
from condense_cli.live.requests import is_thinking, without_marks
from condense_cli.rules.validity import validate
from condense_cli.tokens.models import binds_thinking


class Eager(Struct, frozen=True):
    """A policy that tries at each request, and takes whatever is smaller."""

    renews: bool = False

    def due(self, moment: Moment) -> str:
        return "a test"

    def pays(self, outcome: Outcome, turns: Decimal, moment: Moment) -> bool:
        return True


def requests_of(messages: Sequence[Any]) -> Iterator[list[Any]]:
    """What a client sends before each answer of the assistant."""
    for position, message in enumerate(messages):
        if position and is_answer(message) and not is_answer(messages[position - 1]):
            yield copy.deepcopy([*messages[:position]])


def is_answer(item: Any) -> bool:
    return item.get("role") in ("assistant", "model") or item.get("type") in (
        "function_call",
        "reasoning",
        "custom_tool_call",
    )


def as_sent(messages: Sequence[Any]) -> str:
    """The bytes of messages, but for cache marks, which are no content."""
    return json.dumps([without_marks(copy.deepcopy(message)) for message in messages])


class Replay:
    """Sends requests and holds what is promised of each; `keep_recent` is the one of the Live."""

    def __init__(self, live: Live, format: str, model: str | None = None, keep_recent: int = 1) -> None:
        self.live, self.format, self.model, self.keep_recent = live, format, model, keep_recent
        self.frozen = "[]"
        self.fitted: list[Fitted] = []

    def send(self, request: list[Any], **more: Any) -> Fitted:
        given = json.dumps(request)
        fitted = self.live.fit(request, model=self.model, **{"now": 60.0 * len(self.fitted), **more})
        assert json.dumps(request) == given, "the caller's messages were changed"
        self._check(request, fitted)
        self.fitted.append(fitted)
        return fitted

    def _check(self, request: list[Any], fitted: Fitted) -> None:
        frozen = as_sent(fitted.messages[: fitted.frozen])
        if fitted.decision.kind is DecisionKind.SEGMENT:
            assert frozen.startswith(self.frozen[:-1]), "a segment changed what was frozen before"
        elif not fitted.decision.is_change:
            assert frozen == self.frozen, "the frozen part changed without a decision"
        self.frozen = frozen
        rest, came = fitted.messages[fitted.frozen :], request[fitted.covered :]
        if binds_thinking(self.model):
            rest, came = unthinking(rest), unthinking(came)
        assert as_sent(rest) == as_sent(came), "what is not frozen is sent as it came"
        assert len(request) - fitted.covered >= min(self.keep_recent, len(request))
        assert new_violations(request, fitted.messages, self.format, self.model) == set()


def unthinking(messages: Sequence[Any]) -> list[Any]:
    """The messages without thinking, and without those that are nothing else."""
    found = []
    for message in messages:
        content = message.get("content")
        if isinstance(content, list):
            left = [part for part in content if not is_thinking(part)]
            message = {**message, "content": left} if left or not content else None
        if message is not None:
            found.append(message)
    return found


def new_violations(given: list[Any], sent: list[Any], format: str, model: str | None) -> set[str]:
    """Rules of the API that what is sent breaks, and what was given does not."""
    found = []
    for messages in (sent, given):
        transcript = replace(api.loads(messages, format=format), model=model)
        found.append({violation.rule for violation in validate(transcript)})
    return found[0] - found[1]
