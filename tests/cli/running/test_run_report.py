"""The report of `condense run`, its costs too: short for people, with the way on; whole for programs."""

import io
import json
import re
import sys
import threading
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import build
import pytest
import real
from documented import CHANGES, RARE, check_documented
from helpers import (
    CUT,
    DATA,
    MARKER,
    OPUS,
    SMALLER,
    as_lines,
    condense,
    condense_on_terminal,
    listing,
    session,
    snapshot,
)

import condense_cli
from condense_cli import api
from condense_cli.cli.running import ran as progress
from condense_cli.errors import ExitStatus
from condense_cli.report.costs import dollars

SAMPLE = real.SESSION


def joined(text: str) -> str:
    """The text without the line breaks of the terminal."""
    return " ".join(text.split())


def test_a_dry_run_reports_and_writes_nothing(file: Path, tmp_path: Path) -> None:
    (tmp_path / "old.jsonl").write_text("precious")
    before = snapshot(tmp_path)
    done = condense("run", file, "-p", "speed", "--dry-run", "-o", tmp_path / "old.jsonl")
    assert condense("run", file, "-p", "speed", "--dry-run", "-o", tmp_path / "new.jsonl").status == ExitStatus.DONE
    assert done.status == ExitStatus.DONE
    assert "% saved" in done.text
    assert b'"role"' not in done.stdout
    assert snapshot(tmp_path) == before


def test_the_report_for_people_says_what_was_done(file: Path) -> None:
    text = condense("run", file, "-p", "speed", "--dry-run", "-v").text
    report = condense("run", file, "-p", "speed", "--json").json
    for size in ("before", "after"):
        assert f"{report['tokens'][size]:,}" in text
        assert f"{report['bytes'][size]:,}" in text
    assert "anthropic" in text
    assert "o200k_base counts" in text
    assert re.search(r"tool results +truncated +6 ", text)
    assert MARKER.search(text)


@pytest.mark.parametrize("option", ["--diff", "-v"])
def test_the_whole_diff_is_for_those_who_ask(option: str, file: Path) -> None:
    results = [listing(number) for number in range(1, 25)]
    file.write_bytes(as_lines(session(results)))
    answer = condense("run", file, "-p", "speed", "--dry-run").text
    whole = condense("run", file, "-p", "speed", option, "--dry-run").text
    for number in range(1, 23):
        assert f"{number}: line 40 of the listing" in whole
        assert f"{number}: line 40 of the listing" not in answer


@pytest.mark.slow
@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize("preset", ["balanced", "speed", "cost"])
def test_the_answer_takes_about_twenty_lines(preset: str, columns: int) -> None:
    done = condense_on_terminal("run", SAMPLE, "-p", preset, columns=columns)
    # A busy machine shows progress first.
    lines = [line for line in done.plain.rstrip("\n").split("\n") if not re.match("[\u2800-\u28ff]", line)]
    assert len(lines) <= 20
    assert all(len(line) <= columns for line in lines)
    assert re.match(r"38,534 → [\d,]+ tokens, [\d.]+% saved  █", lines[0])
    assert re.match(r"Cut: tool results [\d,]+, ", lines[1])
    headings = [number for number, line in enumerate(lines) if re.match(r"\d+\.\d+  \w.* [\d,]+ → [\d,]+$", line)]
    assert len(headings) == 3
    assert all(lines[number + 1].startswith("  - ") and " … " in lines[number + 1] for number in headings)
    money = next(number for number, line in enumerate(lines) if line.startswith("Next turn: $"))
    next_step = next(number for number, line in enumerate(lines) if line.startswith("Nothing was written: add"))
    lost = next(number for number, line in enumerate(lines) if line.startswith("No longer said"))
    assert headings[-1] < lost < money < next_step
    assert lines[next_step].endswith("; --diff shows every change.")


