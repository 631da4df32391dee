"""The command line as people and programs use it: streams, files, reports, terminals, exit statuses."""

from __future__ import annotations

import json
import os
import re
import stat
from pathlib import Path
from typing import Any

import pytest
from helpers import (
    CUT,
    Outcome,
    as_lines,
    condense,
    condense_on_terminal,
    condense_process,
    condensed,
    listing,
    session,
    snapshot,
)
from rich.cells import cell_len

import condense_cli
from condense_cli.cli.commands import COMMANDS
from condense_cli.errors import ExitStatus

DATA = as_lines(session())
SMALLER = condensed(DATA)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "session.jsonl"
    path.write_bytes(DATA)
    return path


# --- Streams ---------------------------------------------------------------------------------------------------------


def test_in_a_pipe_the_transcript_goes_to_stdout_and_one_line_to_stderr(file: Path) -> None:
    """Data on standard output, messages on standard error; the output is exactly what the preset makes of the input."""
    done = condense_process("run", file, "--preset", "speed")
    assert (done.status, done.stdout) == (ExitStatus.DONE, SMALLER)
    assert re.fullmatch(
        r"condense: [\d,]+ → [\d,]+ tokens \(\d+\.\d % saved, estimated\), 18 → 18 messages, speed\n", done.stderr
    )


def test_redirected_to_a_file_the_transcript_goes_there(file: Path, tmp_path: Path) -> None:
    """`> FILE` gives the same bytes as a pipe."""
    with (tmp_path / "out").open("wb") as out:
        assert condense_process("run", file, "-p", "speed", stdout=out).status == ExitStatus.DONE
    assert (tmp_path / "out").read_bytes() == SMALLER


def test_standard_input_is_read_where_the_file_is_a_hyphen(file: Path) -> None:
    """`-` reads standard input, and the report says so."""
    assert condense_process("run", "-", "-p", "speed", stdin=DATA).stdout == SMALLER
    assert condense_process("run", "-", "--json", stdin=DATA).json["input"] == "standard input"


def test_output_hyphen_is_standard_output(file: Path) -> None:
    """`-o -` writes the transcript to standard output and the report to standard error."""
    done = condense_process("run", file, "-p", "speed", "-o", "-")
    assert (done.status, done.stdout) == (ExitStatus.DONE, SMALLER)
    assert done.stderr.count("\n") == 1


def test_output_hyphen_writes_the_transcript_on_a_terminal_too(file: Path) -> None:
    """Who asks for standard output gets the transcript, terminal or not."""
    done = condense_on_terminal("run", file, "-p", "speed", "-o", "-")
    assert done.stdout.startswith(SMALLER)


def test_output_file_holds_the_transcript(file: Path, tmp_path: Path) -> None:
    """`-o FILE` writes the bytes that a pipe would get, and no transcript goes to standard output."""
    done = condense("run", file, "-p", "speed", "-o", tmp_path / "small.jsonl")
    assert done.status == ExitStatus.DONE
    assert (tmp_path / "small.jsonl").read_bytes() == SMALLER
    assert b'"role"' not in done.stdout


def test_a_script_that_writes_a_file_gets_one_line(file: Path, tmp_path: Path) -> None:
    """What was written is on standard output, the report in a line on standard error; -v and --explain ask for more."""
    small = tmp_path / "small.jsonl"
    done = condense("run", file, "-p", "speed", "-o", small)
    assert done.text == f"Written: {small} ({len(SMALLER):,} bytes)\n"
    assert re.fullmatch(r"condense: [\d,]+ → [\d,]+ tokens .*, speed\n", done.stderr)
    assert "lines left out" in condense("run", file, "-p", "speed", "-o", small, "-v").text
    assert "lines left out" in condense_on_terminal("run", file, "-p", "speed", "-o", small).plain


def test_the_default_preset_is_the_documented_one(file: Path) -> None:
    """`--help` says that the default is cost."""
    assert condense("run", file, "--json").json["configuration"] == "cost"
    assert condense("run", file).stdout == condense("run", file, "--preset", "cost").stdout


def test_a_configuration_file_can_be_named_in_two_ways(file: Path, tmp_path: Path) -> None:
    """`--config FILE` and `--preset PATH` run the same configuration."""
    config = tmp_path / "mine.yaml"
    config.write_text(
        "passes:\n  - id: a\n    selection: {type: preserve_recent, keep_recent_count: 5}\n"
        "    individual_config: {defaults: {tool_results: {operation: truncate, params: {truncate: {max_lines: 3}}}}}\n"
    )
    assert condense("run", file, "--config", config).stdout == SMALLER
    assert condense("run", file, "--preset", config).stdout == SMALLER


