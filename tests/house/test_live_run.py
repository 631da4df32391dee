"""The harness for live runs: an agent with and without the proxy, here against a scripted model on this machine."""

import json
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest
from real import PROJECT

from condense_cli.live.replaying import BlockSizes
from condense_cli.money.bill import CacheRules, PromptCache
from condense_cli.tokens.factor import typical_of

sys.path.append(str(PROJECT / "tests"))

from proxy.upstream import Answer, Asked, api, said  # With the tests of the proxy.

MODEL = "claude-sonnet-4-5"
TURNS = 24
AGENT = """
import json, os, pathlib, sys, urllib.request
messages = [{"role": "user", "content": sys.argv[1]}]
for turn in range(TURNS):
    content = messages[-1]["content"]
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    marked = [*parts[:-1], {**parts[-1], "cache_control": {"type": "ephemeral"}}]
    body = {"model": MODEL, "max_tokens": 9, "messages": [*messages[:-1], {"role": "user", "content": marked}]}
    asked = urllib.request.Request(os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages", json.dumps(body).encode(),
        {"content-type": "application/json", "anthropic-version": "2023-06-01", "x-api-key": "k"})
    answer = json.load(urllib.request.urlopen(asked))
    call = answer["content"][0]
    lines = "\\n".join(f"{turn}: value {n} of {call['input']['command']} is {n * n}" for n in range(200))
    messages.append({"role": "assistant", "content": answer["content"]})
    messages.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": call["id"], "content": lines}]})
pathlib.Path("answer.txt").write_text("done")
"""


class ScriptedModel:
    """A model that looks at one file after another, with the cache of its vendor."""

    def __init__(self) -> None:
        self.caches: dict[str, PromptCache] = {}
        self.sizes = BlockSizes(typical_of(MODEL))
        self.asked = 0

    def __call__(self, asked: Asked) -> Answer:
        self.asked += 1
        messages = asked.json["messages"]
        is_new = len(messages) == 1
        if is_new:
            self.cache = PromptCache(CacheRules.of(MODEL), 2_000)
        billed = self.cache.bill(self.sizes.pieces(messages), float(self.asked))
        usage = {
            "input_tokens": billed.plain,
            "cache_read_input_tokens": billed.read,
            "cache_creation_input_tokens": billed.written,
            "output_tokens": 9,
        }
        call = {"type": "tool_use", "id": f"toolu_{self.asked}", "name": "Bash"}
        call["input"] = {"command": f"cat {self.asked}.py"}  # type: ignore[assignment]
        return said({"content": [call], "usage": usage})


@pytest.fixture
def two_arms() -> Any:
    return runpy.run_path(str(PROJECT / "benchmarks" / "live_run" / "two_arms.py"))


@pytest.mark.slow
def test_an_agent_with_and_without_the_proxy(
    two_arms: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    folder = tmp_path / "task"
    folder.mkdir()
    agent = tmp_path / "agent.py"
    agent.write_text(f"TURNS, MODEL = {TURNS}, {MODEL!r}\n{AGENT}")
    check = [sys.executable, "-c", "import pathlib; assert pathlib.Path('answer.txt').read_text() == 'done'"]
    tasks = [
        {"name": "one", "task": "Please find the bug.", "folder": str(folder), "check": check},
        {"name": "two", "task": "Please find it.", "folder": str(folder), "check": [sys.executable, "-c", "exit(1)"]},
    ]
    (tmp_path / "tasks.json").write_text(json.dumps(tasks))
    model = ScriptedModel()
    with api(model) as service:
        arguments = [
            str(tmp_path / "tasks.json"), "--out", str(tmp_path / "results"), "--upstream", service.url,
            "--proxy", "policy=tokens:20000", "--", sys.executable, str(agent), "{task}",
        ]  # fmt: skip
        two_arms["main"](arguments)
        first = model.asked
        two_arms["main"](arguments)
    assert model.asked == first == 4 * TURNS  # What is done is not done again.
    runs = {
        (each["task"], each["arm"]): each
        for each in map(json.loads, (tmp_path / "results" / "runs.jsonl").read_text().splitlines())
    }
    assert {key: run["solved"] for key, run in runs.items()} == {
        ("one", "without"): True, ("one", "with"): True, ("two", "without"): False, ("two", "with"): False,
    }  # fmt: skip
    assert all((run["requests"], run["unmetered"], run["status"]) == (TURNS, 0, 0) for run in runs.values())
    assert 0 < runs["one", "with"]["input"] < 0.8 * runs["one", "without"]["input"]
    assert runs["one", "without"]["output"] == 9 * TURNS
    assert runs["one", "without"]["dollars"] > 0
    printed = capsys.readouterr().out
    assert "| without the proxy | 2 | 1 | $" in printed
    assert "| with the proxy | 2 | 1 | $" in printed
    assert not any(folder.iterdir())


def test_a_table_compares_the_runs_that_both_arms_have(two_arms: Any) -> None:
    run = two_arms["Run"]
    one = run("a", "without", 0, True, 0, 1.0, 3, 0, 1_000, 500, 400, 9, None)
    other = run("a", "with", 0, False, 0, 1.0, 3, 0, 700, 500, 100, 9, 0.25)
    alone = run("b", "with", 0, True, 0, 1.0, 3, 0, 700, 500, 100, 9, 0.25)
    rows = [*two_arms["summary"]([one, other, alone])][2:]
    assert rows == [
        "| without the proxy | 1 | 1 | unknown | 1,000 | 500 | 9 | 3 |",
        "| with the proxy | 1 | 0 | $0.25 | 700 | 500 | 9 | 3 |",
    ]
