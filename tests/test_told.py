"""Small truths that a run tells: why nothing happened, what it refuses to write over, what it warns of."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers import condense

from condense_cli.errors import ExitStatus

SAMPLE = Path(__file__).resolve().parent.parent / "sample_transcripts" / "bugfix-session.jsonl"


# A run reads its configuration too: nothing is written over that.
@pytest.mark.parametrize("option", ["-c", "-p"])
def test_a_configuration_is_not_written_over(option: str, tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    file.write_text("lossless_prelude: {enabled: true}\n")
    for target in ("-o", "--report"):
        done = condense("run", SAMPLE, option, str(file), target, str(file), "-q")
        assert done.status == ExitStatus.USAGE
        assert "configuration file of this run" in done.message
        assert file.read_text() == "lossless_prelude: {enabled: true}\n"


# Whoever pipes the transcript is told why it came out as it was.
def test_a_run_that_changes_nothing_says_why(tmp_path: Path) -> None:
    few = tmp_path / "few.json"
    few.write_text(json.dumps([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]))
    done = condense("run", few, "--provider", "native", "-o", "-")
    assert "there are fewer than" in done.stderr
    assert condense("run", few, "--provider", "native", "--json").json["warnings"]
    done = condense("run", SAMPLE, "--target-tokens", "999999", "-o", "-")
    said = "28,212 tokens are within the target of 999,999 already."
    assert said in done.stderr
    shown = condense("run", SAMPLE, "--target-tokens", "999999", "-o", str(tmp_path / "out.jsonl")).text
    assert shown.count(said) == 1
    assert "skipped" not in shown