def test_two_configurations_are_refused(file: Path, tmp_path: Path) -> None:
    """Which one should win nobody can know."""
    done = condense("run", file, "--preset", "speed", "--config", tmp_path / "x.yaml")
    assert done.status == ExitStatus.USAGE
    assert "--preset" in done.message


@pytest.mark.parametrize("quiet", ["-q", "--quiet"])
def test_quiet_says_nothing(quiet: str, file: Path, tmp_path: Path) -> None:
    """With -q the transcript is all there is, in a pipe, in a file, and on a terminal."""
    piped = condense("run", file, "-p", "speed", quiet)
    assert (piped.stdout, piped.stderr) == (SMALLER, "")
    to_file = condense("run", file, "-p", "speed", quiet, "-o", tmp_path / "small.jsonl")
    assert (to_file.stdout, to_file.stderr) == (b"", "")
    assert (tmp_path / "small.jsonl").read_bytes() == SMALLER
    assert condense_on_terminal("run", file, quiet).stdout == b""


# --- Reports ---------------------------------------------------------------------------------------------------------

SHAPE: dict[str, Any] = {
    "version": int,
    "condense": str,
    "input": str,
    "output": (str, type(None)),
    "backup": type(None),
    "new_session": type(None),
    "format": str,
    "model": (str, type(None)),
    "configuration": str,
    "messages": {"before": int, "after": int},
    "tokens": {
        "before": int,
        "after": int,
        "saved": int,
        "saved_percent": float,
        "lossless_saved": int,
        "encoding": str,
        "exact": bool,
        "overhead": int,
        "overhead_source": str,
        "estimated": {"before": int, "after": int},
        "target": (int, type(None)),
    },
    "bytes": {"before": int, "after": int},
    "cost": {
        "currency": str,
        "spent": str,
        "one_off": (str, type(None)),
        "next_turn_before": (str, type(None)),
        "next_turn_after": (str, type(None)),
        "breakeven_turns": (float, type(None)),
        "pays": (bool, type(None)),
        "prices": (str, type(None)),
        "assumed": [str],
    },
    "passes": [
        {
            "id": str,
            "name": str,
            "status": str,
            "reason": str,
            "tokens_before": int,
            "tokens_after": int,
            "changes": int,
            "seconds": float,
        }
    ],
    "summaries": [],
    "warnings": [str],
    "slim": type(None),
}

EXPLAINED: dict[str, Any] = {
    "pass_id": str,
    "message": int,
    "block": int,
    "kind": (str, type(None)),
    "content_type": (str, type(None)),
    "tool": (str, type(None)),
    "operation": str,
    "changed": bool,
    "tokens_before": int,
    "tokens_after": int,
    "reason": str,
}

DIFF_SHAPE: dict[str, Any] = {
    "version": int,
    "messages": {"before": int, "after": int},
    "messages_changed": int,
    "tokens": {"before": int, "after": int},
    "counts": {
        "cut": int,
        "suppressed": int,
        "summarized": int,
        "referenced": int,
        "changed": int,
        "removed": int,
        "added": int,
    },
    "blocks": [
        {
            "message": int,
            "role": str,
            "kind": str,
            "what": str,
            "label": str,
            "tokens": {"before": int, "after": int},
            "lines": [{"sign": str, "line": int, "lines": [str]}],
        }
    ],
}


def check_shape(value: Any, shape: Any, where: str = "$") -> None:
    """The value has exactly the keys of the shape, and values of its types."""
    if isinstance(shape, dict):
        assert isinstance(value, dict), where
        assert value.keys() == shape.keys(), where
        for key, inner in shape.items():
            check_shape(value[key], inner, f"{where}.{key}")
    elif isinstance(shape, list):
        assert isinstance(value, list), where
        for index, item in enumerate(value):
            check_shape(item, shape[0] if shape else None, f"{where}[{index}]")
    else:
        assert isinstance(value, shape), where
        assert not isinstance(value, bool) or bool in (shape if isinstance(shape, tuple) else (shape,)), where


