"""What `condense run` says for people: short where much is the same, and the way on where something is missed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from helpers import as_lines, condense, condense_on_terminal, session
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


def test_a_file_that_grows_by_its_summary_is_said_to(tmp_path: Path) -> None:
    """With what makes it smaller, where that was not asked for; one that shrinks is not said to."""
    file = tmp_path / "session.jsonl"
    file.write_bytes(SAMPLE.read_bytes())
    small = tmp_path / "small.jsonl"
    summarized = ("run", file, "--target-tokens", "12k", "-o", small)
    said = condense(*summarized).stderr
    sizes = f"from {file.stat().st_size:,} to {small.stat().st_size:,} bytes"
    assert f"The file grows {sizes}, as the client keeps what a summary stands for; --slim leaves out" in said
    assert "--slim leaves out" not in condense(*summarized, "--slim").stderr
    assert "The file grows" not in condense(*summarized, "--to", "anthropic").stderr
    assert "The file grows" not in condense("run", file, "--preset", "speed", "-o", small).stderr


HINTS = {
    "A smaller --keep-recent would free up to": ("-p", "speed", "--target-tokens", "500", "--keep-recent", "8"),
    "Fewer pins would free up to": ("--target-tokens", "1k", "--pin", "listing"),
    "condense estimate --target-tokens compares": ("-p", "lossless", "--target-tokens", "1k"),
    "": ("-p", "speed", "--target-tokens", "3"),
}


@pytest.mark.parametrize("hint", HINTS)
def test_a_missed_target_names_the_way_out(hint: str, file: Path) -> None:
    """Where there is one."""
    said = condense("run", file, *HINTS[hint]).stderr
    assert "was not reached" in said
    assert {other for other in HINTS if other and other in said} == ({hint} if hint else set())


def test_blocks_that_share_their_reason_take_one_line(file: Path) -> None:
    """Neighbours only; messages come last, and --json has each block."""
    said = condense("run", file, "--preset", "max", "--explain", "-n").text
    assert re.search(r"(?m)^1:0–12:0 +12 blocks +[\d,]+ → 0  summarize: older than the last 5 turns", said)
    assert re.search(r"(?m)^3–12 +10 messages +30 → 0  remove: nothing was left in the message", said)
    assert said.index("among the preserved turns") < said.index("nothing was left in the message")
    changes = condense("run", file, "--preset", "max", "--explain", "--json").json["changes"]
    assert {(change["message"], change["block"]) for change in changes} >= {(number, 0) for number in range(18)}
    lines = condense_on_terminal("run", file, "--preset", "speed", "--explain").plain.splitlines()
    (line,) = [line for line in lines if line.startswith("0:0 ")]
    assert line.endswith("keep: the first request of the user")
