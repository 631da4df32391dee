"""Names of clients and orders of sessions, and the folders of this user. Help pages load this file alone."""

from __future__ import annotations

import os
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path


class Client(StrEnum):
    CLAUDE_CODE = "claude-code"
    CODEX = "codex"
    ROO = "roo"
    CLINE = "cline"
    OPENCODE = "opencode"
    PI = "pi"
    GEMINI = "gemini"
    KIMI = "kimi"
    QWEN = "qwen-code"
    COPILOT = "copilot"
    GOOSE = "goose"


RESUMABLE = frozenset({Client.CLAUDE_CODE, Client.CODEX})
"""Clients that would resume a session written beside the others."""


CLAUDE_FOLDER = "CLAUDE_CONFIG_DIR"
"""Variable that names Claude Code's folder."""


CONDENSED = "(condensed)"
"""Ends the title of a session that was written by condense."""


def own_folder(client: Client, home: Path, environment: Mapping[str, str]) -> Path:
    """Return the folder in which a client keeps the user's settings."""
    match client:
        case Client.CLAUDE_CODE:
            return Path(environment.get(CLAUDE_FOLDER) or home / ".claude")
        case Client.CODEX:
            return Path(environment.get("CODEX_HOME") or home / ".codex")
        case Client.PI:
            return Path(environment.get("PI_CODING_AGENT_DIR") or home / ".pi" / "agent")
        case Client.OPENCODE:
            return Path(environment.get("XDG_CONFIG_HOME") or home / ".config") / "opencode"
    raise KeyError(client)


def tilde(path: str) -> str:
    """Shorten the home folder at the beginning of a path to `~`."""
    home = os.path.expanduser("~")
    return f"~{path[len(home) :]}" if path.startswith(home + os.sep) else path
