"""What to send for a request. Decisions are made beside the requests: none waits for one longer than it has to."""

from __future__ import annotations

import asyncio
from asyncio import Future
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from ..live.decisions import Decision, Fitted, Kind
from ..live.money import window_of
from ..live.requests import Request
from .bodies import Body
from .conversations import Conversation

_Result = TypeVar("_Result")

_THREADS: Final = 32
REFUSALS: Final = 2
"""So often the API may refuse what is sent in place of a conversation; from then on that goes on as it came."""

LATE: Final = "the decision took too long for this request and goes with the next"


class Fits:
    """Fits requests in threads.

    A request waits `patience` seconds for its decision; then it goes with the one before, or waits on where that does
    not fit the model's `window`.
    """

    def __init__(self, patience: float, window: int | None = None) -> None:
        self._patience = patience
        self._window = window
        self._deciding = ThreadPoolExecutor(_THREADS, "decide")
        # Apart from the others, so that what was decided before goes out while all of those are busy.
        self._quick = ThreadPoolExecutor(4, "quick")

    def close(self) -> None:
        for pool in (self._deciding, self._quick):
            pool.shutdown(wait=False, cancel_futures=True)

    async def fit(self, conversation: Conversation, request: Request, body: Body, usage: int | None) -> Fitted:
        """What to send; raises nothing but that this is cancelled."""
        if conversation.refused >= REFUSALS:
            return await self.originals(conversation, request)
        loop = asyncio.get_running_loop()
        until = loop.time() + self._patience
        while conversation.running is not None and not conversation.running.done():
            await asyncio.wait({conversation.running}, timeout=max(0.0, until - loop.time()))
            if loop.time() >= until:
                return await self._before(conversation, request, body)
        after_original, conversation.was_original = conversation.was_original, False

        def decided() -> Fitted:
            conversation.held.begin(request, after_original=after_original)
            return conversation.live.fit(request, usage=usage, model=body.model, system=body.system, tools=body.tools)

        running = conversation.running = self._submitted(self._deciding, decided, request)
        try:
            await asyncio.wait({running}, timeout=max(0.0, until - loop.time()))
            if running.done():
                return running.result()
            found = await self._before(conversation, request, body)
            window = self._window or window_of(body.model)
            fits = window is None or max(found.tokens, usage or 0) <= window
            if not fits or not conversation.held.hold():
                return await asyncio.shield(running)
        except asyncio.CancelledError:
            # The client left: its next request begins where this one did.
            conversation.held.hold()
            raise
        return found

    async def originals(self, conversation: Conversation, request: Request) -> Fitted:
        """The messages as they came, but for thinking that is invalid over them."""
        conversation.was_original = True
        return await self._submitted(
            self._quick, lambda: Fitted(conversation.held.originals(request), Decision(), 0, 0, 0), request
        )

    def warm(self, work: Callable[[], object]) -> None:
        """Do this before anything is asked."""
        self._deciding.submit(work)

    async def beside(self, work: Callable[[], _Result]) -> _Result:
        """Other work of some length. Raises what that raises."""
        return await asyncio.get_running_loop().run_in_executor(self._deciding, work)

    async def _before(self, conversation: Conversation, request: Request, body: Body) -> Fitted:
        """With what was decided before."""

        def quick() -> Fitted:
            fitted = conversation.quick.fit(
                request, model=body.model, system=body.system, tools=body.tools, decide=False
            )
            late = Decision(Kind.DECLINED, LATE)
            return Fitted(fitted.messages, late, fitted.frozen, fitted.covered, fitted.tokens, fitted.saved)

        return await self._submitted(self._quick, quick, request)

    def _submitted(self, pool: ThreadPoolExecutor, work: Callable[[], Fitted], request: Request) -> Future[Fitted]:
        def safely() -> Fitted:
            try:
                return work()
            except Exception as error:  # Nothing is in the way: at worst the request goes on as it came.
                failed = Decision(Kind.FAILED, f"{type(error).__name__}: {error}")
                return Fitted(list(request.given), failed, 0, 0, 0)

        return asyncio.get_running_loop().run_in_executor(pool, safely)
