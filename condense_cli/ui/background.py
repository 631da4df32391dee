"""Work beside the keys: one thread, which does what was asked for last and gives up what that overtakes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from threading import Condition, Thread
from typing import Generic, TypeVar

from ..errors import CondenseError

Asked = TypeVar("Asked")
Found = TypeVar("Found")
Clock = Callable[[], float]


class Overtaken(BaseException):
    """Something else was asked for meanwhile. No `Exception`: providers take those for errors of theirs."""


class Background(Generic[Asked, Found]):
    """Does `work` for what is asked for and tells `done`, in its thread, unless something newer was asked for.

    `work` may find something first and more of it later: each is told.
    The clock that `work` gets raises Overtaken as soon as its result is no longer wanted; whoever asks it often is
    stopped soon.
    """

    def __init__(
        self, work: Callable[[Asked, Clock], Iterable[Found]], done: Callable[[Asked, Found | CondenseError], object]
    ) -> None:
        self._work, self._done = work, done
        self._changed = Condition()
        self._number = 0
        self._asked: Asked | None = None
        self._is_open = True
        self._thread = Thread(target=self._run, name="condense-ui", daemon=True)
        self._thread.start()

    def ask(self, asked: Asked) -> None:
        """Do this next, and drop what is being done."""
        with self._changed:
            self._number += 1
            self._asked = asked
            self._changed.notify()

    def close(self) -> None:
        """Drop what is being done, and end the thread."""
        with self._changed:
            self._number += 1
            self._is_open = False
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._asked is not None or not self._is_open)
                if not self._is_open:
                    return
                asked, number, self._asked = self._asked, self._number, None
            assert asked is not None
            self._do(asked, number)

    def _do(self, asked: Asked, number: int) -> None:
        def clock() -> float:
            if self._number != number:
                raise Overtaken
            return time.perf_counter()

        try:
            for found in self._work(asked, clock):
                clock()
                self._done(asked, found)
        except CondenseError as error:
            self._done(asked, error)
        except Overtaken:
            return
        except Exception as error:  # A defect; the thread has to go on.
            self._done(asked, CondenseError(f"Internal error ({type(error).__name__}: {error}).", "Please report it."))
