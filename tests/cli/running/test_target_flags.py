"""`--target-tokens`, `--target-percent` and `--strict`: how far a run goes, and how it ends short of the target."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from helpers import CUT, DATA, SMALLER, condense, condense_process

from condense_cli.errors import ExitStatus


def _tokens(file: Path, *arguments: str) -> dict[str, Any]:
    tokens: dict[str, Any] = condense("run", file, "-p", "speed", "--json", *arguments).json["tokens"]
    return tokens


def test_a_target_is_reached_and_not_overshot_by_more_than_a_block(file: Path) -> None:
    """The passes stop as soon as the target is reached: giving back the last cut would miss it."""
    everything = _tokens(file)
    target = (everything["before"] + everything["after"]) // 2
    tokens = _tokens(file, "--target-tokens", str(target))
    largest = everything["saved"] / len(CUT) * 1.2
    assert target - largest < tokens["after"] <= target == tokens["target"]


def test_a_target_in_percent_is_a_share_of_the_tokens_before(file: Path) -> None:
    """`--target-percent P` means: P percent of the tokens left."""
    tokens = _tokens(file, "--target-percent", "60")
    assert tokens["target"] == tokens["before"] * 60 // 100
    assert tokens["after"] <= tokens["target"]


def test_a_target_that_is_met_already_changes_no_byte(file: Path) -> None:
    """A transcript below the target comes back as it is."""
    done = condense("run", file, "-p", "speed", "--target-tokens", "1000000", "--strict")
    assert (done.status, done.stdout) == (ExitStatus.DONE, DATA)


@pytest.mark.slow
def test_strict_turns_a_missed_target_into_a_status(file: Path, tmp_path: Path) -> None:
    """With --strict a missed target is exit status 4, without it 0; the result is written either way."""
    strict = condense_process(
        "run", file, "-p", "speed", "--target-tokens", "1", "--strict", "-o", tmp_path / "small.jsonl"
    )
    assert strict.status == ExitStatus.TARGET_MISSED
    assert "target of 1 token was not reached" in strict.stderr
    assert 0 < len((tmp_path / "small.jsonl").read_bytes()) < len(SMALLER)
    assert condense_process("run", file, "-p", "speed", "--target-tokens", "1").status == ExitStatus.DONE


def test_a_missed_target_is_said_in_a_pipe_too(file: Path) -> None:
    """Who writes to a pipe sees standard error alone, and has to learn there why the status is 4."""
    done = condense("run", file, "-p", "speed", "--target-tokens", "1", "--strict")
    assert done.status == ExitStatus.TARGET_MISSED
    assert "target of 1 token was not reached" in done.stderr
    assert done.stdout.startswith(b'{"role": "user"')
