"""Compactions and clearings of a session, one row each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from compacted_work import claude_clearing, claude_cut, claude_summary, claude_twice, codex, kimi, opencode, pi, roo
from helpers import as_lines, condense, session

from condense_cli import api
from condense_cli.core.tokens import Counter
from condense_cli.ledger.compaction import compaction


def listed(path: Path, data: bytes) -> list[dict[str, Any]]:
    path.write_bytes(data)
    found: list[dict[str, Any]] = json.loads(condense("inspect", path, "--json").stdout)["compactions"]
    return found


@pytest.mark.parametrize(
    ("data", "before", "is_auto"),
    [
        (claude_summary(trigger="manual"), 900, False),
        (claude_summary(trigger="auto"), 900, True),
        (codex(), None, None),
        (kimi(), None, None),
        (opencode(), None, True),
        (pi(), 900, None),
    ],
)
def test_a_compaction_by_the_client(tmp_path: Path, data: bytes, before: int | None, is_auto: bool | None) -> None:
    (found,) = listed(tmp_path / "session.jsonl", data)
    assert (found["kind"], found["by"], found["is_auto"]) == ("summary", "client", is_auto)
    assert found["before"] == before or (before is None and found["before"] > 500)
    assert 0 < found["after"] < 100
    assert found["messages"] == 5
    assert found["files"] == ["src/app.py", "src/other.py"]
    assert not found["is_undone"]


def test_clearings_and_dropped_messages(tmp_path: Path) -> None:
    file = tmp_path / "session.jsonl"
    (one,) = listed(file, claude_clearing("a", "b"))
    assert (one["kind"], one["results"], one["before"], one["after"]) == ("cleared", 2, 900, None)
    (cut,) = listed(file, claude_cut("a"))
    assert (cut["kind"], cut["results"], cut["before"]) == ("cleared", None, None)
    assert [each["kind"] for each in listed(file, claude_twice())] == ["cleared", "summary"]
    (dropped,) = listed(tmp_path / "session.json", roo("truncation"))
    assert (dropped["kind"], dropped["is_auto"]) == ("dropped", True)
    assert listed(file, as_lines(session())) == []


def test_the_table_has_a_row_for_each(tmp_path: Path) -> None:
    file = tmp_path / "session.jsonl"
    file.write_bytes(claude_twice())
    lines = condense("inspect", file).stdout.decode().splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith("compaction "))
    rows = [line.split() for line in lines[start : start + 3]]
    assert rows[0] == ["compaction", "when", "by", "before", "after", "lost"]
    assert " ".join(rows[1]) == "cleared 2026-03-02 09:00 client, auto 1 result"
    assert " ".join(rows[2]).endswith("7 messages, 2 files")
    file.write_bytes(as_lines(session()))
    assert b"\ncompaction " not in condense("inspect", file).stdout


# Our own text says so.
def test_a_compaction_by_condense(tmp_path: Path) -> None:
    text = compaction(api.loads(claude_summary()).messages, 600, Counter()).text
    data = claude_summary(trigger="manual").replace(
        json.dumps("We have read both files; connect_timeout_ms has to stay.").encode(), json.dumps(text).encode()
    )
    (found,) = listed(tmp_path / "session.jsonl", data)
    assert found["by"] == "condense"
