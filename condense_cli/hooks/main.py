"""`condense hook CLIENT EVENT`: answer a client's event, given as JSON on standard input.

Hooks must never disturb the client: faults are only noted for `condense install CLIENT --status`. Until there is
something to do, only small modules of Python itself are imported.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, Final

from .notes import add_fault

EVENTS: Final = {
    "session-start": ("compacting", "recall"),
    "pre-compact": ("compacting", "keep"),
    "stop": ("filling", "tell"),
    "status-line": ("status_line", "status_line"),
    "measure": ("filling", "measure"),
}
"""Module and function by event. The function takes the client and the event's values and returns an answer."""

_MOST: Final = 10_000_000
"""Maximum bytes of an event. Clients send a few hundred."""


def run(arguments: Sequence[str]) -> None:
    """Answer an event on standard output. Silent if that is impossible."""
    client, event = (*arguments, "", "")[:2]
    if sys.stdin is None or sys.stdin.isatty():
        return  # A person typed the command.
    try:
        given = json.loads(sys.stdin.buffer.read(_MOST) or b"{}")
        module, function = EVENTS[event]
        answer: Callable[[str, Any], str] = getattr(import_module(f".{module}", __package__), function)
        text = answer(client, given if isinstance(given, dict) else {})
        if text:
            sys.stdout.buffer.write(text.encode("utf-8", "replace"))
            sys.stdout.buffer.flush()
    except Exception as error:
        add_fault(client, event, f"{type(error).__name__}: {error}")
