"""What hooks remember from one event to the next: small files in the user's cache folder, one for each session.

No content of a session is in them: numbers, and what was said when. Losing them loses nothing else. Paths are strings
here, and files are written by hand: what the rest of the house uses for both takes longer to import than all of this.
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
"""Faults that are remembered, the newest; and characters of one."""

_PLAIN: Final = re.compile(r"[A-Za-z0-9_-]{1,80}")
_KEPT_SECONDS: Final = 30 * 24 * 3_600

Notes = dict[str, Any]


def folder() -> str:
    """Where the notes are, in the cache folder of this user."""
    return os.path.join(cache_folder(), "hooks")


def notes_of(client: str, session: object) -> Notes:
    """What is remembered of a session; nothing where that cannot be read."""
    try:
        found = json.loads(_read(_file(client, session)))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def remember(client: str, session: object, **values: object) -> None:
    """Add to what is remembered of a session. Raises OSError."""
    path = _file(client, session)
    before = notes_of(client, session)
    if before.items() >= values.items():
        return
    if not os.path.exists(path):
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        _forget_old(os.path.dirname(path))
    _replace(path, json.dumps(before | values).encode())


def add_fault(client: str, event: str, what: str) -> None:
    """Note what went wrong. Where not even that is possible, nothing happens."""
    with contextlib.suppress(OSError):
        path = os.path.join(folder(), _FAULTS)
        os.makedirs(folder(), mode=0o700, exist_ok=True)
        fault = {"time": round(time.time()), "client": client, "event": event, "what": what[:_LONGEST]}
        lines = _read(path).splitlines()[1 - _MOST_FAULTS :] if os.path.exists(path) else []
        _replace(path, b"\n".join([*lines, json.dumps(fault).encode(), b""]))


def faults_of(client: str) -> list[Notes]:
    """What went wrong in hooks of a client, the oldest first."""
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
    """Write a file whole or not at all."""
    new = f"{path}.{os.getpid()}.new"
    with open(new, "wb") as file:
        file.write(data)
    os.replace(new, path)


def _forget_old(where: str) -> None:
    for entry in os.scandir(where):
        with contextlib.suppress(OSError):
            if time.time() - entry.stat().st_mtime > _KEPT_SECONDS:
                os.unlink(entry.path)
