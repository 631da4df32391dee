"""The known clients. A client is added here, in `choices.Client`, and by a value in a file of its own."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from . import claude_code, codex, editors, logs
from .choices import Client
from .client import HEAD, TAIL, KnownClient, Machine, SessionFile, SessionPlace

CLIENTS: Final[Mapping[Client, KnownClient]] = {
    Client.CLAUDE_CODE: claude_code.CLAUDE_CODE,
    Client.CODEX: codex.CODEX,
    Client.ROO: editors.ROO,
    Client.CLINE: editors.CLINE,
    Client.OPENCODE: logs.OPENCODE,
    Client.PI: logs.PI,
    Client.GEMINI: logs.GEMINI,
    Client.KIMI: logs.KIMI,
    Client.QWEN: logs.QWEN,
    Client.COPILOT: logs.COPILOT,
    Client.GOOSE: logs.GOOSE,
}


def places(home: Path, environment: Mapping[str, str], platform: str) -> list[SessionPlace]:
    """List every folder that may hold sessions, existing or not. `platform` is that of `sys.platform`."""
    machine = Machine(home, environment, platform)
    return [place for client in CLIENTS.values() for place in client.places(machine)]


def session_places() -> list[SessionPlace]:
    """List every folder in which a client of this user may keep sessions."""
    return places(Path(os.path.expanduser("~")), os.environ, sys.platform)


def project_at_head(file: SessionFile) -> str | None:
    """Return the project that the beginning of a file names; None also if the file cannot be read."""
    try:
        with open(file.path, "rb") as stream:
            return CLIENTS[file.client].peek.project(stream.read(HEAD))
    except OSError:
        return None


def updated_at(file: SessionFile) -> float:
    """Return when the last message was written, in seconds since 1970; else when the file was changed."""
    try:
        with open(file.path, "rb") as stream:
            stream.seek(max(0, file.size - TAIL))
            said = CLIENTS[file.client].peek.last_time(stream.read(TAIL))
    except OSError:
        said = None
    return file.mtime_ns / 1e9 if said is None else said