def test_the_json_report_has_the_documented_shape(file: Path) -> None:
    """Exactly the keys of condense_cli/report/facts.py, each of its type."""
    for model in ((), ("--model", "claude-opus-4-5")):
        done = condense("run", file, "-p", "speed", "--json", *model)
        assert (done.status, done.stderr) == (ExitStatus.DONE, "")
        check_shape(done.json, SHAPE)


def test_the_json_report_adds_up(file: Path) -> None:
    """Sizes are those of the files, savings are differences, and each pass begins where the one before it ended."""
    report = condense("run", file, "-p", "speed", "--json").json
    tokens = report["tokens"]
    assert report["version"] == 1
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


def test_explain_gives_a_reason_for_every_block(file: Path) -> None:
    """One receipt per block and pass, each with a reason; the changes add up to what was saved."""
    report = condense("run", file, "-p", "speed", "--json", "--explain").json
    changes = report.pop("changes")
    check_shape(report, SHAPE)
    check_shape(changes, [EXPLAINED])
    assert sorted((entry["message"], entry["block"]) for entry in changes) == [(message, 0) for message in range(18)]
    assert all(entry["reason"] for entry in changes)
    saved = sum(entry["tokens_before"] - entry["tokens_after"] for entry in changes)
    assert saved == report["tokens"]["saved"]
    assert {entry["message"] for entry in changes if entry["changed"]} == {2, 4, 6, 8, 10, 12}


def test_explain_prints_the_reasons_for_people(file: Path) -> None:
    """Every block's position stands in the table, with why it was cut or kept; neighbours may share a row."""
    text = condense("run", file, "-p", "speed", "--dry-run", "--explain").text
    assert [int(number) for number in re.findall(r"^(\d+):0[ –]", text, re.MULTILINE)] == list(range(14))
    assert re.search(r"^2:0 +tool result +\d+ → \d+  truncate: older than the last 5 turns$", text, re.MULTILINE)
    assert re.search(r"^13:0–17:0 +5 blocks +\d+  keep: among the preserved turns$", text, re.MULTILINE)


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


def test_explain_has_one_row_for_each_block(file: Path, tmp_path: Path) -> None:
    """What several passes say of a block is one row, which tells them apart where that matters."""
    config = tmp_path / "two.yaml"
    config.write_text(TWO_PASSES)
    text = condense("run", file, "-c", config, "-n", "--explain", env={"COLUMNS": "150"}).text
    rows = dict(re.findall(r"^(\d+:\d\S*)  (.*)$", text, re.MULTILINE))
    assert len(rows) == len(re.findall(r"^\d+:\d\S* ", text, re.MULTILINE)) == 14
    older, newer = "older than the last 13 turns (cut-older-results)", "older than the last 5 turns (cut-results)"
    assert "truncate + suppress" in rows["2:0"]
    assert rows["2:0"].endswith(f"older than the last 5 turns (cut-results); {older}")
    assert rows["8:0"].endswith(newer)
    assert rows["13:0–17:0"].endswith("  keep: among the preserved turns")
    assert rows["1:0"].endswith("  keep: the pass keeps this content")
    assert rows["9:0"].endswith("(cut-results); among the preserved turns (cut-older-results)")
    narrow = condense_on_terminal("run", file, "-c", config, "-n", "--explain", columns=80).plain
    shown = narrow.split("\nblock ")[1].split("\n\n")[0].splitlines()[1:]
    assert [line.split(" ")[0] for line in shown if not line.startswith(" ")] == list(rows)
    assert max(map(len, shown)) <= 80
    for row in rows.values():  # No reason is cut off; it goes on below.
        assert row.rpartition("  ")[2].split()[-1] in " ".join(shown)


def test_explain_and_verbose_take_a_line_for_each_pass(file: Path, tmp_path: Path) -> None:
    """Nothing is left out then."""
    config = tmp_path / "two.yaml"
    config.write_text(TWO_PASSES)
    text = condense("run", file, "-c", config, "-n", "-v", "--explain", env={"COLUMNS": "150"}).text
    for name in ("cut-results", "cut-older-results"):
        assert len(re.findall(rf"^\d+:\d+ .* \({name}\)$", text, re.MULTILINE)) == 18


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


