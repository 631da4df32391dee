"""What all conversations of a proxy remember, and what one of them needs when a request goes on as it came."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock

from msgspec.structs import replace

from ..live.requests import Request, Segments, live_part, matching
from ..live.state import LastRequest, State


class SharedState:
    """A state that many threads use."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._lock = Lock()

    def lists(self, fingerprint: str) -> Sequence[Segments]:
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


class ConversationState:
    """The shared state as the `Live` of one conversation uses it."""

    def __init__(self, shared: State) -> None:
        self._shared = shared
        self._fingerprint = ""

    def lists(self, fingerprint: str) -> Sequence[Segments]:
        self._fingerprint = fingerprint
        return self._shared.lists(fingerprint)

    def remember(self, fingerprint: str, segments: Segments, continues: Segments) -> None:
        self._shared.remember(fingerprint, segments, continues)

    def requests(self) -> Sequence[LastRequest]:
        return self._shared.requests()

    def sent(self, request: LastRequest, continues: LastRequest | None) -> None:
        self._shared.sent(request, continues)

    def originals(self, request: Request) -> list[object]:
        """The messages as they came, without thinking that was made over what was sent in their place."""
        known = self._known(request)
        over = known[0].sent_from if known and known[0].drops_thinking else None
        return [*live_part(request, (), over).messages]

    def after_originals(self, request: Request) -> None:
        """The request before went as it came: what was thought over that is not valid over what is sent now."""
        known = self._known(request)
        if known and known[-1].drops_thinking and known[-1].sent_from < len(request):
            taken = replace(known[-1], taken=len(request))
            self._shared.remember(self._fingerprint, (*known[:-1], taken), known)

    def _known(self, request: Request) -> Segments:
        return matching(request, self.lists(self._fingerprint)) if self._fingerprint else ()
