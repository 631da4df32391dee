"""What a run is at, on the terminal of somebody who waits: from the second second on."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rich.status import Status

_PATIENCE: Final = 1.0
"""Seconds in which nobody asks what it is at."""

Tell = Callable[[str], None]


@contextmanager
def on_terminal(file: str) -> Iterator[Tell]:
    """Says that the file is read, and then whatever it is told, until the work is done."""
    line = _Line(f"Reading {_size(file)}")
    timer = threading.Timer(_PATIENCE, line.show)
    timer.daemon = True
    timer.start()
    try:
        yield line.say
    finally:
        timer.cancel()
        line.end()


def _size(file: str) -> str:
    try:
        return f"{os.stat(file).st_size:,} bytes"
    except OSError:  # Standard input, or a file that reading will say something about.
        return "the transcript"


class _Line:
    """One line on standard error, which goes when the work is done. The clock that shows it is another thread."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._status: Status | None = None
        self._is_over = False
        self._lock = threading.Lock()

    def show(self) -> None:
        from rich.status import Status

        from ..console import console

        with self._lock:
            if not self._is_over:
                self._status = Status(self._text, console=console(stderr=True))
                self._status.start()

    def say(self, text: str) -> None:
        with self._lock:
            self._text = text
            if self._status is not None:
                self._status.update(text)

    def end(self) -> None:
        with self._lock:
            self._is_over = True
            if self._status is not None:
                self._status.stop()