def test_a_dry_run_reports_and_writes_nothing(file: Path, tmp_path: Path) -> None:
    """`--dry-run` prints the report even in a pipe, and leaves -o alone."""
    (tmp_path / "old.jsonl").write_text("precious")
    before = snapshot(tmp_path)
    done = condense("run", file, "-p", "speed", "--dry-run", "-o", tmp_path / "old.jsonl")
    assert condense("run", file, "-p", "speed", "--dry-run", "-o", tmp_path / "new.jsonl").status == ExitStatus.DONE
    assert done.status == ExitStatus.DONE
    assert "% saved" in done.text
    assert b'"role"' not in done.stdout
    assert snapshot(tmp_path) == before


def test_the_report_for_people_says_what_was_done(file: Path) -> None:
    """Sizes before and after, the operations, the passes, the format, and that counts are estimates."""
    text = condense("run", file, "-p", "speed", "--dry-run").text
    report = condense("run", file, "-p", "speed", "--json").json
    for size in ("before", "after"):
        assert f"{report['tokens'][size]:,}" in text
        assert f"{report['bytes'][size]:,}" in text
    assert "anthropic" in text
    assert "estimate" in text
    assert re.search(r"tool results +truncate +6 ", text)
    assert "lines left out" in text


def test_verbose_shows_every_change_and_every_line(file: Path) -> None:
    """Without -v the diff is an excerpt and says so; with -v it is whole."""
    results = [listing(number) for number in range(1, 25)]
    file.write_bytes(as_lines(session(results)))
    excerpt = condense("run", file, "-p", "speed", "--dry-run").text
    whole = condense("run", file, "-p", "speed", "--dry-run", "-v").text
    assert re.search(r"and \d+ smaller changes", excerpt)
    assert "smaller changes" not in whole
    for number in range(1, 23):
        assert f"{number}: line 40 of the listing" in whole
        assert f"{number}: line 40 of the listing" not in excerpt


# --- Targets and models ----------------------------------------------------------------------------------------------


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
    """`--target-percent P` means: P percent of the tokens are left."""
    tokens = _tokens(file, "--target-percent", "60")
    assert tokens["target"] == tokens["before"] * 60 // 100
    assert tokens["after"] <= tokens["target"]


def test_a_target_that_is_met_already_changes_no_byte(file: Path) -> None:
    """A transcript below the target comes back as it is."""
    done = condense("run", file, "-p", "speed", "--target-tokens", "1000000", "--strict")
    assert (done.status, done.stdout) == (ExitStatus.DONE, DATA)


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
    assert "target" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("--target-percent", "0"),
        ("--target-percent", "100"),
        ("--target-percent", "-5"),
        ("--target-percent", "nan"),
        ("--target-percent", "half"),
        ("--target-tokens", "0"),
        ("--target-tokens", "many"),
        ("--target-tokens", "5", "--target-percent", "5"),
        ("--no-such-option",),
        ("--format", "bogus"),
        ("another-file.jsonl",),
    ],
    ids=" ".join,
)
def test_an_impossible_command_line_is_refused(arguments: tuple[str, ...], file: Path, tmp_path: Path) -> None:
    """Exit status 2, one message that names what is wrong, and nothing written."""
    before = snapshot(tmp_path)
    done = condense("run", file, *arguments, cwd=tmp_path)
    assert (done.status, done.stdout) == (ExitStatus.USAGE, b"")
    assert arguments[0].lstrip("-").split("-")[0] in done.stderr
    assert done.message
    assert snapshot(tmp_path) == before


def test_the_model_decides_how_tokens_are_counted(file: Path) -> None:
    """A known model's counts are exact, another family's are estimates, and the report says which."""
    known = condense("run", file, "--json", "--model", "gpt-4").json
    assert (known["model"], known["tokens"]["encoding"], known["tokens"]["exact"]) == ("gpt-4", "cl100k_base", True)
    foreign = condense("run", file, "--json", "--model", "claude-sonnet-4-5").json
    assert (foreign["model"], foreign["tokens"]["exact"]) == ("claude-sonnet-4-5", False)
    assert condense("run", file, "--json").json["model"] is None
    assert ", estimated" not in condense("run", file, "-m", "gpt-4o").stderr


# --- Help and version ------------------------------------------------------------------------------------------------


HELP_PAGES: tuple[tuple[str, ...], ...] = (
    (),
    *((name,) for name in COMMANDS),
    *(("presets", name) for name in ("list", "show", "new")),
    *(("providers", name) for name in ("list", "show")),
    *(("profiles", name) for name in ("list", "show", "test")),
    *(("config", name) for name in ("validate", "show", "schema")),
    *(("cache", name) for name in ("info", "clear")),
)


