"""Which conversation a request belongs to. Each has a `Live` of its own; what applies is found by its messages."""

from __future__ import annotations

from asyncio import Future
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from ..live.conversation import Live
from ..live.deciding import Fitted
from ..live.requests import KnownMessage, Request
from ..live.state import State
from .apis import Api
from .bodies import Body
from .recent import Recent
from .savings import Savings
from .states import ConversationState

MOST: Final = 256
"""So many conversations are kept, those that were heard of last."""

_LONG_LIFE: Final = 3_600.0
_LIFE: Final = 300.0
_NAMES: Final = (
    "x-claude-code-session-id", "x-claude-code-agent-id", "session-id", "session_id", "thread-id", "x-session-id",
)  # fmt: skip
"""Headers by which clients name a conversation."""

MakeLive = Callable[[State, str, float], Live]
"""A `Live` with a state, for messages of a format, with the seconds that a cache lives."""


class Conversation:
    """One conversation: what decides for it, and what was seen of it. No content is kept but what is frozen."""

    def __init__(self, label: str, body: Body, shared: State, make: MakeLive) -> None:
        self.label = label
        self.state = ConversationState(shared)
        self.live = make(self.state, body.api.format, _life(body))
        self.savings = Savings()
        self.known: Sequence[KnownMessage] = ()
        self.reported: int | None = None
        """Tokens of the last request and its answer, as the API reported them."""
        self.running: Future[Fitted] | None = None
        """The request that is worked on, or was last."""
        self.sent_originals = False
        """Whether the last request went on as it came."""
        self.refused = 0
        """How often in a row the API refused what was sent in place of the originals, and took these."""


class Conversations:
    """Those that were heard of last."""

    def __init__(self, shared: State, make: MakeLive) -> None:
        self._shared = shared
        self._make = make
        self._recent = Recent()
        self._found: OrderedDict[tuple[object, ...], list[Conversation]] = OrderedDict()
        self.number = 0

    def of(
        self, data: bytes, encoding: str, api: Api, headers: Mapping[str, str]
    ) -> tuple[Conversation, Request, Body] | None:
        """The conversation of a request, its messages and its body; None where there is none that can be read.

        Raises ValueError where a message is none: text that is no UTF-8, a number of thousands of digits.
        """
        names = tuple(filter(None, map(headers.get, _NAMES)))
        read = self._recent.read(data, encoding, api, names)
        if read is None:
            return None
        body, known = read
        first = known[0] if known else Request(body.messages[:1]).known[0]
        key = (api.path, names, body.key, first.digest)
        candidates = self._found.get(key, [])
        # Most often it is the newest: what is known of its messages need not be found out again.
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
            found = Conversation(label, body, self._shared, self._make)
        if found in candidates:
            candidates.remove(found)
        candidates.append(found)
        found.known = request.known
        found.live.cache_life = _life(body)
        self._forget()
        return found, request, body

    def all(self) -> list[Conversation]:
        """The newest last."""
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
    """Seconds after which a cache is cold."""
    return _LONG_LIFE if body.lives_long else _LIFE
