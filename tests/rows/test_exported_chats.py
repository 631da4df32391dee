"""What ChatGPT and Claude export is a set of rows: each conversation is one."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import further_agents
import pytest
from agent_work import WORK
from helpers import condense

from condense_cli.errors import ExitStatus

EXPORTS = {"chatgpt-export": further_agents.chatgpt_export, "claude-export": further_agents.claude_export}


def exported(path: Path, format: str, number: int) -> Path:
    made: list[Any] = [{**EXPORTS[format](WORK), "title": f"Work {each}"} for each in range(number)]
    path.write_text(json.dumps(made))
    return path


@pytest.mark.parametrize("format", EXPORTS)
def test_each_conversation_is_a_row(format: str, tmp_path: Path) -> None:
    path = exported(tmp_path / "conversations.json", format, 3)
    done = condense("validate", path)
    assert done.status == ExitStatus.DONE
    assert "3 rows" in done.text
    one = tmp_path / "one.json"
    one.write_text(json.dumps(EXPORTS[format](WORK)))
    of_one, of_all = (json.loads(condense("inspect", each, "--json").stdout) for each in (one, path))
    assert of_all["tokens"] == 3 * of_one["tokens"]["total"]


@pytest.mark.parametrize("format", EXPORTS)
def test_an_export_of_one_conversation_is_that_one(format: str, tmp_path: Path) -> None:
    path = exported(tmp_path / "conversations.json", format, 1)
    assert f"format {format}" in condense("validate", path).text
    assert condense("repair", path, "--dry-run").status == ExitStatus.DONE
    assert condense("recap", path).text.startswith("Recap of ")
    converted = condense("run", path, "--to", "openai-chat", "-o", tmp_path / "chat.json")
    assert (converted.status, (tmp_path / "chat.json").exists()) == (ExitStatus.DONE, True)


ONE = [["check"], ["recap"], ["show", "0"], ["repair"], ["diff", "-p", "speed"], ["mcp"]]


@pytest.mark.parametrize("arguments", ONE, ids=lambda each: each[0])
@pytest.mark.parametrize("format", EXPORTS)
def test_commands_for_one_conversation_say_how_to_take_it_out(
    format: str, arguments: list[str], tmp_path: Path
) -> None:
    path = exported(tmp_path / "conversations.json", format, 3)
    command, *rest = arguments
    done = condense(command, path, *rest)
    assert done.status == ExitStatus.INPUT
    assert "conversations of C" in done.message
    assert "jq '.[0]' FILE > conversation.json" in done.message
    assert "inspect and validate take all of them" in done.message


@pytest.mark.skipif(shutil.which("jq") is None, reason="needs jq")
@pytest.mark.parametrize("format", EXPORTS)
def test_many_are_converted_as_the_refusal_says(format: str, tmp_path: Path) -> None:
    path = exported(tmp_path / "conversations.json", format, 3)
    refused = condense("run", path, "--to", "openai-chat")
    assert refused.status == ExitStatus.USAGE
    steps = refused.message.partition("For all: ")[2].replace("FILE", str(path))
    *split, run = steps.split("; ")
    for step in split:
        subprocess.run(step, shell=True, check=True, cwd=tmp_path)
    out = tmp_path / "out"
    given = run.replace("FORMAT", "openai-chat").replace("DIR", str(out)).replace("chats", str(tmp_path / "chats"))
    assert condense(*given.split()[1:]).status == ExitStatus.DONE
    assert len([*out.glob("*.json")]) == 3


def test_rows_on_lines_are_taken_out_by_line(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(2 * (json.dumps({"messages": [{"role": "user", "content": "Hello."}]}) + "\n"))
    assert "sed -n 1p FILE" in condense("run", path, "--to", "openai-chat").message
    assert "sed -n 1p FILE > conversation.json" in condense("check", path).message


@pytest.mark.parametrize("format", EXPORTS)
def test_a_run_reports_and_says_what_it_cannot_write(format: str, tmp_path: Path) -> None:
    path = exported(tmp_path / "conversations.json", format, 2)
    done = condense("run", path, "--preset", "speed", "--keep-recent", "1", "-o", tmp_path / "out.json")
    assert f"condense reads {format} files but cannot write them" in done.text
    assert (tmp_path / "out.json").read_bytes() == path.read_bytes()


@pytest.mark.parametrize("format", EXPORTS)
def test_what_would_be_saved_is_reported(format: str, tmp_path: Path) -> None:
    path = exported(tmp_path / "conversations.json", format, 2)
    done = condense("run", path, "--preset", "speed", "--keep-recent", "1", "--dry-run", "--json")
    told = json.loads(done.stdout)
    assert (done.status, told["rows"]["changed"], told["rows"]["bad"]) == (ExitStatus.DONE, 2, 0)
    assert told["tokens"]["saved_percent"] > 10
