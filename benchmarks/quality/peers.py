"""Define other tools that condense transcripts without a key: how to install, isolate and run each.

Each has a virtual environment in a cache folder and a throw-away home, and no network if the system can take it away.
`workers/` calls the tools; `shapes.py` converts their input and output.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import venv
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, Final, Literal

HERE: Final = Path(__file__).resolve().parent
QUIET: Final = {
    "COZEMPIC_NO_TELEMETRY": "1",
    "COZEMPIC_NO_AUTO_UPDATE": "1",
    "COZEMPIC_NO_AUTO_INIT": "1",
    "COZEMPIC_NO_GLOBAL_INIT": "1",
    "HEADROOM_OFFLINE": "1",
    "HEADROOM_TELEMETRY": "off",
    "HEADROOM_TELEMETRY_DISABLED": "1",
    "HEADROOM_BEACON": "off",
    "LANGCHAIN_TRACING_V2": "false",
    "LANGSMITH_TRACING": "false",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "HF_HUB_OFFLINE": "1",
    "OTEL_SDK_DISABLED": "true",
    "DO_NOT_TRACK": "1",
}
"""No telemetry, updates, client hooks or downloads."""

DEAD_PROXY: Final = "http://127.0.0.1:9"
SESSION: Final = "0b9f3a52-7c1d-4e86-9a40-5d2e8c6f1b73.jsonl"
"""Name of a session file: tools expect an id."""


@dataclass(frozen=True)
class Peer:
    """A tool: package, worker, and settings from mild to strong.

    `takes`: a session file of Claude Code, or a list of messages.
    """

    name: str
    package: str
    worker: str
    takes: Literal["file", "messages"]
    settings: dict[str, dict[str, Any]] = field(hash=False)


PEERS: Final = (
    Peer(
        "cozempic",
        "cozempic",
        "cozempic_worker.py",
        "file",
        {name: {"prescription": name} for name in ("gentle", "standard", "aggressive")},
    ),
    Peer(
        "claude-code-tools, trim",
        "claude-code-tools",
        "trim_worker.py",
        "file",
        {
            "500 characters": {"length": 500},
            "200 characters": {"length": 200},
            "100 characters": {"length": 100},
            "100 characters, answers too": {"length": 100, "assistant": -5},
        },
    ),
    Peer(
        "LangChain, results cleared",
        "langchain",
        "langchain_worker.py",
        "messages",
        {f"keep {keep}": {"keep": keep} for keep in (20, 10, 5, 3)},
    ),
    Peer(
        "LangChain, calls cleared too",
        "langchain",
        "langchain_worker.py",
        "messages",
        {f"keep {keep}": {"keep": keep, "clear_tool_inputs": True} for keep in (20, 10, 5, 3)},
    ),
    Peer(
        "headroom, compress",
        "headroom-ai",
        "headroom_worker.py",
        "messages",
        {
            "as it comes": {},
            "all of it, from 50 tokens": {
                "protect_recent": 0,
                "protect_analysis_context": False,
                "compress_user_messages": True,
                "min_tokens_to_compress": 50,
            },
        },
    ),
)


class PeerError(Exception):
    """A peer cannot be installed or does not answer."""


def python_of(peer: Peer, cache: Path) -> Path:
    """Return the Python of the peer's environment, created if missing. Raises PeerError."""
    folder = cache / peer.package
    python = folder / "bin" / "python"
    ready = folder / "ready"
    if not ready.exists():
        shutil.rmtree(folder, ignore_errors=True)
        venv.create(folder, with_pip=True)
        command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", peer.package]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise PeerError(f"{peer.package} cannot be installed: {done.stderr.strip().splitlines()[-1:]}")
        ready.touch()
    return python


def version_of(peer: Peer, cache: Path) -> str:
    code = f"import importlib.metadata as m; print(m.version({peer.package!r}))"
    command = [str(python_of(peer, cache)), "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def fresh_home(cache: Path, name: str) -> Path:
    """Return an empty folder for this process."""
    home = cache / "homes" / f"{name}-{os.getpid()}"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    return home


class Worker:
    """A process in the peer's environment that does one task after another."""

    def __init__(self, peer: Peer, cache: Path, home: Path) -> None:
        self.peer = peer
        self._home, self._numbers = home, count()
        self._log = (home / "stderr.txt").open("w+")
        command = [*_without_network(), str(python_of(peer, cache)), str(HERE / "workers" / peer.worker)]
        environment = {
            "PATH": os.environ.get("PATH", ""),
            "HOME": str(home),
            "XDG_CONFIG_HOME": str(home / ".config"),
            "XDG_CACHE_HOME": str(home / ".cache"),
            "XDG_DATA_HOME": str(home / ".local"),
            "CLAUDE_CONFIG_DIR": str(home / ".claude"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "NO_COLOR": "1",
            **dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), DEAD_PROXY),
            **QUIET,
        }
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=environment,
            cwd=home,
            encoding="utf-8",
        )

    def ask(self, given: Any, setting: dict[str, Any]) -> tuple[Any, float]:
        """Return the peer's output and the processor seconds it took. Raises PeerError."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps({"input": given, "setting": setting}) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            self._log.seek(0)
            said = self._log.read().strip().splitlines()[-1:]
            raise PeerError(f"{self.peer.name} ended: {said}")
        answer = json.loads(line)
        if "error" in answer:
            raise PeerError(f"{self.peer.name}: {answer['error']}")
        return answer["output"], float(answer["seconds"])

    def ask_file(self, session: bytes, setting: dict[str, Any]) -> Path:
        """Let the peer change a session file; return what it wrote. Raises PeerError."""
        path = self._home / ".claude" / "projects" / f"project-{next(self._numbers)}" / SESSION
        path.parent.mkdir(parents=True)
        path.write_bytes(session)
        return Path(self.ask(str(path), setting)[0])

    def close(self) -> None:
        with self._log, self._process:
            pass


def _without_network() -> list[str]:
    """Return a command prefix that gives a process an empty network."""
    unshare = shutil.which("unshare")
    if sys.platform != "linux" or unshare is None:
        return []
    prefix = [unshare, "--net", "--map-root-user"]
    works = subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode == 0
    return prefix if works else []
