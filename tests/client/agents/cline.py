"""Cline CLI in a throw-away home."""

import json
import os
import signal
import time
from pathlib import Path

from .. import messages_api
from ..install import Ran
from ..loopback import Json, serve
from ..screen import on_terminal
from .agent import KeptInFile, Turns, call


class Cline(KeptInFile):
    format = "cline"
    script = messages_api.Script
    pattern = ".cline/data/sessions/*/*.messages.json"
    around = r'^<user_input mode="act">|</user_input>$'
    requests = ("Give item 7 a name.",)

    def tools(self) -> dict[str, Json]:
        old, new = "item_7 = make_item(7, 49)", "item_seven = make_item(7, 49)"
        return {
            "read": call("read_files", files=[{"path": self.store}]),
            "edit": call("editor", path=self.store, old_text=old, new_text=new),
            "count": call("run_commands", commands=["seq 200"]),
            "fail": call("run_commands", commands=["exit 3"]),
        }

    def id_of(self, path: Path) -> str:
        return path.parent.name

    def run(self, prompt: str, turns: Turns = (), session: str | None = None) -> Ran:
        """It goes on with a session on a terminal only, where it leaves a process behind."""
        if session is None:
            return super().run(prompt, turns)
        with serve(type(self).script(turns)) as service:
            known = self.environment() | self.settings(service.url)
            with on_terminal(self.command("", session)[:-1], self.project, known) as screen:
                screen.wait_for("Auto-approve")
                screen.type(prompt)
                screen.wait_for(prompt.split()[-1])
                time.sleep(1)  # What comes in one piece is taken for pasted, with its line break.
                screen.type("\r")
                screen.wait_until(lambda: bool(self.sent(service)))
                self._end_daemon()
        return Ran(screen.shown, "", 0, self.sent(service))

    def _end_daemon(self) -> None:
        lock = self.home / ".cline" / "data" / "locks" / "hub" / "production.json"
        if lock.exists():
            os.kill(json.loads(lock.read_bytes())["pid"], signal.SIGTERM)

    def command(self, prompt: str, session: str | None) -> list[str | Path]:
        program = self.clients.program("cline")
        return [program, *(["--id", session] if session else []), prompt]

    def settings(self, url: str) -> dict[str, str]:
        provider = {"provider": "anthropic", "apiKey": "dummy", "model": messages_api.MODEL, "baseUrl": f"{url}/v1"}
        served = {"settings": provider, "updatedAt": "2026-03-02T09:00:00.000Z", "tokenSource": "manual"}
        settings = {"version": 1, "lastUsedProvider": "anthropic", "modes": {}, "providers": {"anthropic": served}}
        path = self.home / ".cline" / "data" / "settings" / "providers.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(settings))
        # Otherwise it leaves a process behind that other sessions talk to.
        return {"CLINE_SESSION_BACKEND_MODE": "local", "CLINE_NO_AUTO_UPDATE": "1"}