def test_the_version_is_the_packages() -> None:
    """`--version` prints name and version, and nothing else."""
    for flag in ("--version", "-V"):
        assert condense(flag) == Outcome(0, f"condense {condense_cli.__version__}\n".encode(), "")


@pytest.mark.parametrize("command", HELP_PAGES, ids=lambda command: "-".join(command) or "condense")
@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_every_help_page_has_examples_and_fits(command: tuple[str, ...], flag: str) -> None:
    """Help is exit status 0 on standard output, shows examples, and is no wider than 80 columns."""
    done = condense(*command, flag, env={"COLUMNS": "80"})
    assert (done.status, done.stderr) == (ExitStatus.DONE, "")
    assert "Examples:" in done.text
    assert f"condense {' '.join(command)}" in done.text.split("Examples:")[1]
    assert max(map(len, done.text.splitlines())) <= 80


@pytest.mark.parametrize(
    "group",
    [(), ("presets",), ("providers",), ("config",), ("profiles",), ("cache",)],
    ids=lambda group: group[0] if group else "condense",
)
def test_no_summary_of_a_command_is_cut_off(group: tuple[str, ...]) -> None:
    """In the list of commands, on a terminal of 80 columns."""
    listed = condense(*group, "--help", env={"COLUMNS": "80"}).text.split("Commands:\n")[1].split("\n\n")[0]
    assert len(listed.splitlines()) >= 2
    for line in listed.splitlines():
        assert re.fullmatch(r"  [a-z]+ +[A-Z][^…]*[^.]\.", line), line


def test_the_help_documents_every_exit_status() -> None:
    """The statuses that this version can end with are in the first help page."""
    text = condense("--help").text.split("Exit status:")[1]
    for status in ExitStatus:
        assert re.search(rf"\b{status.value}\b", text), status


def test_the_help_of_run_documents_every_option() -> None:
    """Each option has its own line with a sentence."""
    text = condense("run", "--help").text
    for option in re.findall(r"(--[a-z-]+)", text.split("Options:")[1]):
        assert re.search(rf"{option}\b.* [A-Z]", text), option


def test_nothing_to_do_shows_the_help() -> None:
    """The bare command shows what there is, and is a usage error."""
    done = condense()
    assert done.status == ExitStatus.USAGE
    assert "Commands:" in done.text + done.stderr


@pytest.mark.parametrize(("group", "usual"), [("presets", "list"), ("profiles", "list"), ("cache", "info")])
def test_a_group_alone_shows_what_there_is(group: str, usual: str) -> None:
    """The same as its first command."""
    assert condense(group) == condense(group, usual)
    assert condense(group).text


def test_an_unknown_command_is_a_usage_error() -> None:
    """It is named."""
    done = condense("compress")
    assert done.status == ExitStatus.USAGE
    assert "'compress'" in done.message


# --- Terminals -------------------------------------------------------------------------------------------------------

WIDE = "日本語のとても長い行です。" * 20
LONG = [
    *(listing(number) for number in range(1, 12)),
    "".join(f"{number} " + "word " * 60 + "\n" for number in range(30)),
    (WIDE + "\n") * 30,
    "\tindented\twith\ttabs\n" * 30,
    "".join(f"{number}:" + "x" * 300 + "\n" for number in range(30)),
    *(listing(number) for number in range(20, 24)),
]


@pytest.fixture
def long_file(tmp_path: Path) -> Path:
    """A session with long lines, wide characters, tabs, and a path as long as paths get."""
    records = session(LONG)
    for record in records:
        for block in record["content"]:
            if isinstance(block, dict) and block["type"] == "tool_use":
                block["input"]["file_path"] = "/home/somebody/code/project/" + "package/" * 12 + block["id"] + ".py"
    path = tmp_path / "session.jsonl"
    path.write_bytes(as_lines(records))
    return path


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize(
    "arguments",
    [("run",), ("run", "-v"), ("run", "--explain"), ("diff",), ("diff", "--all-lines")],
    ids=["run", "run -v", "run --explain", "diff", "diff --all-lines"],
)
def test_on_a_terminal_no_line_is_wider_than_the_terminal(
    arguments: tuple[str, ...], columns: int, long_file: Path
) -> None:
    """Report and diff fit, whatever the transcript holds, and use the width there is."""
    done = condense_on_terminal(arguments[0], long_file, "-p", "speed", *arguments[1:], columns=columns)
    assert done.status == ExitStatus.DONE
    widths = [cell_len(line) for line in done.plain.split("\n")]
    assert max(widths) <= columns
    assert max(widths) > columns - 15
    assert "lines left out" in done.plain


