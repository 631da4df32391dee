"""The recipes of docs/commands.md work as they stand there."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from build import LONG
from model_server import Exchange, model_server
from real import PROJECT

import condense_cli

SAMPLES = PROJECT / "sample_transcripts"
PAGE = (PROJECT / "docs" / "commands.md").read_text()
RECIPES = {
    section.partition("\n")[0]: re.findall(r"```(\w+)\n(.*?)```", section, re.DOTALL)
    for section in PAGE.split("\n## ")[1:]
}

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="the recipes are for a Unix shell")


def code(recipe: str, language: str) -> str:
    (found,) = [text for name, text in RECIPES[recipe] if name == language]
    return str(found)


@pytest.fixture
def shell(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs commands in a home of their own, where `condense` is this one."""
    programs = tmp_path / "bin"
    programs.mkdir()
    condense = programs / "condense"
    condense.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m condense_cli "$@"\n')
    condense.chmod(0o755)
    home = tmp_path / "home"
    home.mkdir()
    variables = os.environ | {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(PROJECT),
    }
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        variables.pop(name, None)

    def run(commands: str, stdin: str = "", cwd: Path = home) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-c", commands], input=stdin, cwd=cwd, env=variables, capture_output=True, text=True, check=False
        )

    return run


Shell = Callable[..., subprocess.CompletedProcess[str]]


def session(home: Path, project: Path) -> Path:
    """The sample session where Claude Code would keep it, as one of the project."""
    folder = home / ".claude" / "projects" / re.sub(r"[^A-Za-z0-9]", "-", str(project))
    folder.mkdir(parents=True)
    data = (SAMPLES / "bugfix-session.jsonl").read_text()
    (id,) = set(re.findall(r'"sessionId":"([^"]+)"', data))
    file = folder / f"{id}.jsonl"
    file.write_text(data.replace("/home/dev/inventory", str(project)))
    return file


