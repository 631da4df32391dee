"""Codex in a throw-away home, talking to the loopback service."""

import contextlib
import re
import sqlite3
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from . import responses_api
from .install import TIMEOUT, Ran, environment
from .loopback import Json, Service, serve

_BASE_URL = re.compile(r'base_url = "http://127[^"]*"')
_NO_SANDBOX = "--dangerously-bypass-approvals-and-sandbox"


@dataclass(frozen=True)
class Codex:
    """One installation of the client with a home and a project folder of its own."""

    executable: Path
    home: Path

    @property
    def project(self) -> Path:
        return self.home / "project"

    @property
    def folder(self) -> Path:
        return self.home / ".codex"

    def rollouts(self) -> list[Path]:
        return sorted(self.folder.glob("sessions/*/*/*/rollout-*.jsonl"))

    def indexed(self, session_id: str) -> tuple[int, int, int]:
        """Up to which byte and ordinal the client has read a rollout for its list of turns, and how many it lists."""
        with contextlib.closing(sqlite3.connect(self.folder / "thread_history_1.sqlite")) as index:
            state = "SELECT next_rollout_byte_offset, next_rollout_ordinal FROM thread_history_projection_state"
            place, ordinal = index.execute(f"{state} WHERE thread_id = ?", [session_id]).fetchone()
            (turns,) = index.execute("SELECT count(*) FROM thread_turns WHERE thread_id = ?", [session_id]).fetchone()
        return place, ordinal, turns

    def put(self, data: bytes, name: str) -> Path:
        """Store a rollout under the name that the client gave it; the day's folder does not matter."""
        path = self.folder / "sessions" / "2026" / "03" / "02" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path

    def start(self, prompt: str, turns: Sequence[Sequence[Json]] = (), options: Sequence[str] = ()) -> Ran:
        return self._run([*options, prompt], turns)

    def resume(
        self, session_id: str, prompt: str, turns: Sequence[Sequence[Json]] = (), options: Sequence[str] = ()
    ) -> Ran:
        return self._run([*options, "resume", session_id, prompt], turns)

    def _run(self, arguments: Sequence[str], turns: Sequence[Sequence[Json]]) -> Ran:
        self.project.mkdir(parents=True, exist_ok=True)
        self.folder.mkdir(parents=True, exist_ok=True)
        with serve(responses_api.Script(turns)) as service:
            configuration = self.folder / "config.toml"
            given = configuration.read_text() if configuration.exists() else ""
            if "[model_providers.loopback]" not in given:
                # Behind what is there already the keys of our own would be those of its last table.
                given = _configuration(service) + given
            configuration.write_text(_BASE_URL.sub(f'base_url = "{service.url}/v1"', given))
            finished = subprocess.run(
                [self.executable, "exec", "--skip-git-repo-check", _NO_SANDBOX, *arguments],
                cwd=self.project,
                env=environment(self.home) | {"CODEX_HOME": str(self.folder), "LOOPBACK_API_KEY": "dummy"},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=TIMEOUT,
            )
        sent = tuple(
            request.body for request in service.requests if request.method == "POST" and "/responses" in request.path
        )
        return Ran(finished.stdout, finished.stderr, finished.returncode, sent)


def _configuration(service: Service) -> str:
    return f"""
model = "{responses_api.MODEL}"
model_provider = "loopback"
check_for_update_on_startup = false

[model_providers.loopback]
name = "loopback"
base_url = "{service.url}/v1"
env_key = "LOOPBACK_API_KEY"
wire_api = "responses"
request_max_retries = 0
stream_max_retries = 0

[analytics]
enabled = false

[otel]
exporter = "none"
"""
