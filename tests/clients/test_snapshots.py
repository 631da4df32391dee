"""Sessions as they were before a compaction: kept, found again, brought back."""

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from compacted_work import before_in_claude, claude_summary
from helpers import as_lines, condense, condense_process

from condense_cli.cli.work.evaluate import sessions_here
from condense_cli.storage.backups import backups_of, keep_snapshot

SESSION = "0b7e63aa-0000-4000-8000-000000000001"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_a_session_is_kept_before_a_compaction_and_found_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR")
    path = tmp_path / ".claude" / "projects" / "-work-shop" / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True)
    before = as_lines(before_in_claude())
    path.write_bytes(before)
    event = json.dumps({"session_id": SESSION, "transcript_path": str(path)}).encode()
    for _ in range(2):  # Two installations of the hook keep one.
        assert condense_process("hook", "claude-code", "pre-compact", stdin=event).stdout == b""
    kept = [each for each in path.parent.iterdir() if each != path]
    assert [each.read_bytes() for each in kept] == [before]
    assert kept[0].name.endswith(".condense-snapshot")
    path.write_bytes(claude_summary())  # The client goes on with its file.
    assert kept[0].read_bytes() == before

    listed = condense("sessions", "--all", "--json").json["sessions"]
    assert [each["path"] for each in listed if each["aside"]] == [str(kept[0])]
    assert [each["path"] for each in condense("sessions", "--json").json["sessions"]] == [str(path)]
    assert [each["short"] for each in listed if not each["aside"]] == [SESSION[:8]]
    snapshot_id = next(each["id"] for each in listed if each["aside"])
    assert re.fullmatch(r"0b7e63aa@\d{8}T\d{6}", snapshot_id)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / ".claude"))
    assert sessions_here() == [str(path)]
    assert condense("show", "--session", snapshot_id, "0").text == condense("show", str(kept[0]), "0").text
    assert condense("inspect", "--session", SESSION[:8], "--json").json["messages"] == 7

    shown = condense("undo", str(path), "--list", "--json").json["backups"]
    assert [each["kind"] for each in shown] == ["snapshot"]
    assert condense("undo", str(path)).status == 1  # It went on.
    assert condense("undo", str(path), "--force").status == 0
    assert path.read_bytes() == before


def test_of_many_snapshots_the_newest_stay(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    for number in range(6):
        path.write_bytes(b"{}\n" * (number + 1))
        assert keep_snapshot(path, now=datetime(2026, 11, 23, tzinfo=UTC) + timedelta(minutes=number))
    assert [each.size for each in backups_of(path)] == [18, 15, 12]