def test_the_largest_cuts_are_shown_with_why(file: Path) -> None:
    results = [listing(number, lines=20 * number) for number in range(1, 12)]
    file.write_bytes(as_lines(session(results)))
    lines = condense("run", file, "-p", "speed", "--dry-run").text.splitlines()
    said = [line for line in lines if line.startswith("  - ")]
    assert [line[4:].split(":")[0] for line in said] == ["7", "8", "9"]
    assert all(re.search(r"… [\d,]+ more: 3 lines or 1,500 characters of it stay", line) for line in said)


@pytest.mark.parametrize("option", ["--explain", "--diff"])
def test_reasons_and_diff_are_to_be_read_in_a_pipe_too(option: str, file: Path) -> None:
    """`condense run FILE --explain | less`: no transcript in between, unless it was asked for."""
    done = condense("run", file, "-p", "speed", option)
    assert b'"role"' not in done.stdout
    assert done.text.splitlines()[0].endswith("░")
    both = condense("run", file, "-p", "speed", option, "-o", "-")
    assert both.stdout.startswith(b'{"role"')
    assert "% saved" in both.stderr


@pytest.mark.slow
def test_a_long_report_goes_to_the_pager_of_the_user(file: Path, tmp_path: Path) -> None:
    pager = tmp_path / "pager"
    pager.write_text("#!/bin/sh\necho paged\ncat >/dev/null\n")
    pager.chmod(0o755)
    for option, is_paged in (("--diff", True), ("--json", False), ("-q", False)):
        done = condense_on_terminal("run", file, "-p", "speed", option, env={"PAGER": str(pager)})
        assert ("paged" in done.plain) is is_paged
    done = condense_on_terminal("run", file, "-p", "speed", "--diff", env={"PAGER": "no-such-pager"})
    assert "line 40 of the listing" in done.plain


@pytest.mark.slow
def test_a_path_is_never_broken(tmp_path: Path) -> None:
    folder = tmp_path / "a-folder" / ("with-a-long-name-" * 6)
    folder.mkdir(parents=True)
    small = folder / "small.jsonl"
    done = condense_on_terminal("run", SAMPLE, "-o", small, columns=60)
    assert str(small) in done.plain


@pytest.mark.slow
@pytest.mark.parametrize("columns", [80, 120])
def test_passes_that_did_not_run_for_one_reason_take_one_sentence(columns: int) -> None:
    """And a pass that ran takes one line, its name unbroken."""
    done = condense_on_terminal("run", SAMPLE, "--target-tokens", "12000", "-v", columns=columns)
    assert (
        "Skipped: Lines of newer turns, Lines of all turns, Lines worth their tokens (the target was already reached)."
    ) in joined(done.plain)
    done = condense_on_terminal("run", SAMPLE, "--preset", "max", "-v", columns=columns)
    (line,) = [line for line in done.plain.splitlines() if line.startswith("One summary of all but the newest turns  ")]
    assert line.endswith(" ms")


@pytest.mark.slow
def test_a_file_that_grows_by_its_summary_is_said_to(tmp_path: Path) -> None:
    file = tmp_path / "session.jsonl"
    file.write_bytes(SAMPLE.read_bytes())
    small = tmp_path / "small.jsonl"
    summarized = ("run", file, "--target-tokens", "12k", "-o", small)
    said = condense(*summarized).stderr
    sizes = f"from {file.stat().st_size:,} to {small.stat().st_size:,} bytes"
    assert f"The file grows {sizes}, because the client keeps what a summary replaces; --slim removes" in said
    assert "--slim removes" not in condense(*summarized, "--slim").stderr
    assert "The file grows" not in condense(*summarized, "--to", "anthropic").stderr
    assert "The file grows" not in condense("run", file, "--preset", "speed", "-o", small).stderr


