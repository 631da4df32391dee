"""Claude Code in a throw-away home, talking to the loopback service."""

import re
import subprocess
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from . import messages_api
from .install import TIMEOUT, Ran
from .install import environment as clean_environment
from .loopback import Json, Service, serve


@dataclass(frozen=True)
class ClaudeCode:
    """One installation of the client with a home and a project folder of its own."""

    executable: Path
    home: Path

    @property
    def project(self) -> Path:
        return self.home / "project"

    @property
    def sessions(self) -> Path:
        """The client names the folder after the project's path, with everything but letters and digits as `-`."""
        return self.home / ".claude" / "projects" / re.sub(r"[^A-Za-z0-9]", "-", str(self.project))

    def session(self, session_id: str) -> Path:
        return self.sessions / f"{session_id}.jsonl"

    def put(self, data: bytes, session_id: str) -> Path:
        self.sessions.mkdir(parents=True, exist_ok=True)
        path = self.session(session_id)
        path.write_bytes(data)
        return path

    def start(
        self,
        prompt: str,
        turns: Sequence[Sequence[Json]] = (),
        session_id: str | None = None,
        model: str = messages_api.MODEL,
        options: Sequence[str] = (),
        usage: Json | None = None,
    ) -> Ran:
        """Begin a session. `usage` is what the service says of each request, where that is to be more than a little."""
        named = ["--session-id", session_id or str(uuid.uuid4())]
        return self._run([*options, *named, prompt], turns, model, usage)

    def resume(
        self, session_id: str, prompt: str, turns: Sequence[Sequence[Json]] = (), model: str | None = None
    ) -> Ran:
        """Go on with a session. The client sends no thinking of another model than the one it runs with."""
        return self._run(["--resume", session_id, prompt], turns, model or messages_api.MODEL)

    def _run(
        self,
        arguments: Sequence[str],
        turns: Sequence[Sequence[Json]],
        model: str = messages_api.MODEL,
        usage: Json | None = None,
    ) -> Ran:
        self.project.mkdir(parents=True, exist_ok=True)
        with serve(messages_api.Script(turns, usage=usage)) as service:
            finished = subprocess.run(
                [self.executable, "-p", "--model", model, "--dangerously-skip-permissions", *arguments],
                cwd=self.project,
                env=self.environment(service),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=TIMEOUT,
            )
        sent = tuple(request.body for request in service.requests if _is_turn(request.path, request.body))
        return Ran(finished.stdout, finished.stderr, finished.returncode, sent)

    def environment(self, service: Service) -> dict[str, str]:
        return clean_environment(self.home) | {
            "ANTHROPIC_BASE_URL": service.url,
            "ANTHROPIC_API_KEY": "dummy",
            "CLAUDE_CONFIG_DIR": str(self.home / ".claude"),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "IS_SANDBOX": "1",
        }


def _is_turn(path: str, body: object) -> bool:
    return path.partition("?")[0] == "/v1/messages" and isinstance(body, dict) and bool(body.get("tools"))
