"""Every command reads a file of references that would blow up, and none is blown up."""

from __future__ import annotations

from pathlib import Path

import pytest
from bombs import BOMBS, counted
from helpers import as_lines, condense

COMMANDS = {
    "run": ["run", "FILE", "--preset", "cost", "--dry-run"],
    "run at a target": ["run", "FILE", "--preset", "balanced", "--target-percent", "50", "-o", "OUT"],
    "restore": ["restore", "FILE", "-o", "OUT"],
    "estimate": ["estimate", "FILE"],
    "inspect": ["inspect", "FILE"],
    "show": ["show", "FILE", "2"],
    "diff": ["diff", "FILE", "FILE"],
    "validate": ["validate", "FILE"],
    "check": ["check", "FILE", "--above", "1000"],
    "evaluate": ["evaluate", "FILE"],
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("bomb", BOMBS)
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_bounded(command: str, bomb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at = counted(monkeypatch)
    path = tmp_path / "bomb.jsonl"
    path.write_bytes(as_lines(BOMBS[bomb]))
    paths = {"FILE": str(path), "OUT": str(tmp_path / "out.jsonl")}
    outcome = condense(*(paths.get(word, word) for word in COMMANDS[command]))
    assert outcome.status in (0, 3, 4), outcome.stderr
    assert max(looked_at, default=0) <= path.stat().st_size, "no reference gives more than the file has"
    out = tmp_path / "out.jsonl"
    assert not out.exists() or out.stat().st_size <= 3 * path.stat().st_size
