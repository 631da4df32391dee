"""opencode in a throw-away home. It keeps sessions in a database: one is exported to be condensed, and imported."""

import json
import shutil
import sqlite3
import subprocess
from pathlib import Path

from ..install import TIMEOUT
from ..loopback import Json
from . import chat_api
from .agent import Agent, call


class OpenCode(Agent):
    format = "opencode"
    script = chat_api.Script

    @property
    def folder(self) -> Path:
        return self.home / ".local" / "share" / "opencode"

    def tools(self) -> dict[str, Json]:
        old, new = "item_7 = make_item(7, 49)", "item_seven = make_item(7, 49)"
        return {
            "read": call("read", filePath=self.store),
            "edit": call("edit", filePath=self.store, oldString=old, newString=new),
            "count": call("bash", command="seq 200", description="Counts to 200"),
            "fail": call("bash", command="exit 3", description="Fails"),
        }

    @property
    def program(self) -> Path:
        return self.clients.program("opencode")

    def session(self) -> tuple[str, bytes]:
        with sqlite3.connect(self.folder / "opencode.db") as database:
            ((session,),) = database.execute("SELECT id FROM session").fetchall()
        exported = self.home / "exported.json"
        with exported.open("wb") as file:  # Through a pipe it would stop at 65,536 bytes.
            self._run("export", session, stdout=file)
        return session, exported.read_bytes()

    def put(self, data: bytes) -> None:
        """In a new database: what the client has already, it does not import."""
        shutil.rmtree(self.folder)
        path = self.home / "imported.json"
        path.write_bytes(data)
        self._run("import", path)

    def _run(self, *arguments: str | Path, stdout: object = subprocess.DEVNULL) -> None:
        subprocess.run(
            [self.program, *arguments],
            cwd=self.project,
            env=self.environment() | self.settings("http://127.0.0.1:9"),
            stdin=subprocess.DEVNULL,
            stdout=stdout,  # type: ignore[call-overload]
            check=True,
            timeout=TIMEOUT,
        )

    def command(self, prompt: str, session: str | None) -> list[str | Path]:
        return [self.program, "run", "--auto", "--title", "Items", *(["-s", session] if session else []), prompt]

    def settings(self, url: str) -> dict[str, str]:
        limit = {"context": 200_000, "output": 8_000}
        provider = {
            "npm": "@ai-sdk/openai-compatible",
            "name": "loopback",
            "options": {"baseURL": f"{url}/v1", "apiKey": "dummy"},
            "models": {chat_api.MODEL: {"name": "loopback", "limit": limit}},
        }
        model = f"loopback/{chat_api.MODEL}"
        settings = {"autoupdate": False, "share": "disabled", "snapshot": False, "model": model, "small_model": model}
        return {
            # A file of its own would make it install packages beside it.
            "OPENCODE_CONFIG_CONTENT": json.dumps({**settings, "provider": {"loopback": provider}}),
            "OPENCODE_PURE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        }
