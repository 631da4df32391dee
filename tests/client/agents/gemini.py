"""Gemini CLI in a throw-away home."""

from __future__ import annotations

import json
from pathlib import Path

from ..loopback import Json
from . import gemini_api
from .agent import KeptInFile, call


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
        program = self.clients.program("@google/gemini-cli@latest", "@google/gemini-cli/bundle/gemini.js")
        options = ["--skip-trust", "--yolo", "--model", gemini_api.MODEL]
        return [self.clients.node, program, *options, *(["--resume", session] if session else []), "-p", prompt]

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
