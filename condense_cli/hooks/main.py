"""`condense hook CLIENT EVENT`: the answer to an event of a client, which it gives as JSON on standard input.

Nothing here may be in the way: whatever goes wrong is noted for `condense install CLIENT --status`, and said nowhere
else. Before it is known that there is something to do, only small modules of Python itself are imported.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, Final

EVENTS: Final = {
    "session-start": "recalling",
    "pre-compact": "keeping",
    "stop": "telling",
    "status-line": "status_line",
    "measure": "measuring",
}
"""The module that answers each event: its function `answer` takes the client and what it gave, and gives a text."""

_MOST: Final = 10_000_000
"""Bytes of an event. Clients give a few hundred; more is something else."""


def run(arguments: Sequence[str]) -> None:
    """Answer an event on standard output. Ends without a word where that is not possible."""
    client, event = (*arguments, "", "")[:2]
    if sys.stdin is None or sys.stdin.isatty():
        return  # A person typed it.
    try:
        given = json.loads(sys.stdin.buffer.read(_MOST) or b"{}")
        answer: Callable[[str, Any], str] = import_module(f".{EVENTS[event]}", __package__).answer
        text = answer(client, given if isinstance(given, dict) else {})
        if text:
            sys.stdout.buffer.write(text.encode("utf-8", "replace"))
            sys.stdout.buffer.flush()
    except Exception as error:
        note_fault(client, event, error)


def note_fault(client: str, event: str, error: Exception) -> None:
    from .notes import add_fault

    add_fault(client, event, f"{type(error).__name__}: {error}")
