"""Copilot CLI in a throw-away home, with a provider of the user's own."""

from pathlib import Path

from ..loopback import Json
from . import chat_api
from .agent import KeptInFile, call


class Copilot(KeptInFile):
    format = "copilot"
    script = chat_api.Script
    around = r"<current_datetime>[^<]*</current_datetime>\s*|\s*<system_reminder>[\s\S]*?</system_reminder>\s*"
    pattern = ".copilot/session-state/*/events.jsonl"

    def tools(self) -> dict[str, Json]:
        old, new = "item_7 = make_item(7, 49)", "item_seven = make_item(7, 49)"
        return {
            "read": call("view", path=self.store),
            "edit": call("edit", path=self.store, old_str=old, new_str=new),
            "count": call("bash", command="seq 200", description="Counts to 200"),
            "fail": call("bash", command="exit 3", description="Fails"),
        }

    def id_of(self, path: Path) -> str:
        return path.parent.name

    def command(self, prompt: str, session: str | None) -> list[str | Path]:
        program = self.clients.program("copilot")
        options = ["--allow-all-tools", "--no-color", *([f"--resume={session}"] if session else [])]
        return [program, *options, "-p", prompt]

    def settings(self, url: str) -> dict[str, str]:
        return {
            "COPILOT_PROVIDER_BASE_URL": f"{url}/v1",
            "COPILOT_PROVIDER_API_KEY": "dummy",
            "COPILOT_MODEL": chat_api.MODEL,
            "COPILOT_AUTO_UPDATE": "false",
        }
