"""What `condense run` says for people: short where much is the same, and the way on where something is missed."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers import as_lines, condense_on_terminal, session
from real import PROJECT

SAMPLE = PROJECT / "sample_transcripts" / "bugfix-session.jsonl"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "session.jsonl"
    path.write_bytes(as_lines(session()))
    return path


def joined(text: str) -> str:
    """The text without the line breaks of the terminal."""
    return " ".join(text.split())


@pytest.mark.parametrize("columns", [80, 120])
def test_passes_that_did_not_run_for_one_reason_take_one_sentence(columns: int) -> None:
    """And a pass that ran takes one line, its name unbroken."""
    done = condense_on_terminal("run", SAMPLE, "--target-tokens", "12000", columns=columns)
    assert (
        "Skipped: Lines of newer turns, Lines of all turns, Free truncation, One summary of the middle "
        "(the target was reached before)."
    ) in joined(done.plain)
    done = condense_on_terminal("run", SAMPLE, "--preset", "max", "-v", columns=columns)
    (line,) = [line for line in done.plain.splitlines() if line.startswith("One summary of all but the newest turns  ")]
    assert line.endswith(" ms")
