"""Qwen Code in a throw-away home."""

from pathlib import Path

from ..loopback import Json
from . import chat_api
from .agent import KeptInFile, call


class Qwen(KeptInFile):
    format = "qwen-code"
    script = chat_api.Script
    pattern = ".qwen/projects/*/chats/*.jsonl"
    adds = ("<system-reminder>",)
    apart = "Managed memory has TWO directories"

    def tools(self) -> dict[str, Json]:
        old, new = "item_7 = make_item(7, 49)", "item_seven = make_item(7, 49)"
        return {
            "read": call("read_file", file_path=self.store),
            "edit": call("edit", file_path=self.store, old_string=old, new_string=new),
            "count": call("run_shell_command", command="seq 200", description="Counts", is_background=False),
            "fail": call("run_shell_command", command="exit 3", description="Fails", is_background=False),
        }

    def id_of(self, path: Path) -> str:
        return path.stem

    def command(self, prompt: str, session: str | None) -> list[str | Path]:
        program = self.clients.program("qwen")
        options = ["--auth-type", "openai", "--yolo", *(["--resume", session] if session else [])]
        return [self.clients.node, program, *options, prompt]

    def settings(self, url: str) -> dict[str, str]:
        return {"OPENAI_API_KEY": "dummy", "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_MODEL": chat_api.MODEL}
