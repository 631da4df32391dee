"""Clients that have their addresses in files of their own are led to the proxy, and no file of theirs changes."""

import json
from pathlib import Path

import pytest
from helpers import snapshot
from msgspec.structs import replace
from proxy.upstream import proxied

from condense_cli.proxy.clients import started

from .agents import chat_api
from .agents.agent import Agent
from .agents.cline import Cline
from .agents.copilot import Copilot
from .agents.gemini import Gemini
from .agents.kimi import Kimi
from .agents.opencode import OpenCode
from .agents.pi import Pi
from .agents.qwen import Qwen
from .install import Clients
from .loopback import serve
from .messages_api import text
from .proxying import SETTINGS, run

pytestmark = pytest.mark.client


class QwenWithModels(Qwen):
    """Qwen Code whose settings name the models of providers, which go before variables."""

    def settings(self, url: str) -> dict[str, str]:
        path = self.home / ".qwen" / "settings.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        model = {"id": chat_api.MODEL, "envKey": "OWN_KEY", "baseUrl": f"{url}/v1"}
        chosen = {"security": {"auth": {"selectedType": "openai"}}, "model": {"name": chat_api.MODEL}}
        path.write_text(json.dumps({"modelProviders": {"openai": [model]}, **chosen}))
        return {"OWN_KEY": "dummy"}


AGENTS: list[type[Agent]] = [Cline, Copilot, Gemini, Kimi, OpenCode, Pi, Qwen, QwenWithModels]


@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.__name__)
def test_its_requests_come_by_here(clients: Clients, agent: type[Agent], tmp_path: Path) -> None:
    client = agent(clients, tmp_path / "home")
    client.project.mkdir(parents=True)
    folder = tmp_path / "run"
    folder.mkdir()
    turns = [[client.tools()["count"]], [text("Done.")]]
    with serve(agent.script(turns)) as service:
        env = client.environment() | client.settings(service.url)
        kept = [name for name in snapshot(client.home) if (client.home / name).is_file()]
        command = [*map(str, client.command("Count to 200.", None))]
        # Node.js starts some of them: the client is what it runs.
        begins = [str(clients.node)] if command[0] == str(clients.node) else []
        program = Path(command[len(begins)])
        link = tmp_path / agent.__name__.removesuffix("WithModels").lower()
        link.symlink_to(program)
        with proxied(None, None, **SETTINGS) as running:
            found = started([str(link), *command[len(begins) + 1 :]], running.url, env, client.home, folder)
            running.proxy.settings = replace(running.proxy.settings, upstream=found.led.upstream, vendors=found.vendors)
            ran = run([*begins, str(program), *found.command[1:]], client.project, found.environment)
            reached = running.proxy.record.sums.requests
        assert ran.returncode == 0, ran.stdout + ran.stderr
        assert len(client.sent(service)) == len(turns), ran.stdout + ran.stderr
        assert reached == len(turns), ran.stdout + ran.stderr
    assert not any(running.url.encode() in (client.home / name).read_bytes() for name in kept)
