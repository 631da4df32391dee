"""Gemini CLI in a throw-away home."""

import json
from pathlib import Path

from ..install import Ran
from ..loopback import Json
from . import gemini_api
from .agent import KeptInFile, Turns, call

_EARLIER = "session-2026-01-02T03-04"
"""How the name of a log begins, with the minute in which its session did."""


class Gemini(KeptInFile):
    format = "gemini-log"
    script = gemini_api.Script
    pattern = ".gemini/tmp/*/chats/session-*.jsonl"
    adds = ("<session_context>",)

    def tools(self) -> dict[str, Json]:
        old, new = "item_7 = make_item(7, 49)", "item_seven = make_item(7, 49)"
        return {
            "read": call("read_file", file_path=self.store),
            "edit": call("replace", file_path=self.store, old_string=old, new_string=new, instruction="Name it."),
            "count": call("run_shell_command", command="seq 200", description="Counts to 200"),
            "fail": call("run_shell_command", command="exit 3", description="Fails"),
        }

    def id_of(self, path: Path) -> str:
        return str(json.loads(path.read_bytes().splitlines()[0])["sessionId"])

    def command(self, prompt: str, session: str | None) -> list[str | Path]:
        program = self.clients.program("gemini")
        options = ["--skip-trust", "--yolo", "--model", gemini_api.MODEL]
        resumed = [_option(session), session] if session else []
        return [self.clients.node, program, *options, *resumed, "-p", prompt]

    def run(self, prompt: str, turns: Turns = (), session: str | None = None) -> Ran:
        """A session goes on as in a later minute than that in which it began, which the name of its file says.

        Within the same one the client begins the file anew, and forgets what it holds of calls beside the messages.
        """
        if session and _option(session) == "--resume":
            path = self.path()
            path.rename(path.with_name(_EARLIER + path.name[len(_EARLIER) :]))
        return super().run(prompt, turns, session)

    def settings(self, url: str) -> dict[str, str]:
        path = self.home / ".gemini" / "settings.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        settings = {
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "privacy": {"usageStatisticsEnabled": False},
            "telemetry": {"enabled": False},
            "general": {"enableAutoUpdate": False},
        }
        path.write_text(json.dumps(settings))
        return {"GEMINI_API_KEY": "dummy", "GOOGLE_GEMINI_BASE_URL": url}


def _option(session: str) -> str:
    """How the client is told to go on: with a session of its own, by the id, or with any file."""
    return "--session-file" if Path(session).is_file() else "--resume"
