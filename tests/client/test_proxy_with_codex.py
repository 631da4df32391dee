"""Codex through the proxy: forty turns, a resume, an interrupt, a cut stream, as its users start it."""

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from proxy.upstream import proxied

from condense_cli.live.state import StateFile

from . import responses_api
from .codex import Codex
from .install import environment
from .loopback import Json, Service, serve
from .proxying import SETTINGS, Moody, breaks, changes, interrupt, is_condensed, run, tokens_of, violations
from .responses_api import call, reasoning, text

pytestmark = pytest.mark.client

_OPTIONS = ("--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox")


def turns(number: int, start: int = 0) -> list[list[Json]]:
    found: list[list[Json]] = []
    for n in range(start, start + number):
        items = [call("exec_command", cmd=f"seq {n * 1000} {n * 1000 + 900}")]
        if n % 4 == 1:
            items = [reasoning(f"Now number {n}."), text(f"I look at {n}."), *items, call("exec_command", cmd="exit 3")]
        found.append(items)
    return found


def prepared(codex: Codex) -> dict[str, str]:
    codex.project.mkdir(parents=True)
    codex.folder.mkdir(parents=True)
    (codex.folder / "config.toml").write_text(
        f'model = "{responses_api.MODEL}"\ncheck_for_update_on_startup = false\n[analytics]\nenabled = false\n'
    )
    return environment(codex.home) | {"CODEX_HOME": str(codex.folder), "CODEX_API_KEY": "dummy"}


def command(codex: Codex, url: str, *arguments: str) -> list[str | Path]:
    return [codex.executable, "-c", f'openai_base_url="{url}/v1"', "exec", *_OPTIONS, *arguments]


def conversation(service: Service) -> list[Json]:
    return [request.body for request in service.requests if request.method == "POST" and isinstance(request.body, dict)]


def test_forty_turns(codex: Codex, tmp_path: Path) -> None:
    env = prepared(codex)
    plan = turns(16)
    script = responses_api.Script([*plan, [text("Done.")], *turns(4, 20), *turns(22, 30)], tokens_of)
    moody = Moody(script, cut=frozenset({5}), silent=len(plan) + 5)
    state = tmp_path / "live.db"
    with serve(moody) as service:
        with proxied(service.url, StateFile(state), **SETTINGS) as running:
            first = run(command(codex, running.url, "Please look at everything."), codex.project, env)
            assert first.returncode == 0, first.stderr[-2_000:]
            (rollout,) = codex.rollouts()
            session = rollout.stem[-36:]
            again = command(codex, running.url, "resume", session, "Go on.")
            assert interrupt(again, codex.project, env, moody) != 0
            assert running.proxy.record.fault_count == 0
            decided = changes(running)
            # The WebSocket that it tries first is refused at once, and costs it no retries.
            assert not any(request.headers.get("upgrade") for request in service.requests)
        with proxied(service.url, StateFile(state), **SETTINGS) as running:
            third = run(command(codex, running.url, "resume", session, "Once more."), codex.project, env)
            assert third.returncode == 0, third.stderr[-2_000:]
            assert running.proxy.record.fault_count == 0
            decided += changes(running)
    bodies = conversation(service)
    assert len(bodies) >= 40
    assert is_condensed(bodies[-1]["input"])
    assert breaks([body["input"] for body in bodies]) <= decided
    assert violations(bodies, "input", "openai-responses") == []


def test_the_client_that_the_proxy_starts(codex: Codex, tmp_path: Path) -> None:
    env: Mapping[str, str] = prepared(codex)
    with serve(responses_api.Script(turns(10), tokens_of)) as service:
        settings = codex.folder / "config.toml"
        settings.write_text(f'openai_base_url = "{service.url}/v1"\n{settings.read_text()}')
        proxy = [sys.executable, "-m", "condense_cli", "proxy", "--policy", "tokens:12000", "--", str(codex.executable)]
        ran = run([*proxy, "exec", *_OPTIONS, "Look at it."], codex.project, env)
    assert ran.returncode == 0, ran.stderr[-2_000:]
    assert ran.stdout.strip() == "Done."
    assert ran.stderr.splitlines()[-1].startswith("condense: 11 requests in 1 conversation; saved ")
    (rollout,) = codex.rollouts()
    assert '"model_provider":"openai"' in rollout.read_text()
