"""The real clients, installed from the npm registry, and what a run of one gives."""

import fcntl
import os
import platform
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from .loopback import Json

TIMEOUT = 120
"""Seconds after which a client that was started is taken to hang."""

_MACHINES = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64"}
_NODE = f"node-{sys.platform}-{_MACHINES.get(platform.machine().lower(), platform.machine().lower())}"
_NEWEST_NODE = 22
"""The release of Node.js that some clients ask for; this very program is a package too."""

PROGRAMS: Final = {
    # The program itself: the package's own entry is put there by a script that npm may be told not to run.
    "claude": ("@anthropic-ai/claude-code@latest", "@anthropic-ai/claude-code-*/claude"),
    "codex": ("@openai/codex@latest", "@openai/codex-*/vendor/*/bin/codex"),
    "opencode": ("opencode-ai@latest", "opencode-*/bin/opencode"),
    # Later releases name packages that are not in every registry.
    "pi": ("@earendil-works/pi-coding-agent@0.87", "@earendil-works/pi-coding-agent/dist/cli.js"),
    "gemini": ("@google/gemini-cli@latest", "@google/gemini-cli/bundle/gemini.js"),
    "qwen": ("@qwen-code/qwen-code@latest", "@qwen-code/qwen-code/cli.js"),
    "kimi": ("@moonshot-ai/kimi-code@latest", "@moonshot-ai/kimi-code/dist/main.mjs"),
    "copilot": ("@github/copilot@latest", "@github/copilot-*/copilot"),
    "cline": ("cline@latest", "@cline/cli-*/bin/cline"),
    "node": (f"{_NODE}@{_NEWEST_NODE}", f"{_NODE}/bin/node"),
}
"""Each client's package with its version, and where in `node_modules` the program is."""


@dataclass(frozen=True)
class Clients:
    """A folder with clients in its `node_modules`. A client that is missing is installed when a test asks for it."""

    folder: Path

    @property
    def node(self) -> Path:
        """Node.js as the newer clients want it: the machine's own, or the registry's."""
        own = shutil.which("node")
        if own and int(_version(own).removeprefix("v").split(".")[0]) > _NEWEST_NODE:
            return Path(own)
        return self.program("node")

    def program(self, name: str) -> Path:
        package, pattern = PROGRAMS[name]
        modules = self.folder.resolve() / "node_modules"
        if not any(modules.glob(pattern)):
            self.install(package)
        found = sorted(path for path in modules.glob(pattern) if path.is_file())
        assert found, f"{modules} holds no {pattern}"
        return found[0]

    def install(self, *packages: str) -> None:
        """Install or update, one process at a time: tests of several clients run side by side."""
        self.folder.mkdir(parents=True, exist_ok=True)
        # Where npm finds no such file it takes the folder above for the one to install to, and others out of this one.
        if not (self.folder / "package.json").exists():
            (self.folder / "package.json").write_text("{}")
        command = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(self.folder)]
        with (self.folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            subprocess.run([*command, *packages], cwd=self.folder, check=True, timeout=600)


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


if __name__ == "__main__":
    packages = [package for package, _ in PROGRAMS.values()]
    print("Installing or updating", *packages, flush=True)
    Clients(Path(sys.argv[1])).install(*packages)
