"""pi in a throw-away home."""

import json
from pathlib import Path

from ..loopback import Json
from . import chat_api
from .agent import KeptInFile, call


class Pi(KeptInFile):
    format = "pi"
    script = chat_api.Script
    pattern = ".pi/agent/sessions/*/*.jsonl"

    def tools(self) -> dict[str, Json]:
        edit = {"oldText": "item_7 = make_item(7, 49)", "newText": "item_seven = make_item(7, 49)"}
        return {
            "read": call("read", path="store.py"),
            "edit": call("edit", path="store.py", edits=[edit]),
            "count": call("bash", command="seq 200"),
            "fail": call("bash", command="exit 3"),
        }

    def id_of(self, path: Path) -> str:
        return str(path)

    def command(self, prompt: str, session: str | None) -> list[str | Path]:
        program = self.clients.program("pi")
        model = ["--provider", "loopback", "--model", chat_api.MODEL]
        return [self.clients.node, program, "-p", *model, *(["--session", session] if session else []), prompt]

    def settings(self, url: str) -> dict[str, str]:
        served = {"baseUrl": f"{url}/v1", "api": "openai-completions", "apiKey": "dummy"}
        models = self.home / ".pi" / "agent" / "models.json"
        models.parent.mkdir(parents=True, exist_ok=True)
        models.write_text(json.dumps({"providers": {"loopback": {**served, "models": [{"id": chat_api.MODEL}]}}}))
        return {"PI_OFFLINE": "1", "PI_TELEMETRY": "0"}