FIGURES = "Next turn: $"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("where", "columns"),
    [
        ((), 60),
        ((), 80),
        ((), 120),
        (("-o", "small.jsonl"), 80),
        (("--in-place",), 80),
        (("--new-session",), 80),
        (("--if-needed", "--context-window", "20000", "--threshold", "50"), 80),
    ],
)
def test_a_terminal_is_told_what_a_run_means_in_money(where: tuple[str, ...], columns: int, tmp_path: Path) -> None:
    file = tmp_path / "session.jsonl"
    file.write_bytes(SAMPLE.read_bytes())
    places = [str(tmp_path / option) if option == "small.jsonl" else option for option in where]
    said = joined(condense_on_terminal("run", file, "-p", "speed", *places, columns=columns).plain)
    assert re.search(
        r"Next turn: \$[\d.]+ → \$[\d.]+; one-time \$[\d.]+, pays for itself after \d+ turns\.",
        said,
    )
    assert "Prices: " not in said


@pytest.mark.slow
def test_who_asks_for_costs_on_a_terminal_is_told_how(file: Path) -> None:
    model = ("-m", "claude-opus-4-5")
    said = joined(condense_on_terminal("run", file, "-p", "speed", *model, "--cost").plain)
    assert FIGURES in said
    assert "Prices: genai-prices" in said
    assert FIGURES not in condense_on_terminal("run", file, "-p", "speed", *model, "-q").plain


@pytest.mark.slow
@pytest.mark.parametrize(
    ("nothing", "words"),
    [
        ((), "The model is unknown, so its price is too. Name it with --model."),
        (("-m", "nobodys-model"), "The price of nobodys-model is not known"),
        (("-m", "claude-opus-4-5", "--only-tools", "none"), ""),
    ],
)
def test_no_figure_of_money_where_there_is_none(nothing: tuple[str, ...], words: str, file: Path) -> None:
    said = joined(condense_on_terminal("run", file, "-p", "speed", *nothing).plain)
    assert "tokens" in said
    assert words in said
    assert not re.search(r"Next turn|\$|--cost", said)
    assert ("price" in said) is bool(words)


HINTS = {
    "Preserving fewer turns (--keep last:N) would free up to": (
        "-p",
        "speed",
        "--target-tokens",
        "500",
        "--keep-recent",
        "8",
    ),
    "Keeping less with --keep would free up to": ("--target-tokens", "1k", "--pin", "listing"),
    "condense estimate --target-tokens N shows": ("-p", "lossless", "--target-tokens", "1k"),
    "": ("-p", "speed", "--target-tokens", "3"),
}


@pytest.mark.parametrize("hint", HINTS)
def test_a_missed_target_names_the_way_out(hint: str, file: Path) -> None:
    said = condense("run", file, *HINTS[hint]).stderr
    assert "was not reached" in said
    assert {other for other in HINTS if other and other in said} == ({hint} if hint else set())


def test_overhead_enters_the_next_turn_of_a_run(file: Path, tmp_path: Path) -> None:
    given = ("--overhead-tokens", "1000000")
    report = condense("run", file, "-p", "speed", *OPUS, *given, "--json").json
    assert (report["tokens"]["overhead"], report["tokens"]["overhead_source"]) == (1_000_000, "option")
    assert report["cost"] == condense("estimate", file, "speed", *OPUS, *given, "--json").json["presets"][0]["cost"]
    assert report["cost"] != condense("run", file, "-p", "speed", *OPUS, "--json").json["cost"]
    condense("run", file, "-p", "speed", *OPUS, *given, "-n", "-q", "--report", tmp_path / "report.json")
    assert json.loads((tmp_path / "report.json").read_bytes())["cost"] == report["cost"]
    shown = condense("run", file, "-p", "speed", *OPUS, *given, "--cost", "--dry-run", env={"COLUMNS": "200"}).text
    assert f"Next turn: {dollars(report['cost']['next_turn_before'])} → " in shown
    assert "tools add 1,000,000 tokens to every request (--overhead-tokens)" in " ".join(shown.split())


