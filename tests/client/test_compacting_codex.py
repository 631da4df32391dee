"""Codex whose compactions the proxy answers: with its own provider and another one, several in a row, resumed."""

from pathlib import Path

import pytest
from proxy.upstream import proxied

from condense_cli.ledger.compaction import read_back
from condense_cli.live.state import StateFile

from . import responses_api
from .codex import Codex
from .install import environment
from .loopback import Json, Service, serve
from .proxying import run, tokens_of
from .responses_api import call, text

pytestmark = pytest.mark.client

OPTIONS = ("--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox")
TURNS = [[text(f"Part {n}."), call("exec_command", cmd=f"seq {n * 4000} {n * 4000 + 4000}")] for n in range(3)]
MINE = 'model_providers.mine={name="mine", base_url="%s/v1", env_key="CODEX_API_KEY", wire_api="responses"}'


def prepared(codex: Codex) -> dict[str, str]:
    codex.project.mkdir(parents=True)
    codex.folder.mkdir(parents=True)
    (codex.folder / "config.toml").write_text(
        f'model = "{responses_api.MODEL}"\ncheck_for_update_on_startup = false\n'
        "model_auto_compact_token_limit = 12000\n[analytics]\nenabled = false\n"
    )
    return environment(codex.home) | {"CODEX_HOME": str(codex.folder), "CODEX_API_KEY": "dummy"}


def inputs(service: Service) -> list[list[Json]]:
    return [request.body["input"] for request in service.requests if isinstance(request.body, dict)]


@pytest.mark.parametrize("provider", ["openai", "mine"])
def test_several_in_a_row_and_resumed(codex: Codex, tmp_path: Path, provider: str) -> None:
    env = prepared(codex)
    with serve(responses_api.Script([*TURNS, [text("Done.")]], tokens_of)) as service:
        settings = {"compact": "own", "compact_tokens": 1_500, "policy": "tokens:900000"}
        with proxied(service.url, StateFile(tmp_path / "live.db"), **settings) as running:
            given = ["-c", f'openai_base_url="{running.url}/v1"']
            if provider == "mine":
                given = ["-c", 'model_provider="mine"', "-c", MINE % running.url]
            command: list[str | Path] = [codex.executable, *given, "exec", *OPTIONS]
            first = run([*command, "Look at it. Never touch main."], codex.project, env)
            assert first.returncode == 0, first.stderr[-2_000:]
            (rollout,) = codex.rollouts()
            again = run([*command, "resume", rollout.stem[-36:], "What is left?"], codex.project, env)
            assert again.returncode == 0, again.stderr[-2_000:]
            compactions = running.proxy.record.compactions
            assert len(compactions) == 3
            assert all(each.is_ours for each in compactions)
            assert running.proxy.record.fault_count == 0
    sent = inputs(service)
    assert not any(each.get("type") in ("compaction", "compaction_trigger") for items in sent for each in items)
    texts = [part["text"] for each in sent[-1] for part in each.get("content") or () if "text" in part]
    (held,) = filter(None, map(read_back, texts))
    assert "Look at it. Never touch main." in [said.text for said in held.words]
    assert sum("seq" in each.text for each in held.ledger.commands) == 3
    assert texts[-1] == "What is left?"
