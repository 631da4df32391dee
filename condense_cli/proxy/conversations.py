"""Find the conversation of a request, remember its state, and work out what to send for it."""

from __future__ import annotations

import asyncio
import re
from asyncio import Future
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import Final, TypeVar

from msgspec.structs import replace

from ..formats.compacted import CLEARED
from ..live.conversation import Live
from ..live.deciding import Decision, DecisionKind, Fitted
from ..live.requests import KnownMessage, Request, Segments, live_part, matching
from ..live.state import LastRequest, State
from .bodies import Api, Body, Recent
from .record import Savings


class ConversationState:
    """The state as seen by the `Live` of one conversation. Threads of all conversations share state and lock."""

    def __init__(self, state: State, lock: Lock) -> None:
        self._state, self._lock = state, lock
        self._fingerprint = ""

    def lists(self, fingerprint: str) -> Sequence[Segments]:
        self._fingerprint = fingerprint
        with self._lock:
            return self._state.lists(fingerprint)

    def remember(self, fingerprint: str, segments: Segments, continues: Segments) -> None:
        with self._lock:
            self._state.remember(fingerprint, segments, continues)

    def requests(self) -> Sequence[LastRequest]:
        with self._lock:
            return self._state.requests()

    def sent(self, request: LastRequest, continues: LastRequest | None) -> None:
        with self._lock:
            self._state.sent(request, continues)

    def originals(self, request: Request) -> list[object]:
        """Return the messages as they came, without thinking over what was sent in their place."""
        known = self._known(request)
        over = known[0].sent_from if known and known[0].drops_thinking else None
        return [*live_part(request, (), over).messages]

    def after_originals(self, request: Request) -> None:
        """Note that the last request went out as it came: thinking over it is not valid over condensed messages."""
        known = self._known(request)
        if known and known[-1].drops_thinking and known[-1].sent_from < len(request):
            taken = replace(known[-1], taken=len(request))
            self.remember(self._fingerprint, (*known[:-1], taken), known)

    def _known(self, request: Request) -> Segments:
        return matching(request, self.lists(self._fingerprint)) if self._fingerprint else ()


MOST: Final = 256
"""Most conversations to keep; the least recently used are dropped."""

_CLEARED: Final = f'"{CLEARED}"'.encode()
"""As JSON. Where a file quotes it, its quotation marks are escaped."""

_LONG_LIFE: Final = 3_600.0
_LIFE: Final = 300.0
_NAMES: Final = (
    "x-claude-code-session-id", "x-claude-code-agent-id", "session-id", "session_id", "thread-id", "x-session-id",
)  # fmt: skip
"""Headers in which clients name a conversation."""

MakeLive = Callable[[State, str, float], Live]
"""Make a `Live` from a state, a format of messages, and the seconds that a cache lives."""


class Conversation:
    """One conversation: its `Live`, state and savings. Holds no content but frozen segments."""

    def __init__(self, label: str, body: Body, state: ConversationState, make: MakeLive) -> None:
        self.label, self.state = label, state
        self.live = make(self.state, body.api.format, _life(body))
        self.savings = Savings()
        self.known: Sequence[KnownMessage] = ()
        self.reported: int | None = None
        """Tokens of the last request and its answer, as reported by the API."""
        self.running: Future[Fitted] | None = None
        """The newest work on a request."""
        self.sent_originals = False
        """Whether the last request went out as it came."""
        self.refused = 0
        """How often in a row the API refused the condensed messages and took the originals."""
        self.cleared: int | None = None
        """Results that the client had cleared in the last request."""

    def newly_cleared(self, body: Body) -> int:
        """Return how many more results the client has cleared since the request before."""
        before, self.cleared = self.cleared, body.data.count(_CLEARED)
        return 0 if before is None else max(0, self.cleared - before)


