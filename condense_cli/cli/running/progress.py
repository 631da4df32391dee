"""Show the progress of a run on a terminal, from the second second on."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from ..console import console

if TYPE_CHECKING:
    from rich.status import Status

_PATIENCE: Final = 1.0
"""Seconds before the progress is shown."""

Tell = Callable[[str], None]


@contextmanager
def progress_of(file: str, *, is_wanted: bool) -> Iterator[Tell]:
    """Show that a file is read, and then the pass at work, to a person who waits at a terminal."""
    if not (is_wanted and sys.stderr.isatty()):
        yield lambda text: None
        return
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
        with self._lock:
            if not self._is_over:
                self._status = console(stderr=True).status(self._text)
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