def asks_for_report(file: Path, tmp_path: Path) -> Any:
    condense("run", file, *OPUS, "-p", "cost", "-n", "-q", "--report", tmp_path / "report.json")
    return json.loads((tmp_path / "report.json").read_bytes())["cost"]


def asks_for_json(file: Path, tmp_path: Path) -> Any:
    return condense("run", file, *OPUS, "-p", "cost", "--json").json["cost"]


@pytest.mark.parametrize("asks", [asks_for_report, asks_for_json])
def test_reports_for_programs_have_costs(file: Path, tmp_path: Path, asks: Callable[[Path, Path], Any]) -> None:
    cost = asks(file, tmp_path)
    assert Decimal(cost["next_turn_after"]) < Decimal(cost["next_turn_before"])
    assert cost["pays_after_turns"] > 0
    assert cost["pays"] is True
    assert cost["prices"].startswith("genai-prices ")


@pytest.mark.parametrize("option", ["--cost", "--verbose"])
def test_reports_for_people_have_costs_when_asked(file: Path, option: str) -> None:
    figures = "Next turn: $"
    assert figures in condense("run", file, *OPUS, "-n", option).text
    assert figures not in condense("run", file, *OPUS, "-n").text


def test_in_a_pipe_costs_are_a_second_line(file: Path) -> None:
    with_costs, without = (
        condense("run", file, *OPUS, "-p", "cost", "--cost"),
        condense("run", file, *OPUS, "-p", "cost"),
    )
    assert with_costs.stdout == without.stdout
    first, second, pipe = with_costs.stderr.splitlines()
    assert [first, pipe] == without.stderr.splitlines()
    assert second.startswith("condense: Next turn: $")


def test_figures_say_only_what_applies(file: Path) -> None:
    nothing = ("--keep", "not:tool:nothing", "--keep", "not:0:0")
    run = ("run", file, *OPUS, "--cost", "-p", "speed")
    changed, unchanged = (condense(*run, *flags).stderr for flags in ((), nothing))
    assert "; one-time $" in changed
    assert "pays for itself after" in changed
    assert "one-time" not in unchanged


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ([], "The model is unknown, so its price is too. Name it with --model."),
        (["-m", "nobodys-model", "--cost"], "The price of nobodys-model is not known (genai-prices "),
    ],
)
def test_a_run_says_why_it_tells_no_cost(file: Path, model: list[str], said: str) -> None:
    shown = " ".join(condense("run", file, "-p", "speed", "-n", *model).text.split())
    assert said in shown
    assert "--model" in shown


def test_the_json_report_has_the_documented_shape(file: Path) -> None:
    for model in ((), ("--model", "claude-opus-4-5")):
        done = condense("run", file, "-p", "speed", "--json", *model)
        assert (done.status, done.stderr) == (ExitStatus.DONE, "")
        check_documented(done.json, "run", absent=f"{RARE} {CHANGES}")


def test_the_json_report_adds_up(file: Path) -> None:
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
    done = condense("run", file, "-p", "speed", "--json", "-o", tmp_path / "small.jsonl")
    assert done.json["output"] == str(tmp_path / "small.jsonl")
    assert (tmp_path / "small.jsonl").read_bytes() == SMALLER


def test_json_and_the_transcript_cannot_share_standard_output(file: Path, tmp_path: Path) -> None:
    before = snapshot(tmp_path)
    done = condense("run", file, "--json", "-o", "-")
    assert (done.status, done.stdout) == (ExitStatus.USAGE, b"")
    assert "--report" in done.message
    assert snapshot(tmp_path) == before


def test_report_file_holds_what_json_prints(file: Path, tmp_path: Path) -> None:
    done = condense("run", file, "-p", "speed", "--report", tmp_path / "report.json")
    assert done.stdout == SMALLER
    written = json.loads((tmp_path / "report.json").read_bytes())
    printed = condense("run", file, "-p", "speed", "--json").json
    for report in (written, printed):
        for entry in report["passes"]:
            entry.pop("seconds")
    assert written == printed


