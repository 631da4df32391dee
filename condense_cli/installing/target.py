"""Where a client keeps the settings that are changed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct


class Target(Struct, frozen=True):
    """The settings of a client for this user, or for one `project` of theirs.

    `has_mcp` tells whether the server can run: it needs a package of its own.
    """

    client: str
    home: Path
    environment: Mapping[str, str]
    project: Path | None = None
    has_mcp: bool = True

    @property
    def folder(self) -> Path:
        """The client's own folder in the user's home."""
        if self.client == "codex":
            return Path(self.environment.get("CODEX_HOME") or self.home / ".codex")
        return Path(self.environment.get("CLAUDE_CONFIG_DIR") or self.home / ".claude")