def test_on_a_terminal_run_prints_diff_and_report_and_writes_nothing(file: Path, tmp_path: Path) -> None:
    """No transcript is poured over the terminal; the last line says how to write it."""
    before = snapshot(tmp_path)
    done = condense_on_terminal("run", file, "-p", "speed")
    assert done.status == ExitStatus.DONE
    assert '"role"' not in done.plain
    assert re.search(r"^#2 +cut ", done.plain, re.MULTILINE)
    assert re.search(r"^ *- 1: line 4 of the listing", done.plain, re.MULTILINE)
    assert re.search(r"% saved", done.plain)
    assert "Nothing was written" in done.plain
    assert "-o FILE" in done.plain
    assert snapshot(tmp_path) == before


def test_a_heading_of_the_diff_takes_one_line(long_file: Path) -> None:
    """A label too long for the terminal is cut with an ellipsis and does not break into a line of its own."""
    done = condense_on_terminal("run", long_file, "-p", "speed", columns=80)
    lines = done.plain.split("\n")
    headings = [index for index, line in enumerate(lines) if re.match(r"#\d+ ", line)]
    assert headings
    for index in headings:
        assert lines[index + 1].startswith("  "), lines[index + 1]
        assert "…" in lines[index]


def test_a_shown_line_of_the_diff_takes_one_line(long_file: Path) -> None:
    """Without -v each line of the diff is cut to the width, wide characters counted as two."""
    done = condense_on_terminal("diff", long_file, "-p", "speed", columns=80)
    _, diff = done.plain.split("\n\n", 1)
    for line in diff.split("\n"):
        assert re.match(r"#\d+ |  [-+ ] |\s*$", line), line


def test_a_transcript_cannot_steer_the_terminal(tmp_path: Path) -> None:
    """Escape sequences in tool results (colours of a test run, or worse) are not sent to the terminal."""
    hostile = "\x1b[2J\x1b]0;title\x07\x9b31m" + "\x1b[31mred\x1b[0m\n" * 40
    file = tmp_path / "session.jsonl"
    file.write_bytes(as_lines(session([hostile, *CUT, hostile])))
    for arguments in (("run", file, "-p", "speed", "--dry-run", "-v"), ("diff", file, "-p", "speed")):
        done = condense(*arguments)
        assert done.status == ExitStatus.DONE
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f\x80-\x9f]", done.text)
        assert "red" in done.text


def test_colours_are_for_terminals(file: Path) -> None:
    """A terminal gets colours, a pipe gets none."""
    assert condense_on_terminal("run", file).has_colours
    assert "\x1b" not in condense_process("run", file, "--dry-run").text


def test_no_color_and_its_option_switch_colours_off(file: Path) -> None:
    """NO_COLOR and --no-color keep colours from a terminal; a dumb terminal gets none either."""
    assert not condense_on_terminal("run", file, env={"NO_COLOR": "1"}).has_colours
    assert not condense_on_terminal("--no-color", "run", file).has_colours
    assert not condense_on_terminal("run", file, env={"TERM": "dumb"}).has_colours
    assert not condense_on_terminal("diff", file, "-p", "speed", env={"NO_COLOR": "1"}).has_colours


def test_force_color_colours_a_pipe_unless_the_option_forbids_it(file: Path) -> None:
    """FORCE_COLOR colours reports in a pipe; --no-color is stronger."""
    forced = {"FORCE_COLOR": "1"}
    assert condense("run", file, "--dry-run", env=forced).has_colours
    assert not condense("--no-color", "run", file, "--dry-run", env=forced).has_colours


