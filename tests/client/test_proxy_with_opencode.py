"""opencode through the proxy: it takes the address of Anthropic's API for one that ends in /v1."""

import json
from pathlib import Path

import pytest
from proxy.upstream import proxied

from condense_cli.proxy.clients import started

from .agents.opencode import OpenCode
from .install import Clients, environment
from .loopback import serve
from .messages_api import Script, call, text
from .proxying import SETTINGS, is_condensed, run, tokens_of

pytestmark = pytest.mark.client

MODEL = "anthropic/claude-opus-4-6"
EAGER = {**SETTINGS, "policy": "tokens:12000"}


def test_a_session(clients: Clients, tmp_path: Path) -> None:
    client = OpenCode(clients, tmp_path / "opencode")
    client.project.mkdir(parents=True)
    turns = [[call("bash", command=f"seq {n * 1000} {n * 1000 + 2500}", description="Counts")] for n in range(5)]
    with serve(Script([*turns, [text("Done.")]], tokens_of)) as service, proxied(service.url, None, **EAGER) as running:
        settings = client.settings(service.url)
        settings["OPENCODE_CONFIG_CONTENT"] = json.dumps(
            {"autoupdate": False, "share": "disabled", "snapshot": False, "model": MODEL, "small_model": MODEL}
        )
        env = environment(client.home) | settings | {"ANTHROPIC_API_KEY": "dummy"}
        found = started([*map(str, client.command("Look.", None))], running.url, env, client.home, tmp_path)
        ran = run(found.command, client.project, found.environment)
        assert running.proxy.record.fault_count == 0
    assert ran.returncode == 0, ran.stdout + ran.stderr
    asked = [request for request in service.requests if request.method == "POST"]
    assert {request.path for request in asked} == {"/v1/messages"}
    assert len(asked) == 6
    assert is_condensed(asked[-1].body["messages"])
