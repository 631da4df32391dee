"""Wrap the SDK functions of Anthropic and OpenAI that send requests, and fit what they send."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any, Final

from ..errors import UsageError
from .conversations import FittedConversations, OnDecision

_KEYS: Final = ("messages", "input")
_CONVERSATION: Final = "the only one"


class Condensing:
    """`messages.create`, `chat.completions.create` or `responses.create` for one conversation, sync or async.

    Call `create = Condensing(client.messages.create)` like the SDK's function, with the whole history each time.
    The options are those of `condense_cli.Live`. Usage is read from the answers. A stream reports it at its end:
    set `usage` then. Raises UsageError if `create` is no function.
    """

    def __init__(self, create: Callable[..., Any], *, on_decision: OnDecision | None = None, **options: Any) -> None:
        if not callable(create):
            raise UsageError("A function that sends requests is needed.", "Give client.messages.create, for example.")
        self._create = create
        self._conversations = FittedConversations(on_decision=on_decision, **options)
        self.usage: Any = None

    def __call__(self, **request: Any) -> Any:
        if inspect.iscoroutinefunction(inspect.unwrap(self._create)):
            return self._awaited(request)
        return self._answered(self._create(**self._fitted(request)))

    async def _awaited(self, request: dict[str, Any]) -> Any:
        return self._answered(await self._create(**await asyncio.to_thread(self._fitted, request)))

    def _fitted(self, request: dict[str, Any]) -> dict[str, Any]:
        key = next((key for key in _KEYS if isinstance(request.get(key), list)), None)
        if key is None:
            return request
        fitted = self._conversations.fit(
            _CONVERSATION,
            request[key],
            usage=self.usage,
            model=request.get("model"),
            system=request.get("system") or request.get("instructions"),
            tools=request.get("tools"),
        )
        return {**request, key: fitted.messages}

    def _answered(self, answer: Any) -> Any:
        self.usage = getattr(answer, "usage", None) or self.usage
        return answer
