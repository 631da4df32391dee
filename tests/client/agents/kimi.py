"""Kimi Code in a throw-away home."""

from pathlib import Path

from ..loopback import Json
from . import chat_api
from .agent import KeptInFile, call


class Kimi(KeptInFile):
    format = "kimi"
    script = chat_api.Script
    pattern = ".kimi-code/sessions/*/*/agents/main/wire.jsonl"
    adds = ("<system-reminder>",)
    around = r"Wall time: [\d.]+ seconds\n|<system>ERROR: Tool execution failed.</system>\n"

    def tools(self) -> dict[str, Json]:
        old, new = "item_7 = make_item(7, 49)", "item_seven = make_item(7, 49)"
        return {
            "read": call("Read", path=self.store),
            "edit": call("Edit", path=self.store, old_string=old, new_string=new),
            "count": call("Bash", command="seq 200"),
            "fail": call("Bash", command="exit 3"),
        }

    def id_of(self, path: Path) -> str:
        return path.parents[2].name

    def command(self, prompt: str, session: str | None) -> list[str | Path]:
        program = self.clients.program("kimi")
        return [self.clients.node, program, *(["--session", session] if session else []), "-p", prompt]

    def settings(self, url: str) -> dict[str, str]:
        path = self.home / ".kimi-code" / "config.toml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"""
default_model = "loopback"
telemetry = false

[providers.loopback]
type = "openai"
base_url = "{url}/v1"
api_key = "dummy"

[models.loopback]
provider = "loopback"
model = "{chat_api.MODEL}"
max_context_size = 200000
""")
        return {}
