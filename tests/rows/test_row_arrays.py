"""Arrays of conversations are sets of rows: each element is one, and everything between them stays."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from agent_work import WORK
from helpers import condense

from condense_cli.errors import ExitStatus

CONFIGURED = ("--preset", "speed", "--keep", "last:1")


def write(path: Path, value: Any, **style: Any) -> Path:
    path.write_text(json.dumps(value, **style) + "\n")
    return path


@pytest.mark.parametrize("indent", [None, 2])
def test_each_element_is_condensed(tmp_path: Path, indent: int | None) -> None:
    rows = [{"task_id": number, "reward": 1.0, "traj": WORK, "trial": 0} for number in range(3)]
    path, out = write(tmp_path / "rows.json", rows, indent=indent), tmp_path / "out.json"
    done = condense("run", path, *CONFIGURED, "-o", out)
    assert done.status == ExitStatus.DONE
    after = json.loads(out.read_text())
    assert [row["task_id"] for row in after] == [0, 1, 2]
    assert [list(row) for row in after] == [list(row) for row in rows]
    assert all(len(json.dumps(row)) < len(json.dumps(rows[0])) for row in after)
    assert out.read_text().startswith("[\n  {" if indent else "[{")
    assert "3 rows" in condense("validate", out).text


# Rows that nothing changes leave the file as it was, down to the last byte; so does one row alone.
@pytest.mark.parametrize("number", [1, 4])
def test_nothing_else_changes(tmp_path: Path, number: int) -> None:
    short = [{"role": "user", "content": "Hé"}, {"role": "assistant", "content": "Ho", "tool_calls": None}]
    rows = [{"messages": short, "id": row} for row in range(number)]
    path, out = write(tmp_path / "rows.json", rows, indent="\t"), tmp_path / "out.json"
    assert condense("run", path, *CONFIGURED, "-o", out).status == ExitStatus.DONE
    assert out.read_bytes() == path.read_bytes()
    assert condense("estimate", path).status == ExitStatus.DONE


def test_an_array_of_messages_is_no_set(tmp_path: Path) -> None:
    path = write(tmp_path / "chat.json", WORK)
    assert "format openai-chat" in condense("validate", path).text


def test_restore_writes_an_array(tmp_path: Path) -> None:
    rows = [{"messages": WORK}, {"messages": WORK}]
    path, out, back = write(tmp_path / "rows.json", rows), tmp_path / "out.json", tmp_path / "back.json"
    assert condense("run", path, "--preset", "lossless", "-o", out).status == ExitStatus.DONE
    assert condense("restore", out, "-o", back).status == ExitStatus.DONE
    assert json.loads(back.read_text()) == rows


# A conversation needs no object around it: in an array of one or more, and on lines of their own.
@pytest.mark.parametrize("number", [1, 3])
def test_conversations_are_bare_lists(number: int, tmp_path: Path) -> None:
    path, out = write(tmp_path / "rows.json", [WORK] * number), tmp_path / "out.json"
    assert condense("run", path, *CONFIGURED, "-o", out).status == ExitStatus.DONE
    after = json.loads(out.read_text())
    assert [len(messages) for messages in after] == [len(WORK)] * number
    assert len(out.read_bytes()) < 0.5 * len(path.read_bytes())
    back = tmp_path / "back.json"
    assert condense("restore", out, "-o", back).status == ExitStatus.DONE


def test_bare_lists_on_lines(tmp_path: Path) -> None:
    path, out = tmp_path / "rows.jsonl", tmp_path / "out.jsonl"
    path.write_text(f"{json.dumps(WORK)}\n[]\n{json.dumps(WORK)}\n[1]\n")
    done = condense("run", path, *CONFIGURED, "-o", out)
    assert done.status == ExitStatus.INPUT
    assert f"{path}:4: " in done.text
    before, after = path.read_text().splitlines(), out.read_text().splitlines()
    assert after[1::2] == before[1::2]
    assert all(len(line) < 0.5 * len(before[0]) for line in after[::2])