@pytest.mark.slow
def test_a_full_session_goes_on(shell: Shell, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    file = session(tmp_path / "home", project)
    before = file.read_bytes()
    listed, condensed = code("Continue a full session", "sh").splitlines()
    assert file.stem[:8] in shell(listed, cwd=project).stdout
    done = shell(condensed, cwd=project)
    assert done.returncode == 0, done.stderr
    (new,) = set(file.parent.glob("*.jsonl")) - {file}
    assert f"claude --resume {new.stem}" in done.stdout
    assert file.read_bytes() == before
    assert new.stat().st_size < len(before)


@pytest.mark.slow
def test_the_cron_job_condenses_what_is_new(shell: Shell, tmp_path: Path) -> None:
    command = code("In a cron job: a smaller copy of every session", "sh")
    file = session(tmp_path / "home", tmp_path)
    assert shell(command).returncode == 0
    (small,) = (tmp_path / "home" / "condensed").rglob(file.name)
    assert small.stat().st_size < file.stat().st_size
    written = small.stat().st_mtime_ns
    assert shell(command).returncode == 0
    assert small.stat().st_mtime_ns == written


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"])
def test_the_loop_with_anthropic_messages(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    def play(exchange: Exchange) -> None:
        exchange.begin(content_type="application/json")
        usage = {"input_tokens": 10, "output_tokens": 5, kind: 90_000 if exchange.server.calls == 2 else 100}
        message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn"}
        content: list[dict[str, Any]] = [{"type": "text", "text": f"Answer {exchange.server.calls}."}]
        if exchange.server.calls == 2:
            content.append({"type": "tool_use", "id": "toolu_open", "name": "Bash", "input": {"command": "ls"}})
        exchange.send(json.dumps(message | {"content": content, "usage": usage}))

    def turn(number: int) -> list[dict[str, Any]]:
        call = {"type": "tool_use", "id": f"toolu_{number}", "name": "Bash", "input": {"command": "ls"}}
        result = {"type": "tool_result", "tool_use_id": call["id"], "content": f"{number}\n" + "\n".join(LONG)}
        return [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]

    start = [{"role": "user", "content": "Go."}, *[message for number in range(8) for message in turn(number)]]
    monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
    recipe = "In an agent loop, with Anthropic messages"
    condensed = _check_loop(recipe, play, start, "ANTHROPIC_BASE_URL", "", monkeypatch)
    assert condensed[-1]["content"][-1]["id"] == "toolu_open"


@pytest.mark.slow
def test_the_loop_with_openai_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    def play(exchange: Exchange) -> None:
        exchange.begin(content_type="application/json")
        prompt = 90_000 if exchange.server.calls == 2 else 100
        message = {"role": "assistant", "content": f"Answer {exchange.server.calls}."}
        completion = {
            "id": "c", "object": "chat.completion", "created": 1, "model": "m",
            "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
            "usage": {"prompt_tokens": prompt, "completion_tokens": 5, "total_tokens": prompt + 5},
        }  # fmt: skip
        exchange.send(json.dumps(completion))

    def turn(number: int) -> list[dict[str, Any]]:
        call = {"id": f"call_{number}", "type": "function", "function": {"name": "run", "arguments": "{}"}}
        result = {"role": "tool", "tool_call_id": call["id"], "content": f"{number}\n" + "\n".join(LONG)}
        return [{"role": "assistant", "content": None, "tool_calls": [call]}, result]

    start = [{"role": "user", "content": "Go."}, *[message for number in range(8) for message in turn(number)]]
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    _check_loop("In an agent loop, with OpenAI messages", play, start, "OPENAI_BASE_URL", "/v1", monkeypatch)


def test_the_loop_with_items_of_the_responses_api(monkeypatch: pytest.MonkeyPatch) -> None:
    def play(exchange: Exchange) -> None:
        exchange.begin(content_type="application/json")
        number = exchange.server.calls
        sent = 90_000 if number == 2 else 100
        text = {"type": "output_text", "text": f"Answer {number}.", "annotations": []}
        message = {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed"}
        response = {
            "id": "r", "object": "response", "created_at": 1, "model": "m", "status": "completed",
            "output": [{"type": "reasoning", "id": f"rs_{number}", "summary": []}, {**message, "content": [text]}],
            "usage": {"input_tokens": sent, "output_tokens": 5, "total_tokens": sent + 5},
        }  # fmt: skip
        exchange.send(json.dumps(response))

    def turn(number: int) -> list[dict[str, Any]]:
        call = {"type": "function_call", "call_id": f"call_{number}", "name": "run", "arguments": "{}"}
        text = f"{number}\n" + "\n".join(LONG)
        return [call, {"type": "function_call_output", "call_id": call["call_id"], "output": text}]

    start = [{"role": "user", "content": "Go."}, *[item for number in range(8) for item in turn(number)]]
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    recipe = "In an agent loop, with the Responses API"
    items = _check_loop(recipe, play, start, "OPENAI_BASE_URL", "/v1", monkeypatch, key="input", adds=2)
    assert items[-2] == {"type": "reasoning", "id": "rs_2", "summary": []}


def _check_loop(
    recipe: str,
    play: Callable[[Exchange], None],
    start: list[Any],
    variable: str,
    path: str,
    patch: pytest.MonkeyPatch,
    *,
    key: str = "messages",
    adds: int = 1,
) -> list[Any]:
    """The first answer leaves the messages as they are; the second request was too large, and the third is smaller.

    Returned are the messages as they were condensed. They stand under `key` of a request; an answer `adds` so many.
    """
    with model_server(play) as server:
        patch.setenv(variable, server.url + path)
        names: dict[str, Any] = {}
        exec(compile(code(recipe, "python"), "docs/commands.md", "exec"), names)
        once = names["answer"](start)
        assert once[:-adds] == start
        twice = names["answer"]([*once, {"role": "user", "content": "And now?"}])
        names["answer"]([*twice, {"role": "user", "content": "Go on."}])
    sizes = [len(json.dumps(body[key])) for body in server.bodies]
    assert sizes[0] < sizes[1]
    assert sizes[2] < sizes[1] / 2
    assert [message["role"] for message in twice if "role" in message][-2:] == ["user", "assistant"]
    return list(twice)


def test_a_training_set_is_condensed_row_by_row(shell: Shell, tmp_path: Path) -> None:
    chat = [json.loads(line) for line in (SAMPLES / "bugfix-chat.jsonl").read_text().splitlines()]
    rows = [{"id": number, "messages": chat} for number in range(3)]
    home = tmp_path / "home"
    (home / "training.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = code("Before fine-tuning: a whole data set", "sh")
    done = shell(command)
    assert done.returncode == 0, done.stderr
    smaller = [json.loads(line) for line in (home / "smaller.jsonl").read_text().splitlines()]
    assert [row["id"] for row in smaller] == [0, 1, 2]
    assert all(len(json.dumps(row)) < len(json.dumps(rows[0])) * 0.8 for row in smaller)


@pytest.mark.slow
def test_the_step_of_continuous_integration(shell: Shell, tmp_path: Path) -> None:
    home = tmp_path / "home"
    shutil.copy(SAMPLES / "bugfix-session.jsonl", home / "agent.jsonl")
    command = code("In continuous integration: a transcript as an artifact", "sh")
    done = shell(command)
    assert done.returncode == 0, done.stderr
    assert "\x1b" not in done.stdout + done.stderr
    report = json.loads((home / "condensed.json").read_text())
    assert report["tokens"]["after"] <= 20_000
    assert condense_cli.load(home / "agent-small.jsonl").messages
    assert shell(command.replace("20000", "20")).returncode == 4


# As a runner takes the step: inputs become variables, and the shell stops at the first failure.
@pytest.mark.slow
def test_the_action_of_a_workflow(shell: Shell, tmp_path: Path) -> None:
    used, upload = yaml.safe_load(code("In a workflow on GitHub", "yaml"))
    action = yaml.safe_load((PROJECT / "action.yml").read_text())
    assert used["with"].keys() <= action["inputs"].keys()
    context = {
        f"inputs.{name}": used["with"].get(name, given.get("default")) for name, given in action["inputs"].items()
    }
    context["github.action_path"] = str(PROJECT)
    (step,) = [step for step in action["runs"]["steps"] if "run" in step]
    variables = [f"{name}={shlex.quote(context[value.strip('${} ')])}" for name, value in step["env"].items()]
    pip = tmp_path / "bin" / "python"
    pip.write_text('#!/bin/sh\necho "$@" > installed\n')
    pip.chmod(0o755)
    home = tmp_path / "home"
    for folder in ("sessions", "runs"):
        (home / folder).mkdir()
        shutil.copy(SAMPLES / "bugfix-session.jsonl", home / folder / "agent.jsonl")
    commands = "\n".join(["set -eo pipefail", *variables, step["run"]])
    done = shell(commands)
    assert done.returncode == 0, done.stderr
    assert (home / "installed").read_text() == f"-m pip install --quiet {PROJECT}\n"
    written = home / upload["with"]["path"]
    assert {path.relative_to(written).as_posix() for path in written.rglob("[!.]*.jsonl")} == {
        "runs/agent.jsonl",
        "sessions/agent.jsonl",
    }
    pip.write_text("#!/bin/sh\nexit 9\n")
    assert shell(commands).returncode == 9


def test_configurations_are_checked_before_a_commit(shell: Shell, tmp_path: Path) -> None:
    (used,) = yaml.safe_load(code("Before each commit: configurations are checked", "yaml"))["repos"]
    (hook,) = yaml.safe_load((PROJECT / ".pre-commit-hooks.yaml").read_text())
    assert used["hooks"] == [{"id": hook["id"]}]
    files = {"condense.yaml": "preset: cost\n", "sub/condense.yml": "preset: cost\n", "other-condense.yaml": "no: 1\n"}
    (tmp_path / "home" / "sub").mkdir()
    for name, text in files.items():
        (tmp_path / "home" / name).write_text(text)
    staged = [name for name in files if re.search(hook["files"], name)]
    command = shlex.join([*shlex.split(hook["entry"]), *staged])
    assert shell(command).returncode == 0
    (tmp_path / "home" / "sub" / "condense.yml").write_text("preset: cost\nbananas: 3\n")
    done = shell(command)
    assert done.returncode == 2
    assert "sub/condense.yml:2:1: unknown key 'bananas'" in done.stderr
