"""What to send for a request, found in threads: a decision keeps nobody waiting but its own conversation."""

from __future__ import annotations

import asyncio
import re
from asyncio import Future
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from msgspec.structs import replace

from ..live.deciding import Decision, DecisionKind, Fitted
from ..live.requests import Request
from .bodies import Body
from .conversations import Conversation

_Result = TypeVar("_Result")

REFUSALS: Final = 2
"""So often in a row the API may refuse what is sent in place of a conversation and take the original; from then on that
goes on as it came."""

_THREADS: Final = 64

_ERROR: Final = re.compile(r"(\w+): .*", re.DOTALL)


class Fits:
    """Fits requests; how long one waits for its decision is the matter of its `Live`."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(_THREADS, "fit")

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def fit(self, conversation: Conversation, request: Request, body: Body, usage: int | None) -> Fitted:
        """What to send; raises nothing but that this is cancelled, and then its decision goes with the next request."""
        if conversation.refused >= REFUSALS:
            return await self.originals(conversation, request, body)
        has_waited = await self._turn_of(conversation)
        after_originals, conversation.sent_originals = conversation.sent_originals, False

        def fitted() -> Fitted:
            if after_originals:
                conversation.state.after_originals(request)
            # Who waited for another request of the conversation does not wait for a decision as well.
            return conversation.live.fit(
                request, usage=usage, model=body.model, system=body.system, tools=body.tools, decide=not has_waited
            )

        return await self._submitted(conversation, fitted, request)

    async def originals(self, conversation: Conversation, request: Request, body: Body) -> Fitted:
        """The messages as they came, but for thinking that is invalid over them."""
        await self._turn_of(conversation)
        conversation.sent_originals = True

        def fitted() -> Fitted:
            guess = conversation.live.passed(request, model=body.model, system=body.system, tools=body.tools)
            return Fitted(conversation.state.originals(request), Decision(), 0, 0, 0, cache=guess)

        return await self._submitted(conversation, fitted, request)

    async def beside(self, work: Callable[[], _Result]) -> _Result:
        """Other work of some length. Raises what that raises."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    async def _turn_of(self, conversation: Conversation) -> bool:
        """Wait until no other request of the conversation is worked on; whether one was."""
        has_waited = False
        while (running := conversation.running) is not None and not running.done():
            has_waited = True
            await asyncio.wait({running})
        return has_waited

    async def _submitted(self, conversation: Conversation, work: Callable[[], Fitted], request: Request) -> Fitted:
        def safely() -> Fitted:
            try:
                found = work()
            except Exception as error:  # Nothing is in the way: at worst the request goes on as it came.
                found = Fitted(list(request.given), Decision(DecisionKind.FAILED, type(error).__name__), 0, 0, 0)
            return replace(found, decision=_without_content(found.decision))

        running: Future[Fitted] = asyncio.get_running_loop().run_in_executor(self._threads, safely)
        conversation.running = running
        # The thread goes on where the client leaves, and nobody else may touch the conversation meanwhile.
        return await asyncio.shield(running)


def _without_content(decision: Decision) -> Decision:
    """A decision that names the kind of an error alone: its words may quote what was said."""
    error = _ERROR.fullmatch(decision.reason) if decision.kind is DecisionKind.FAILED else None
    return decision if error is None else replace(decision, reason=error[1])