def test_no_colour_ever_enters_data(file: Path) -> None:
    """Transcript and JSON are the same bytes whatever is said about colours."""
    forced = {"FORCE_COLOR": "1"}
    assert condense_process("run", file, "-p", "speed", env=forced).stdout == SMALLER
    assert b"\x1b" not in condense_process("run", file, "--json", env=forced).stdout
    assert b"\x1b" not in condense_process("diff", file, "-p", "speed", "--json", env=forced).stdout


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_a_report_is_printed_in_every_encoding(encoding: str, file: Path) -> None:
    """Where standard output has no arrows (Windows pipes, LC_ALL=C), something else stands for them."""
    for arguments in (("run", file, "--dry-run"), ("diff", file, "-p", "speed")):
        done = condense_process(*arguments, env={"PYTHONIOENCODING": encoding})
        assert (done.status, done.stderr) == (ExitStatus.DONE, "")


# --- Files -----------------------------------------------------------------------------------------------------------


def test_an_existing_output_keeps_its_permissions(file: Path, tmp_path: Path) -> None:
    """Writing over a private file leaves it private, and a shared one shared."""
    for mode in (0o600, 0o664, 0o755):
        out = tmp_path / f"out-{mode:o}"
        out.write_text("old")
        out.chmod(mode)
        assert condense("run", file, "-p", "speed", "-o", out).status == ExitStatus.DONE
        assert out.read_bytes() == SMALLER
        assert stat.S_IMODE(out.stat().st_mode) == mode


def test_a_new_output_follows_the_umask(file: Path, tmp_path: Path) -> None:
    """A new file has the permissions that every program's new files have."""
    for umask, mode in ((0o022, 0o644), (0o077, 0o600)):
        out = tmp_path / f"out-{umask:o}"
        condense_process("run", file, "-q", "-o", out, "--report", tmp_path / "report.json", umask=umask)
        assert stat.S_IMODE(out.stat().st_mode) == mode


def test_options_of_the_program_may_stand_anywhere_before_two_hyphens(file: Path, tmp_path: Path) -> None:
    """What stands after them is a file, whatever it is called."""
    (tmp_path / "--debug").write_bytes(file.read_bytes())
    done = condense_process("inspect", "--json", "--debug", "--", "--debug", cwd=tmp_path)
    assert (done.status, done.json["input"]) == (ExitStatus.DONE, "--debug")


def test_an_output_that_is_a_link_stays_a_link(file: Path, tmp_path: Path) -> None:
    """The file that the link names is written, not a new file in the link's place."""
    (tmp_path / "target").write_text("old")
    (tmp_path / "link").symlink_to("target")
    assert condense("run", file, "-p", "speed", "-q", "-o", tmp_path / "link").status == ExitStatus.DONE
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_bytes() == SMALLER


def test_an_output_may_be_a_device(file: Path) -> None:
    """`-o /dev/null` and `-o /dev/stdout` are written to as they are, not replaced."""
    assert condense_process("run", file, "-p", "speed", "-q", "-o", "/dev/null").status == ExitStatus.DONE
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    assert condense_process("run", file, "-p", "speed", "-q", "-o", "/dev/stdout").stdout == SMALLER


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("-o", "small.jsonl"),
        ("-o", "-"),
        ("--json", "--explain"),
        ("--dry-run",),
        ("--report", "report.json", "-q"),
        ("--target-tokens", "10", "--strict"),
    ],
    ids=lambda arguments: " ".join(arguments) or "nothing",
)
def test_the_input_is_never_touched(arguments: tuple[str, ...], file: Path, tmp_path: Path) -> None:
    """Bytes, inode, permissions and times of the input are the same after every kind of run."""
    file.chmod(0o640)
    os.utime(file, ns=(1_000_000_000_000_000_000, 1_000_000_000_000_000_000))
    before = snapshot(tmp_path)["session.jsonl"]
    assert condense("run", file, "-p", "speed", *arguments, cwd=tmp_path).status in (0, 4)
    assert snapshot(tmp_path)["session.jsonl"] == before


def test_an_input_without_write_permission_is_no_problem(file: Path, tmp_path: Path) -> None:
    """A read-only input is read like any other."""
    file.chmod(0o400)
    assert condense("run", file, "-p", "speed").stdout == SMALLER


# --- Diff ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.jsonl"
    path.write_bytes(SMALLER)
    return path


def test_diff_shows_what_was_cut(file: Path, small: Path) -> None:
    """One section per changed block, with the lines that are gone and the marker in their place."""
    done = condense("diff", file, small)
    assert (done.status, done.stderr) == (ExitStatus.DONE, "")
    assert [int(number) for number in re.findall(r"^#(\d+) +cut", done.text, re.MULTILINE)] == [2, 4, 6, 8, 10, 12]
    assert re.search(r"^ *- 1: line 4 of the listing *$", done.text, re.MULTILINE)
    assert re.search(r"^ *\+ \[condense: 37 lines left out #[0-9a-f]{8}\] *$", done.text, re.MULTILINE)
    assert "7: line" not in done.text, "a block that stayed is no difference"


