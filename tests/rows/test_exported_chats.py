"""What ChatGPT and Claude export is a set of rows: each conversation is one."""

from __future__ import annotations

import json
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


@pytest.mark.parametrize("number", [1, 3])
@pytest.mark.parametrize("format", EXPORTS)
def test_each_conversation_is_a_row(format: str, number: int, tmp_path: Path) -> None:
    path = exported(tmp_path / "conversations.json", format, number)
    done = condense("validate", path)
    assert done.status == ExitStatus.DONE
    assert f"{number} row" in done.text
    one = tmp_path / "one.json"
    one.write_text(json.dumps(EXPORTS[format](WORK)))
    of_one, of_all = (json.loads(condense("inspect", each, "--json").stdout) for each in (one, path))
    assert of_all["tokens"] == number * of_one["tokens"]["total"]


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
