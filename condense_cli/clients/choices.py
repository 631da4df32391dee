"""Names of clients and orders of sessions, and the folders of this user. Help pages load this file alone."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path

from ..core import user_folders


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


class Order(StrEnum):
    NEWEST = "newest"
    LARGEST = "largest"


def cache_folder() -> Path:
    return Path(user_folders.cache_folder())


def tilde(path: str) -> str:
    """Shorten the home folder at the beginning of a path to `~`."""
    home = os.path.expanduser("~")
    return f"~{path[len(home) :]}" if path.startswith(home + os.sep) else path