def test_diff_with_a_preset_is_diff_with_its_result(file: Path, small: Path) -> None:
    """`diff A --preset P` and `diff A B` say the same where B is what P makes of A."""
    assert condense("diff", file, "--preset", "speed").text == condense("diff", file, small).text
    assert condense("diff", file, "--preset", "speed", "--json").json == condense("diff", file, small, "--json").json


def test_diff_stat_is_one_line(file: Path, small: Path) -> None:
    """`--stat` gives the sizes and counts alone."""
    done = condense("diff", file, small, "--stat", env={"COLUMNS": "200"})
    assert re.fullmatch(
        r"[\d,]+ → [\d,]+ tokens \(\+?\d+\.\d % saved\) +6 of 18 messages differ; blocks: 6 cut\n", done.text
    )


def test_diff_json_has_the_documented_shape(file: Path, small: Path) -> None:
    """Exactly the keys of condense_cli/report/diff_json.py; with --stat the lines are left out."""
    full = condense("diff", file, small, "--json").json
    check_shape(full, DIFF_SHAPE)
    assert full["version"] == 1
    assert full["counts"]["cut"] == len(full["blocks"]) == full["messages_changed"] == len(CUT)
    gone = [line for entry in full["blocks"][0]["lines"] if entry["sign"] == "-" for line in entry["lines"]]
    assert gone == CUT[0].split("\n")[3:]
    brief = condense("diff", file, small, "--json", "--stat").json
    assert brief == {**full, "blocks": [{k: v for k, v in b.items() if k != "lines"} for b in full["blocks"]]}


def test_diff_finds_nothing_between_equal_transcripts(file: Path, tmp_path: Path) -> None:
    """Equal content is no difference, even where the files are written differently."""
    (tmp_path / "array.json").write_text(json.dumps(session(), indent=2))
    for other in (file, tmp_path / "array.json"):
        done = condense("diff", file, other)
        assert (done.status, done.stderr) == (ExitStatus.DONE, "")
        assert done.text.startswith("No difference")


def test_diff_shows_added_and_removed_messages(file: Path, tmp_path: Path) -> None:
    """A message that only one of the two holds is shown as such, in both directions."""
    (tmp_path / "more.jsonl").write_bytes(DATA + as_lines([{"role": "user", "content": "One more thing."}]))
    assert re.search(r"^#18 +added", condense("diff", file, tmp_path / "more.jsonl").text, re.MULTILINE)
    assert re.search(r"^#18 +removed", condense("diff", tmp_path / "more.jsonl", file).text, re.MULTILINE)


def test_diff_reads_one_of_the_two_from_standard_input(file: Path, small: Path) -> None:
    """`-` is either of them, not both."""
    expected = condense("diff", file, small).text
    assert condense("diff", file, "-", stdin=SMALLER).text == expected
    assert condense("diff", "-", small, stdin=DATA).text == expected
    assert condense("diff", "-", "-").status == ExitStatus.USAGE


def test_diff_needs_exactly_two_things_to_compare(file: Path, small: Path) -> None:
    """One transcript alone, or two and a preset, is a usage error that says what to do."""
    for arguments in ((file,), (file, small, "--preset", "speed")):
        done = condense("diff", *arguments)
        assert (done.status, done.stdout) == (ExitStatus.USAGE, b"")
        assert "--preset" in done.message


def test_diff_shows_as_many_lines_as_asked_for(file: Path) -> None:
    """`--lines N` limits each run of lines, `--all-lines` does not."""
    few = condense("diff", file, "-p", "speed", "--lines", "5").text
    assert "1: line 8 of the listing" in few
    assert "1: line 9 of the listing" not in few
    assert "1: line 40 of the listing" in condense("diff", file, "-p", "speed", "--all-lines").text


def test_diff_changes_nothing(file: Path, small: Path, tmp_path: Path) -> None:
    """No file is written or touched."""
    before = snapshot(tmp_path)
    condense("diff", file, small, cwd=tmp_path)
    condense("diff", file, "--preset", "speed", "--json", cwd=tmp_path)
    assert snapshot(tmp_path) == before
