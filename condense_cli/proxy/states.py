"""The memory of all conversations, and what one of them does with it while a decision is late."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock

from msgspec import Struct
from msgspec.structs import replace

from ..live.requests import Request
from ..live.segments import Segments, live_part, matching
from ..live.state import State


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


class _Late(Struct, frozen=True):
    fingerprint: str
    segments: Segments
    continues: Segments


class HeldState:
    """The shared state as one conversation sees it.

    A request that did not wait for its decision was sent without it, and its answer was thought over another prefix
    than the one that was decided. So a late decision is held back, and taken with the next request.
    """

    def __init__(self, shared: State) -> None:
        self._shared = shared
        self._lock = Lock()
        self._holds = False
        self._decided = False
        self._late: _Late | None = None
        self._fingerprint = ""

    def lists(self, fingerprint: str) -> Sequence[Segments]:
        self._fingerprint = fingerprint
        return self._shared.lists(fingerprint)

    def remember(self, fingerprint: str, segments: Segments, continues: Segments) -> None:
        with self._lock:
            if self._holds:
                self._late = _Late(fingerprint, segments, continues)
                return
            # What was computed again after a restart is no decision.
            self._decided = self._decided or _digests(segments) != _digests(continues)
        self._shared.remember(fingerprint, segments, continues)

    def hold(self) -> bool:
        """What is decided from now on waits for the next request; False if it was decided already."""
        with self._lock:
            self._holds = not self._decided
            return self._holds

    def begin(self, request: Request, *, after_original: bool) -> None:
        """A request begins: what was held back is remembered, if it was decided for this conversation.

        `after_original`: the request before was sent as it came.
        """
        with self._lock:
            late, self._late, self._holds, self._decided = self._late, None, False, False
        if late is not None and matching(request, [late.segments]) == late.segments:
            self._shared.remember(late.fingerprint, _anew(late.segments, request), late.continues)
        known = self._known(request)
        if after_original and known and known != _anew(known, request):
            self._shared.remember(self._fingerprint, _anew(known, request), known)

    def originals(self, request: Request) -> list[object]:
        """The messages as they came, without thinking that was made over what was sent in their place."""
        known = self._known(request)
        over = known[0].known if known and known[0].drops_thinking else None
        return [*live_part(request, (), over).messages]

    def _known(self, request: Request) -> Segments:
        return matching(request, self.lists(self._fingerprint)) if self._fingerprint else ()


def _anew(segments: Segments, request: Request) -> Segments:
    """The segments as if they were decided now: no thinking up to this request is valid any more."""
    last = segments[-1]
    if not last.drops_thinking or last.known >= len(request):
        return segments
    return (*segments[:-1], replace(last, known=len(request), then=request.chain(len(request))))


def _digests(segments: Segments) -> list[tuple[int, str]]:
    return [(segment.end, segment.digest) for segment in segments]
