"""The real clients, installed from the npm registry, and what a run of one gives."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from .loopback import Json

TIMEOUT = 120
"""Seconds after which a client that was started is taken to hang."""

PACKAGES = ("@anthropic-ai/claude-code@latest", "@openai/codex@latest")


@dataclass(frozen=True)
class Clients:
    """A folder with both clients in its `node_modules`."""

    folder: Path

    @property
    def claude(self) -> Path:
        """The program itself: the package's own entry is put there by a script that npm may be told not to run."""
        return self._found("@anthropic-ai/claude-code-*/claude")

    @property
    def codex(self) -> Path:
        return self._found("@openai/codex-*/vendor/*/bin/codex")

    def _found(self, pattern: str) -> Path:
        modules = self.folder.resolve() / "node_modules"
        found = sorted(path for path in modules.glob(pattern) if os.access(path, os.X_OK))
        assert found, f"{modules} holds no {pattern}"
        return found[0]


@dataclass(frozen=True)
class Ran:
    """What a run of a client printed and sent."""

    output: str
    error: str
    status: int
    requests: tuple[Json, ...]
    """Bodies of the requests for an answer of the conversation, in order."""


def install(folder: Path) -> Clients:
    """Both clients as they are now, in a folder that may hold older ones."""
    command = ["npm", "install", "--no-audit", "--no-fund", "--no-save", "--prefix", str(folder), *PACKAGES]
    subprocess.run(command, cwd=folder, check=True, timeout=600)
    return Clients(folder)


def environment(home: Path) -> dict[str, str]:
    """What a client may see of this machine: where programs are, and a throw-away home."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    return kept | {"HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config"), "XDG_CACHE_HOME": str(home / ".cache")}
