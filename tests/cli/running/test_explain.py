"""A run says what happened and nothing else; with `--explain` why each block was cut or kept."""

import re
from pathlib import Path

import model_server as played
import pytest
from desk import BY_MODEL, Desk
from documented import RARE, check_documented
from helpers import as_lines, condense, condense_on_terminal, session
from model_server import model_server

from condense_cli.errors import ExitStatus


def test_explain_gives_a_reason_for_every_block(file: Path) -> None:
    report = condense("run", file, "-p", "speed", "--json", "--explain").json
    check_documented(report, "run", absent=f"{RARE} lines text")
    changes = report["changes"]
    assert sorted((entry["message"], entry["block"]) for entry in changes) == [(message, 0) for message in range(18)]
    assert all(entry["reason"] for entry in changes)
    saved = sum(entry["tokens_before"] - entry["tokens_after"] for entry in changes)
    assert saved == report["tokens"]["saved"]
    assert {entry["message"] for entry in changes if entry["changed"]} == {2, 4, 6, 8, 10, 12}


def test_explain_prints_the_reasons_for_people(file: Path) -> None:
    text = condense("run", file, "-p", "speed", "--dry-run", "--explain", env={"COLUMNS": "120"}).text
    assert [int(number) for number in re.findall(r"^(\d+)\.0[ –]", text, re.MULTILINE)] == list(range(14))
    assert re.search(
        r"^2\.0 +tool result +\d+ → \d+  truncated: old tool result: 3 lines or 1,500 characters of it stay$",
        text,
        re.MULTILINE,
    )
    assert re.search(r"^13\.0–17\.0 +5 blocks +\d+  kept: among the preserved turns$", text, re.MULTILINE)


TWO_PASSES = """
passes:
  - id: cut-results
    selection: {type: preserve_recent, keep_recent_count: 5}
    individual_config:
      defaults: {tool_results: {operation: truncate, params: {truncate: {max_lines: 9}}}}
  - id: cut-older-results
    selection: {type: preserve_recent, keep_recent_count: 13}
    individual_config: {defaults: {tool_results: {operation: suppress}}}
"""


OVER = "old tool result: 9 lines or 4,500 characters of it stay"


def test_explain_has_one_row_for_each_block(file: Path, tmp_path: Path) -> None:
    """What several passes say of a block is one row, which tells them apart where that matters."""
    config = tmp_path / "two.yaml"
    config.write_text(TWO_PASSES)
    text = condense("run", file, "-c", config, "-n", "--explain", env={"COLUMNS": "200"}).text
    rows = dict(re.findall(r"^(\d+\.\d\S*)  (.*)$", text, re.MULTILINE))
    assert len(rows) == len(re.findall(r"^\d+\.\d\S* ", text, re.MULTILINE)) == 14
    older, newer = "old tool result: only its marker stays (cut-older-results)", f"{OVER} (cut-results)"
    assert "truncated + removed" in rows["2.0"]
    assert rows["2.0"].endswith(f"{newer}; {older}")
    assert rows["8.0"].endswith(newer)
    assert rows["13.0–17.0"].endswith("  kept: among the preserved turns")
    assert rows["1.0"].endswith("kept: the pass keeps this kind")
    assert rows["9.0"].endswith("(cut-results); among the preserved turns (cut-older-results)")
    narrow = condense_on_terminal("run", file, "-c", config, "-n", "--explain", columns=80).plain
    shown = narrow.split("\nblock ")[1].split("\n\n")[0].splitlines()[1:]
    assert [line.split(" ")[0] for line in shown if not line.startswith(" ")] == list(rows)
    assert max(map(len, shown)) <= 80
    for row in rows.values():  # No reason is cut off; it goes on below.
        assert row.rpartition("  ")[2].split()[-1] in " ".join(shown)


def test_explain_and_verbose_take_a_line_for_each_pass(file: Path, tmp_path: Path) -> None:
    config = tmp_path / "two.yaml"
    config.write_text(TWO_PASSES)
    text = condense("run", file, "-c", config, "-n", "-v", "--explain", env={"COLUMNS": "150"}).text
    for name in ("cut-results", "cut-older-results"):
        assert len(re.findall(rf"^\d+\.\d+ .* \({name}\)$", text, re.MULTILINE)) == 18


@pytest.mark.slow
def test_blocks_that_share_their_reason_take_one_line(file: Path) -> None:
    """Neighbours only; messages come last, and --json has each block."""
    said = condense("run", file, "--preset", "max", "--explain", "-n").text
    assert re.search(r"(?m)^1\.0 +tool call +\d+ → 0  summarized: old call: the summary has what", said), (
        "its own reason"
    )
    assert re.search(r"(?m)^13\.0–17\.0 +5 blocks", said)
    assert re.search(r"(?m)^3–12 +10 messages +30 → 0  removed: the message became empty", said)
    assert said.index("among the preserved turns") < said.index("the message became empty")
    changes = condense("run", file, "--preset", "max", "--explain", "--json").json["changes"]
    assert {(change["message"], change["block"]) for change in changes} >= {(number, 0) for number in range(18)}
    lines = condense_on_terminal("run", file, "--preset", "speed", "--explain").plain.splitlines()
    (line,) = [line for line in lines if line.startswith("0.0 ")]
    assert line.endswith("kept: part of the user's first request")


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
