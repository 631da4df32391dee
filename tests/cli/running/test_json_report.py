"""The report of a run for programs: its keys, its sums, where it goes, and how tokens were counted."""

from __future__ import annotations

import json
from pathlib import Path

from helpers import CUT, DATA, SMALLER, condense, snapshot
from json_shapes import SHAPE, check_shape

import condense_cli
from condense_cli.errors import ExitStatus


def test_the_json_report_has_the_documented_shape(file: Path) -> None:
    """Exactly the keys of condense_cli/report/run/facts.py, each of its type."""
    for model in ((), ("--model", "claude-opus-4-5")):
        done = condense("run", file, "-p", "speed", "--json", *model)
        assert (done.status, done.stderr) == (ExitStatus.DONE, "")
        check_shape(done.json, SHAPE)


def test_the_json_report_adds_up(file: Path) -> None:
    """Sizes are those of the files, savings are differences, and each pass begins where the one before it ended."""
    report = condense("run", file, "-p", "speed", "--json").json
    tokens = report["tokens"]
    assert report["version"] == 2
    assert report["condense"] == condense_cli.__version__
    assert (report["format"], report["input"], report["output"]) == ("anthropic", str(file), None)
    assert report["bytes"] == {"before": len(DATA), "after": len(SMALLER)}
    assert report["messages"] == {"before": 18, "after": 18}
    assert tokens["saved"] == tokens["before"] - tokens["after"] > 0
    assert tokens["saved_percent"] == round(100 * tokens["saved"] / tokens["before"], 1)
    ends = [tokens["before"], *(entry["tokens_after"] for entry in report["passes"])]
    assert [entry["tokens_before"] for entry in report["passes"]] == ends[:-1]
    assert ends[-1] == tokens["after"]
    assert sum(entry["changes"] for entry in report["passes"]) == len(CUT)


def test_json_goes_with_an_output_file(file: Path, tmp_path: Path) -> None:
    """The report takes standard output, the transcript its file, and the report names the file."""
    done = condense("run", file, "-p", "speed", "--json", "-o", tmp_path / "small.jsonl")
    assert done.json["output"] == str(tmp_path / "small.jsonl")
    assert (tmp_path / "small.jsonl").read_bytes() == SMALLER


def test_json_and_the_transcript_cannot_share_standard_output(file: Path, tmp_path: Path) -> None:
    """`--json -o -` is a usage error and points to --report."""
    before = snapshot(tmp_path)
    done = condense("run", file, "--json", "-o", "-")
    assert (done.status, done.stdout) == (ExitStatus.USAGE, b"")
    assert "--report" in done.message
    assert snapshot(tmp_path) == before


def test_report_file_holds_what_json_prints(file: Path, tmp_path: Path) -> None:
    """`--report FILE` writes the JSON report beside whatever else is done."""
    done = condense("run", file, "-p", "speed", "--report", tmp_path / "report.json")
    assert done.stdout == SMALLER
    written = json.loads((tmp_path / "report.json").read_bytes())
    printed = condense("run", file, "-p", "speed", "--json").json
    for report in (written, printed):
        for entry in report["passes"]:
            entry.pop("seconds")
    assert written == printed


def test_the_model_decides_how_tokens_are_counted(file: Path) -> None:
    """A known model's counts are exact, another family's are estimates, and the report says which."""
    known = condense("run", file, "--json", "--model", "gpt-4").json
    assert (known["model"], known["tokens"]["encoding"], known["tokens"]["exact"]) == ("gpt-4", "cl100k_base", True)
    foreign = condense("run", file, "--json", "--model", "claude-sonnet-4-5").json
    assert (foreign["model"], foreign["tokens"]["exact"]) == ("claude-sonnet-4-5", False)
    assert condense("run", file, "--json").json["model"] is None
    assert ", estimated" not in condense("run", file, "-m", "gpt-4o").stderr
