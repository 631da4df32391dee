"""The real clients, installed from the npm registry, and what a run of one gives."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from .loopback import Json

TIMEOUT = 120
"""Seconds after which a client that was started is taken to hang."""

_MACHINES = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64"}
_NODE = f"node-{sys.platform}-{_MACHINES.get(platform.machine().lower(), platform.machine().lower())}"
_NEWEST_NODE = 22
"""The release of Node.js that some clients ask for; this very program is a package too."""


@dataclass(frozen=True)
class Clients:
    """A folder with clients in its `node_modules`. Each is installed, or brought up to date, once a test asks for it.

    `is_kept`: those that are in the folder are used as they are.
    """

    folder: Path
    is_kept: bool = False
    _asked: set[str] = field(default_factory=set)

    @property
    def claude(self) -> Path:
        """The program itself: the package's own entry is put there by a script that npm may be told not to run."""
        return self.program("@anthropic-ai/claude-code@latest", "@anthropic-ai/claude-code-*/claude")

    @property
    def codex(self) -> Path:
        return self.program("@openai/codex@latest", "@openai/codex-*/vendor/*/bin/codex")

    @property
    def node(self) -> Path:
        """Node.js as the newer clients want it: the machine's own, or the registry's."""
        own = shutil.which("node")
        if own and int(_version(own).removeprefix("v").split(".")[0]) > _NEWEST_NODE:
            return Path(own)
        return self.program(f"{_NODE}@{_NEWEST_NODE}", f"{_NODE}/bin/node")

    def program(self, package: str, pattern: str) -> Path:
        """The first file of a pattern below `node_modules`, where `package`, with its version, puts it."""
        modules = self.folder.resolve() / "node_modules"
        if package not in self._asked and not (self.is_kept and any(modules.glob(pattern))):
            self._install(package)
        self._asked.add(package)
        found = sorted(path for path in modules.glob(pattern) if path.is_file())
        assert found, f"{modules} holds no {pattern}"
        return found[0]

    def _install(self, package: str) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        # Where npm finds no such file it takes the folder above for the one to install to, and others out of this one.
        if not (self.folder / "package.json").exists():
            (self.folder / "package.json").write_text("{}")
        command = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(self.folder)]
        subprocess.run([*command, package], cwd=self.folder, check=True, timeout=600)


@dataclass(frozen=True)
class Ran:
    """What a run of a client printed and sent."""

    output: str
    error: str
    status: int
    requests: tuple[Json, ...]
    """Bodies of the requests for an answer of the conversation, in order."""


@cache
def _version(program: str) -> str:
    return subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout


def environment(home: Path) -> dict[str, str]:
    """What a client may see of this machine: where programs are, and a throw-away home."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    folders = {"CONFIG": ".config", "CACHE": ".cache", "DATA": ".local/share", "STATE": ".local/state"}
    return kept | {"HOME": str(home)} | {f"XDG_{name}_HOME": str(home / folder) for name, folder in folders.items()}
