"""A try to condense, worked on in a thread of its own: ahead of a threshold, or for longer than a request can wait."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager
from typing import Any

from msgspec import Struct

from .freezing import Means
from .requests import Request
from .segments import Segments
from .steps import NewSegments, next_segment


class Attempt(Struct, frozen=True):
    """What is to be tried: the whole anew (`renews`), or what came since the last of the segments.

    `target` are tokens for the whole conversation.
    """

    request: Request
    segments: Segments
    means: Means
    format: str | None
    model: str | None
    target: int | None
    renews: bool

    def run(self) -> NewSegments | str:
        """What came of it, or why nothing did, in words."""
        segments = () if self.renews else self.segments
        format_name = self.segments[-1].format if self.segments else self.format
        return next_segment(self.request, segments, self.means, format_name, self.model, self.target)

    def is_good_for(self, later: Attempt) -> bool:
        """Whether what came of it can be sent in the place of what is tried later in the same conversation."""
        length = len(self.request)
        return (
            (self.renews, self.target, self.model) == (later.renews, later.target, later.model)
            and self.segments == later.segments
            and length <= len(later.request)
            and self.request.chain(length) == later.request.chain(length)
        )


class AttemptAhead:
    """An attempt that is worked on beside the conversation, while it holds the `turn`."""

    def __init__(self, attempt: Attempt, turn: AbstractContextManager[Any]) -> None:
        self.attempt = attempt
        self._turn = turn
        self._done = threading.Event()
        self._found: NewSegments | str | Exception | None = None
        threading.Thread(target=self._run, name="condense-live", daemon=True).start()

    def _run(self) -> None:
        try:
            with self._turn:
                self._found = self.attempt.run()
        except Exception as error:
            self._found = error
        self._done.set()

    def result(self, seconds: float | None) -> NewSegments | str | None:
        """What came of it, None where it is not done after so many seconds. Raises what it raised."""
        if not self._done.wait(seconds):
            return None
        if isinstance(self._found, Exception):
            raise self._found
        return self._found