class Conversations:
    """The most recent conversations."""

    def __init__(self, state: State, make: MakeLive) -> None:
        self._state, self._lock = state, Lock()
        self._make = make
        self._recent = Recent()
        self._found: OrderedDict[tuple[object, ...], list[Conversation]] = OrderedDict()
        self.number = 0

    def of(
        self, data: bytes, encoding: str, api: Api, headers: Mapping[str, str]
    ) -> tuple[Conversation, Request, Body] | None:
        """Return the conversation of a request, its messages and its body; None if they cannot be read.

        Raises ValueError for text that is not UTF-8, or a number of thousands of digits.
        """
        names = tuple(filter(None, map(headers.get, _NAMES)))
        read = self._recent.read(data, encoding, api, names)
        if read is None:
            return None
        body, known = read
        first = known[0] if known else Request(body.messages[:1]).known[0]
        key = (api.path, names, body.key, first.digest)
        candidates = self._found.get(key, [])
        # Usually it continues the newest, whose messages are known.
        if not known and candidates:
            known = candidates[-1].known
        request = Request(body.messages, known, body.same)  # From here on nothing is raised.
        self._found[key] = candidates
        self._found.move_to_end(key)
        self._recent.keep(data, names, body, request.known)
        continued = [each for each in candidates if request.agrees(each.known)]
        if continued:
            found = max(continued, key=lambda each: len(each.known))
        elif candidates and (names or body.key):  # Rewound, compacted or edited: the client says that it is the same.
            found = candidates[-1]
        else:
            self.number += 1
            label = (names[0] if names else body.key or first.digest.hex())[:8]
            found = Conversation(label, body, ConversationState(self._state, self._lock), self._make)
        if found in candidates:
            candidates.remove(found)
        candidates.append(found)
        found.known = request.known
        found.live.cache_life = _life(body)
        self._forget()
        return found, request, body

    def all(self) -> list[Conversation]:
        """Return all conversations, newest last."""
        return [each for candidates in self._found.values() for each in candidates]

    def _forget(self) -> None:
        total = sum(map(len, self._found.values()))
        while total > MOST:
            key, candidates = next(iter(self._found.items()))
            candidates.pop(0)
            total -= 1
            if not candidates:
                del self._found[key]


def _life(body: Body) -> float:
    """Return the seconds after which a cache is cold."""
    return _LONG_LIFE if body.lives_long else _LIFE


_Result = TypeVar("_Result")

REFUSALS: Final = 2
"""Refusals in a row, with the original taken, after which a conversation passes unchanged."""

_THREADS: Final = 64

_ERROR: Final = re.compile(r"(\w+): .*", re.DOTALL)


class Fits:
    """Fit requests in threads: a decision delays only its own conversation. Its `Live` limits the wait."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(_THREADS, "fit")

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def fit(self, conversation: Conversation, request: Request, body: Body, usage: int | None) -> Fitted:
        """Return what to send. Raises only CancelledError; the decision then applies to the next request."""
        if conversation.refused >= REFUSALS:
            return await self.originals(conversation, request, body)
        has_waited = await self._turn_of(conversation)
        after_originals, conversation.sent_originals = conversation.sent_originals, False

        def fitted() -> Fitted:
            if after_originals:
                conversation.state.after_originals(request)
            # A request that waited for another one does not wait for a decision as well.
            return conversation.live.fit(
                request, usage=usage, model=body.model, system=body.system, tools=body.tools, decide=not has_waited
            )

        return await self._submitted(conversation, fitted, request)

    async def originals(self, conversation: Conversation, request: Request, body: Body) -> Fitted:
        """Return the messages as they came, without thinking that is invalid over them."""
        await self._turn_of(conversation)
        conversation.sent_originals = True

        def fitted() -> Fitted:
            guess = conversation.live.passed(request, model=body.model, system=body.system, tools=body.tools)
            return Fitted(conversation.state.originals(request), Decision(), 0, 0, 0, cache=guess)

        return await self._submitted(conversation, fitted, request)

    async def beside(self, work: Callable[[], _Result]) -> _Result:
        """Run other work in a thread. Raises what it raises."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    async def _turn_of(self, conversation: Conversation) -> bool:
        """Wait for other requests of the conversation; return whether there were any."""
        has_waited = False
        while (running := conversation.running) is not None and not running.done():
            has_waited = True
            await asyncio.wait({running})
        return has_waited

    async def _submitted(self, conversation: Conversation, work: Callable[[], Fitted], request: Request) -> Fitted:
        def safely() -> Fitted:
            try:
                found = work()
            except Exception as error:  # At worst the request goes on as it came.
                found = Fitted(list(request.given), Decision(DecisionKind.FAILED, type(error).__name__), 0, 0, 0)
            return replace(found, decision=_without_content(found.decision))

        running: Future[Fitted] = asyncio.get_running_loop().run_in_executor(self._threads, safely)
        conversation.running = running
        # If the client leaves, the thread continues, and the conversation stays taken.
        return await asyncio.shield(running)


def _without_content(decision: Decision) -> Decision:
    """Return a decision with only the kind of an error: its words may quote content."""
    error = _ERROR.fullmatch(decision.reason) if decision.kind is DecisionKind.FAILED else None
    return decision if error is None else replace(decision, reason=error[1])
