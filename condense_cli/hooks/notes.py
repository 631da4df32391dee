"""Read events of clients, build answers, and remember facts between events.

Facts are in one small file per session in the user's cache folder. The files hold numbers and times of messages, never
content of a session. Losing them does no harm. Paths are strings and files are written by hand because the package's
own modules for both take longer to import than all of this.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import time
from typing import Any, Final

from ..core.user_folders import cache_folder

_FAULTS: Final = "faults.jsonl"
_MOST_FAULTS: Final = 100
_LONGEST: Final = 400
"""Number of newest faults kept, and characters of each."""

_PLAIN: Final = re.compile(r"[A-Za-z0-9_-]{1,80}")
_KEPT_SECONDS: Final = 30 * 24 * 3_600

Notes = dict[str, Any]


def session_of(given: dict[str, Any]) -> str:
    return str(given.get("session_id") or "")


def transcript_of(given: dict[str, Any]) -> str:
    """Return the session's file, or an empty string if it does not exist yet: clients may name it early."""
    path = given.get("transcript_path")
    return path if isinstance(path, str) and path.endswith(".jsonl") and os.path.isfile(path) else ""


def message(text: str) -> str:
    """Build an answer that the client shows to its user only."""
    return json.dumps({"systemMessage": text})


def context(event: str, text: str) -> str:
    """Build an answer that the client passes to the model."""
    return json.dumps({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}})


def folder() -> str:
    """Return the folder of the notes."""
    return os.path.join(cache_folder(), "hooks")


def notes_of(client: str, session: object) -> Notes:
    """Read a session's notes; empty if unreadable."""
    try:
        found = json.loads(_read(_file(client, session)))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def remember(client: str, session: object, **values: object) -> None:
    """Add to a session's notes. Raises OSError."""
    path = _file(client, session)
    before = notes_of(client, session)
    if before.items() >= values.items():
        return
    if not os.path.exists(path):
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        for entry in os.scandir(os.path.dirname(path)):
            with contextlib.suppress(OSError):
                if time.time() - entry.stat().st_mtime > _KEPT_SECONDS:
                    os.unlink(entry.path)
    _replace(path, json.dumps(before | values).encode())


def add_fault(client: str, event: str, what: str) -> None:
    """Note a fault, if possible."""
    with contextlib.suppress(OSError):
        path = os.path.join(folder(), _FAULTS)
        os.makedirs(folder(), mode=0o700, exist_ok=True)
        fault = {"time": round(time.time()), "client": client, "event": event, "what": what[:_LONGEST]}
        lines = _read(path).splitlines()[1 - _MOST_FAULTS :] if os.path.exists(path) else []
        _replace(path, b"\n".join([*lines, json.dumps(fault).encode(), b""]))


def faults_of(client: str) -> list[Notes]:
    """List faults in hooks of a client, oldest first."""
    try:
        lines = _read(os.path.join(folder(), _FAULTS)).splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        with contextlib.suppress(ValueError):
            fault = json.loads(line)
            if isinstance(fault, dict) and fault.get("client") == client:
                found.append(fault)
    return found


def _file(client: str, session: object) -> str:
    name = str(session)
    if not (_PLAIN.fullmatch(name) and _PLAIN.fullmatch(client)):
        raise OSError(f"no session is called {name[:_LONGEST]!r}")
    return os.path.join(folder(), client, f"{name}.json")


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _replace(path: str, data: bytes) -> None:
    """Write a file atomically."""
    new = f"{path}.{os.getpid()}.new"
    with open(new, "wb") as file:
        file.write(data)
    os.replace(new, path)
