"""What a person reads at a terminal is broken between words; a pipe gets whole lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from helpers import as_lines, condense, condense_on_terminal, session

pytestmark = pytest.mark.slow
COLUMNS = 80


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Sessions: two that are right, one that is broken in several ways, one that is torn, and a set of rows."""
    records: list[Any] = session()
    for name in ("one", "two"):
        (tmp_path / f"{name}.jsonl").write_bytes(as_lines(records))
    (tmp_path / "broken.jsonl").write_bytes(as_lines([*records[:2], *records[3:], {"role": "user", "content": ""}]))
    (tmp_path / "torn.jsonl").write_bytes(as_lines(records)[:-40])
    (tmp_path / "rows.jsonl").write_text(2 * (json.dumps({"messages": records[:2]}) + "\n"))
    return tmp_path


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "FOLDER", "-p", "speed", "--dry-run"],
        ["run", "FOLDER", "-p", "speed", "--out-dir", "FOLDER/out"],
        ["run", "FOLDER/torn.jsonl"],
        ["run", "FOLDER/broken.jsonl", "--dry-run"],
        ["check", "FOLDER/rows.jsonl"],
        ["validate", "FOLDER/broken.jsonl"],
        ["repair", "FOLDER/broken.jsonl"],
        ["repair", "FOLDER/torn.jsonl"],
        ["inspect", "FOLDER/torn.jsonl"],
        ["run", "FOLDER/rows.jsonl", "--threshold", "50"],
    ],
    ids=lambda each: " ".join(each),
)
def test_no_line_is_longer_than_the_terminal(folder: Path, arguments: list[str]) -> None:
    shown = condense_on_terminal(*(each.replace("FOLDER", str(folder)) for each in arguments), columns=COLUMNS).plain
    assert shown.strip()
    long = [line for line in shown.splitlines() if len(line) > COLUMNS and len(max(line.split(), key=len)) < COLUMNS]
    # A command to copy stays whole.
    assert [line for line in long if not any(sign in line for sign in (" | ", " > ", " && "))] == []


def test_a_pipe_gets_a_fault_on_one_line(folder: Path) -> None:
    broken = folder / "broken.jsonl"
    faults = [line for line in condense("validate", broken).text.splitlines() if line.startswith(str(broken))]
    assert faults
    assert all(len(line) > COLUMNS for line in faults)