def test_the_model_decides_how_tokens_are_counted(file: Path) -> None:
    known = condense("run", file, "--json", "--model", "gpt-4").json
    assert (known["model"], known["tokens"]["encoding"], known["tokens"]["exact"]) == ("gpt-4", "cl100k_base", True)
    foreign = condense("run", file, "--json", "--model", "claude-sonnet-4-5").json
    assert (foreign["model"], foreign["tokens"]["exact"]) == ("claude-sonnet-4-5", False)
    assert condense("run", file, "--json").json["model"] is None
    assert ", estimated" not in condense("run", file, "-m", "gpt-4o").stderr


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--only-tools", "Raed"], ["--only-tools Raed matches no tool of this transcript; did you mean 'Read'?"]),
        (
            ["--only-tools", "Read", "--only-tools", "raed"],
            ["--only-tools raed matches no tool of this transcript; did"],
        ),
        (["--except-tools", "Kwrt"], ["--except-tools Kwrt matches no tool of this transcript."]),
        (["--range", "90:100"], ["--range 90:100 matches no message; the last one is 17."]),
        (["--range", ":-20"], ["--range 0:-20 matches no message; the last one is 17."]),
        (["--only-tools", "re*", "--except-tools", "mcp__*", "--range", "17:"], []),
        (["--only-tools", "Raed", "--if-needed", "--context-window", "1000000"], []),
    ],
)
def test_a_flag_that_matches_nothing_is_warned_of(file: Path, flags: list[str], said: list[str]) -> None:
    warnings = condense("run", file, "-p", "speed", "--json", *flags).json["warnings"]
    found = [warning for warning in warnings if "matches no" in warning]
    assert len(found) == len(said)
    assert all(warning.startswith(start) for warning, start in zip(found, said, strict=True))


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Screen:
    """Standard error of a terminal, and nobody who has patience."""
    screen = Screen()
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setattr(progress, "_PATIENCE", 0)
    return screen


def wait_for_timers() -> None:
    for thread in threading.enumerate():
        if isinstance(thread, threading.Timer):
            thread.join()


def test_who_waits_is_told_the_bytes_and_then_the_passes(
    file: Path, shown: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", shown)  # Not in the fixture: pytest puts its own there afterwards.
    with progress.progress_of(str(file), is_wanted=True):
        wait_for_timers()
    assert f"Reading {file.stat().st_size:,} bytes" in shown.getvalue()
    with progress.progress_of(str(file), is_wanted=True) as tell:
        tell("Cut old results")
        wait_for_timers()
        tell("Cut older results")
    assert "Cut older results" in shown.getvalue()


def test_who_does_not_wait_is_told_nothing(file: Path, shown: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setattr(progress, "_PATIENCE", 3_600)
    with progress.progress_of(str(file), is_wanted=True) as tell:
        tell("Cut old results")
    monkeypatch.setattr(progress, "_PATIENCE", 0)
    with progress.progress_of(str(file), is_wanted=False) as tell:
        tell("Cut old results")
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with progress.progress_of("no-such-file", is_wanted=True) as tell:
        wait_for_timers()
        tell("Cut old results")
    assert shown.getvalue() == ""


# References are written where they stand: behind passes that do not depend on them.
def test_a_run_tells_each_pass_by_its_name() -> None:
    names: list[str] = []
    passes = (build.one_pass(name="Cut old results"), build.one_pass(id="again"))
    configuration = build.configuration(*passes, lossless_prelude={"enabled": True})
    api.condense(build.anthropic(*build.conversation()), configuration, on_pass=names.append)
    assert names[:3] == ["Cut old results", "again", "Lossless prelude"]


def test_a_short_run_says_nothing_of_itself(file: Path) -> None:
    assert "Reading" not in condense_on_terminal("run", file, "-q").plain
    assert "Reading" not in condense("run", file).stderr
