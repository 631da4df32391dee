"""A run says what happened and nothing else: summaries, what was left, what a flag did, why a status is not 0."""

from __future__ import annotations

from pathlib import Path

import model_server as played
import pytest
from desk import BY_MODEL, Desk
from helpers import as_lines, condense, session
from model_server import model_server

from condense_cli.errors import ExitStatus

_BATCH = """
passes:
- {id: all, selection: {type: preserve_recent, keep_recent_count: 2}, mode: batch, batch_config:
    {operation: summarize, summarization_config: {api_profile: gpt-5-mini}}}
"""
_DROPPING = "fallback: sliding_window\nprovider: native\nnative: {api_profile: nobody}\n"


def _written(folder: Path, text: str) -> str:
    path = folder / "own.yaml"
    path.write_text(text)
    return str(path)


def test_no_summary_is_said_to_be_picked_where_none_was_written(tmp_path: Path, file: Path) -> None:
    """The pass names a profile that nobody permits, and finds nothing to summarize, or too little."""
    short = tmp_path / "short.jsonl"
    short.write_bytes(as_lines(session([])))
    for source, more in [(short, ""), (file, "\nmin_saving: 999999")]:
        own = _written(tmp_path, _BATCH + more)
        report = condense("run", source, "-c", own, "--json").json
        assert not any("picked from the text" in warning for warning in report["warnings"])
    own = _written(tmp_path, _BATCH)
    report = condense("run", file, "-c", own, "--json").json
    assert sum("picked from the text" in warning for warning in report["warnings"]) == 1


def test_what_was_dropped_is_not_left_unchanged(tmp_path: Path, file: Path) -> None:
    own = _written(tmp_path, _DROPPING)
    report = condense("run", file, "-c", own, "--json", "--context-window", "9000", "--allow-calls").json
    said = " ".join(report["warnings"])
    assert "are lost from this transcript" in said
    assert "left unchanged" not in said
    assert "There is no profile nobody); another step changed" in said
    lossless = _written(tmp_path, _DROPPING.replace("fallback: sliding_window\n", ""))
    report = condense("run", file, "-c", lossless, "--json", "--allow-calls").json
    assert any(warning.startswith("Not summarized, so left unchanged: ") for warning in report["warnings"])


def test_a_profile_that_is_asked_for_nothing_is_said_to_have_no_effect(tmp_path: Path, file: Path, desk: Desk) -> None:
    named = ("--profile", "gpt-5-mini")
    report = condense("run", file, "-p", "speed", "--json", *named).json
    assert "--profile gpt-5-mini had no effect: no summary was asked for." in report["warnings"]
    rows = condense("run", file, file.with_name("same.jsonl"), "--out-dir", tmp_path / "o", "-p", "speed", *named)
    assert rows.text.count("had no effect") == 1
    for flags in (["--profile", "offline"], [], ["--allow-calls"]):
        assert "no effect" not in condense("run", file, "-p", "speed", "--json", *flags).text
    with model_server(played.good(BY_MODEL)) as server:
        desk.profiles(server)
        assert not [each for each in desk.report("batch", "--profile", "openai")["warnings"] if "no effect" in each]


_NO_KEY = ("--profile", "gpt-5-mini", "-p", "max")


@pytest.mark.parametrize("how", [["-q"], ["--json"], ["-q", "--json"], ["-q", "--html", "page.html"], []])
@pytest.mark.parametrize(
    ("flags", "status", "said"),
    [
        (_NO_KEY, ExitStatus.CALLS_FAILED, "OPENAI_API_KEY is not set"),
        (["--target-tokens", "10", "--strict"], ExitStatus.TARGET_MISSED, "The target of 10 tokens was not reached"),
    ],
)
def test_a_status_has_its_reason_on_standard_error(
    file: Path, tmp_path: Path, how: list[str], flags: list[str], status: ExitStatus, said: str
) -> None:
    done = condense("run", file, "-o", tmp_path / "out.jsonl", *flags, *how, env={"OPENAI_API_KEY": ""}, cwd=tmp_path)
    assert done.status == status
    assert done.stderr.count(said) == 1


def test_many_files_and_rows_give_the_reason_too(file: Path, tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_bytes(as_lines([{"messages": session()}] * 2))
    for source, to in [([rows], ("-o", tmp_path / "r.jsonl")), ([file, rows], ("--out-dir", tmp_path / "out"))]:
        for how in ("-q", "--json"):
            done = condense("run", *source, *to, "--target-tokens", "10", "--strict", how)
            assert done.status == ExitStatus.TARGET_MISSED
            assert "target" in done.stderr


def test_what_is_to_be_kept_and_is_nowhere_stops_the_run(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    rows = tmp_path / "rows.jsonl"
    rows.write_bytes(as_lines([{"messages": session()}] * 2))
    other = tmp_path / "other.jsonl"
    other.write_bytes(as_lines(session(["one"])))
    for source, to in [([file], "-o"), ([rows], "-o"), ([file, other], "--out-dir")]:
        done = condense("run", *source, to, out, "--keep", "tool:Nope", "--keep", "tool:Read")
        assert done.status == ExitStatus.USAGE
        assert "--keep tool:Nope matches nothing" in done.message
        assert "tool:Read" not in done.stderr
        assert not out.exists() or not [*out.iterdir()]


def test_a_file_among_several_that_lacks_what_is_to_be_kept_is_warned_of(file: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl"
    other.write_bytes(as_lines(session(["one"])))
    out = ("--out-dir", tmp_path / "out")
    done = condense("run", file, other, *out, "--keep", "file:src/8.py", "--json")
    assert done.status == ExitStatus.DONE
    missed = {Path(each["input"]).name: each["warnings"] for each in done.json["results"]}
    assert missed[file.name] == []
    assert [each for each in missed["other.jsonl"] if each.startswith("--keep file:src/8.py matches nothing")]
