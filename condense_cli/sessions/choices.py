"""What sessions are chosen by. A help page names them all, and imports nothing of the search."""

from __future__ import annotations

from enum import StrEnum


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


class Order(StrEnum):
    NEWEST = "newest"
    LARGEST = "largest"
