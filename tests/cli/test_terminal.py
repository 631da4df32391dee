"""What a terminal shows: lines that fit it, colours, and nothing that steers it."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from helpers import (
    CUT,
    MARKER,
    SMALLER,
    as_lines,
    condense,
    condense_on_terminal,
    condense_process,
    listing,
    session,
    snapshot,
)
from rich.cells import cell_len

from condense_cli.errors import ExitStatus

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


@pytest.mark.slow
@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize(
    "arguments",
    [("run",), ("run", "-v"), ("run", "--explain"), ("diff",), ("diff", "--all-lines")],
    ids=["run", "run -v", "run --explain", "diff", "diff --all-lines"],
)
def test_on_a_terminal_no_line_is_wider_than_the_terminal(
    arguments: tuple[str, ...], columns: int, long_file: Path
) -> None:
    done = condense_on_terminal(arguments[0], long_file, "-p", "speed", *arguments[1:], columns=columns)
    assert done.status == ExitStatus.DONE
    widths = [cell_len(line) for line in done.plain.split("\n")]
    assert max(widths) <= columns
    assert max(widths) > columns - 20
    assert MARKER.search(done.plain) or arguments in (("run",), ("run", "--explain"))


def test_on_a_terminal_run_prints_diff_and_report_and_writes_nothing(file: Path, tmp_path: Path) -> None:
    before = snapshot(tmp_path)
    done = condense_on_terminal("run", file, "-p", "speed")
    assert done.status == ExitStatus.DONE
    assert '"role"' not in done.plain
    assert re.search(r"^2\.0 +Read src/1.py  .* → ", done.plain, re.MULTILINE)
    assert re.search(r"^ *- 1: line 4 of the listing", done.plain, re.MULTILINE)
    assert re.search(r"% saved", done.plain)
    assert "Nothing was written" in done.plain
    assert "-o FILE" in done.plain
    assert snapshot(tmp_path) == before


@pytest.mark.slow
def test_a_target_is_proposed_where_rules_cut(long_file: Path) -> None:
    """A preset that could meet a target names the one that keeps more in as many tokens, where rules alone cut."""
    done = condense_on_terminal("run", long_file, "-p", "speed")
    found = re.search(r"Tip: --target-percent (\d+) usually keeps more", done.plain)
    assert found
    left = re.search(r"([\d.]+)% saved", done.plain)
    assert left
    assert abs(100 - float(left[1]) - int(found[1])) < 1
    for others in (("-p", "speed", "--target-percent", found[1]), ("-p", "lossless"), ("-p", "balanced")):
        assert "usually keeps more" not in condense_on_terminal("run", long_file, *others).plain


def test_a_heading_of_the_diff_takes_one_line(long_file: Path) -> None:
    """A label too long for the terminal is cut with an ellipsis and does not break into a line of its own."""
    done = condense_on_terminal("run", long_file, "-p", "speed", "--diff", columns=80)
    lines = done.plain.split("\n")
    headings = [index for index, line in enumerate(lines) if re.match(r"message \d+ ", line)]
    assert headings
    for index in headings:
        assert lines[index + 1].startswith("  "), lines[index + 1]
        assert "…" in lines[index]


def test_a_shown_line_of_the_diff_takes_one_line(long_file: Path) -> None:
    done = condense_on_terminal("diff", long_file, "-p", "speed", columns=80)
    _, diff = done.plain.split("\n\n", 1)
    for line in diff.split("\n"):
        assert re.match(r"message \d+ |  [-+ ] |\s*$", line), line


def test_a_transcript_cannot_steer_the_terminal(tmp_path: Path) -> None:
    hostile = "\x1b[2J\x1b]0;title\x07\x9b31m" + "\x1b[31mred\x1b[0m\n" * 40
    file = tmp_path / "session.jsonl"
    file.write_bytes(as_lines(session([hostile, *CUT, hostile])))
    for arguments in (("run", file, "-p", "speed", "--dry-run", "-v"), ("diff", file, "-p", "speed")):
        done = condense(*arguments)
        assert done.status == ExitStatus.DONE
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f\x80-\x9f]", done.text)
        assert "red" in done.text


@pytest.mark.slow
def test_colours_are_for_terminals(file: Path) -> None:
    assert condense_on_terminal("run", file).has_colours
    assert "\x1b" not in condense_process("run", file, "--dry-run").text


@pytest.mark.slow
def test_no_color_and_its_option_switch_colours_off(file: Path) -> None:
    assert not condense_on_terminal("run", file, env={"NO_COLOR": "1"}).has_colours
    assert not condense_on_terminal("--no-color", "run", file).has_colours
    assert not condense_on_terminal("run", file, env={"TERM": "dumb"}).has_colours
    assert not condense_on_terminal("diff", file, "-p", "speed", env={"NO_COLOR": "1"}).has_colours


def test_force_color_colours_a_pipe_unless_the_option_forbids_it(file: Path) -> None:
    forced = {"FORCE_COLOR": "1"}
    assert condense("run", file, "--dry-run", env=forced).has_colours
    assert not condense("--no-color", "run", file, "--dry-run", env=forced).has_colours


@pytest.mark.slow
def test_no_colour_ever_enters_data(file: Path) -> None:
    forced = {"FORCE_COLOR": "1"}
    assert condense_process("run", file, "-p", "speed", env=forced).stdout == SMALLER
    assert b"\x1b" not in condense_process("run", file, "--json", env=forced).stdout
    assert b"\x1b" not in condense_process("diff", file, "-p", "speed", "--json", env=forced).stdout


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_a_report_is_printed_in_every_encoding(encoding: str, file: Path) -> None:
    """Where standard output has no arrows (Windows pipes, LC_ALL=C), something else stands for them."""
    for arguments in (("run", file, "--dry-run"), ("diff", file, "-p", "speed")):
        done = condense_process(*arguments, env={"PYTHONIOENCODING": encoding})
        assert (done.status, done.stderr) == (ExitStatus.DONE, "")


@pytest.mark.sampled(1)
@pytest.mark.parametrize("command", ["run", "estimate", "inspect", "validate", "restore", "check"])
def test_a_terminal_is_no_transcript(command: str) -> None:
    done = condense_on_terminal(command, "-")
    assert done.status == ExitStatus.USAGE
    assert "but that is a terminal" in done.text


# So says a terminal whose size nobody set, such as that of some CI runners.
@pytest.mark.parametrize("command", [("inspect",), ("validate",), ("run", "-n")])
def test_a_width_of_nothing_is_no_width(command: tuple[str, ...], file: Path) -> None:
    unknown, usual = (condense(*command, file, env=env) for env in ({"COLUMNS": "0", "LINES": "0"}, {}))
    assert (unknown.stdout, unknown.stderr) == (usual.stdout, usual.stderr)
    assert unknown.stdout


COLUMNS = 80


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Sessions: two that are right, one that is broken in several ways, one that is torn, and a set of rows."""
    records: list[Any] = session()
    for name in ("one", "two"):
        (tmp_path / f"{name}.jsonl").write_bytes(as_lines(records))
    (tmp_path / "broken.jsonl").write_bytes(as_lines([*records[:2], *records[3:], {"role": "user", "content": ""}]))
    (tmp_path / "torn.jsonl").write_bytes(as_lines(records)[:-40])
    (tmp_path / "rows.jsonl").write_text(2 * (json.dumps({"messages": records[:2]}) + "\n"))
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "FOLDER", "-p", "speed", "--dry-run"],
        ["run", "FOLDER", "-p", "speed", "--out-dir", "FOLDER/out"],
        ["run", "FOLDER/torn.jsonl"],
        ["run", "FOLDER/broken.jsonl", "--dry-run"],
        ["check", "FOLDER/rows.jsonl"],
        ["validate", "FOLDER/broken.jsonl"],
        ["repair", "FOLDER/broken.jsonl"],
        ["repair", "FOLDER/torn.jsonl"],
        ["inspect", "FOLDER/torn.jsonl"],
        ["run", "FOLDER/rows.jsonl", "--threshold", "50"],
    ],
    ids=lambda each: " ".join(each),
)
def test_no_line_is_longer_than_the_terminal(folder: Path, arguments: list[str]) -> None:
    shown = condense_on_terminal(*(each.replace("FOLDER", str(folder)) for each in arguments), columns=COLUMNS).plain
    assert shown.strip()
    long = [line for line in shown.splitlines() if len(line) > COLUMNS and len(max(line.split(), key=len)) < COLUMNS]
    # A command to copy stays whole.
    assert [line for line in long if not any(sign in line for sign in (" | ", " > ", " && "))] == []


@pytest.mark.slow
def test_a_pipe_gets_a_fault_on_one_line(folder: Path) -> None:
    broken = folder / "broken.jsonl"
    faults = [line for line in condense("validate", broken).text.splitlines() if line.startswith(str(broken))]
    assert faults
    assert all(len(line) > COLUMNS for line in faults)
