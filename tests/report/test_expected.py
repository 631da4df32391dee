"""A run says how much it is expected to keep, and how sure that is, where that was measured."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from helpers import condense
from real import PROJECT

SAMPLE = str(PROJECT / "sample_transcripts" / "bugfix-session.jsonl")


def _report(*arguments: str) -> dict[str, object]:
    report: dict[str, object] = condense("run", SAMPLE, "--json", "--dry-run", *arguments).json
    return report


def test_a_threshold_that_was_measured_says_what_it_keeps() -> None:
    expected = _report("--preset", "balanced")["expected"]
    assert isinstance(expected, dict)
    assert expected["worst_facts"] < expected["facts"] <= 100
    assert expected["worst_edits"] < expected["edits"] <= 100
    assert expected["with_edits"] <= expected["projects"] <= expected["cuts"]


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "arguments", [("--preset", "cost"), ("--preset", "balanced", "--target-percent", "50"), ("--preset", "lossless")]
)
def test_nothing_is_expected_where_nothing_was_measured(arguments: tuple[str, ...]) -> None:
    assert _report(*arguments)["expected"] is None


def test_another_threshold_was_not_measured(tmp_path: Path) -> None:
    balanced = condense("presets", "show", "balanced").text
    other = tmp_path / "other.yaml"
    other.write_text(balanced.replace("min_worth: 0.18", "min_worth: 0.37"))
    assert _report("--config", str(other))["expected"] is None
    fewer = tmp_path / "fewer.yaml"
    fewer.write_text(balanced.replace("keep_recent_count: 5", "keep_recent_count: 2"))
    assert _report("--config", str(fewer))["expected"] is None


@pytest.mark.slow
def test_people_read_it_in_one_line() -> None:
    shown = " ".join(condense("run", SAMPLE, "--dry-run", "--preset", "balanced").plain.split())
    assert re.search(r"Usually keeps \d+% of needed facts and \d+% of edit lines \(worst: \d+% and \d+%\)\. ", shown)
    assert "in the worst of 15 projects)." in " ".join(condense("run", SAMPLE, "--dry-run", "--cost").plain.split())
    chat = PROJECT / "sample_transcripts" / "bugfix-pi.jsonl"
    assert "%), measured on Claude Code." in " ".join(condense("run", chat, "--dry-run").plain.split())
