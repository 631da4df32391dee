"""`condense run` on sets of rows: each row for itself, line by line, by one process or several."""

import gzip
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from helpers import COMMAND, as_lines, condense, condense_on_terminal, environment, snapshot
from rowsets import BROKEN, DATA, LONG, SPEED, expected, row, rows

from condense_cli.errors import ExitStatus
from condense_cli.rows import condensing, reading


def test_each_row_is_condensed_and_the_rest_stays(rows_file: Path, tmp_path: Path) -> None:
    done = condense("run", rows_file, *SPEED, "-o", tmp_path / "small.jsonl")
    assert done.status == ExitStatus.DONE
    assert (tmp_path / "small.jsonl").read_bytes() == expected(DATA) != DATA
    assert done.text.startswith("3 rows, 2 changed: ")
    assert f"Written: {tmp_path}" in done.text
    said = "small.jsonl, in place of the file that was there\n"
    assert said not in done.text
    assert said in condense("run", rows_file, *SPEED, "-o", tmp_path / "small.jsonl").text
    assert rows_file.read_bytes() == DATA


def test_rows_flow_through_a_pipe() -> None:
    done = condense("run", "-", *SPEED, stdin=DATA)
    assert (done.status, done.stdout) == (ExitStatus.DONE, expected(DATA))
    assert done.message.startswith("condense: 3 rows, 2 changed: ")


def test_without_a_place_nothing_is_written(rows_file: Path, tmp_path: Path) -> None:
    before = snapshot(tmp_path)
    done = condense_on_terminal("run", str(rows_file), *SPEED)
    assert "Nothing was written; add -o FILE" in done.plain
    assert max(map(len, done.plain.splitlines())) <= 80
    dry = condense("run", rows_file, *SPEED, "-n", "-o", tmp_path / "small.jsonl")
    assert "2 changed" in dry.text
    assert snapshot(tmp_path) == before


# As for a single transcript: beside `ls -l` the figures would be wrong.
def test_sizes_of_compressed_rows_are_said_to_be_unpacked(rows_file: Path, tmp_path: Path) -> None:
    packed = tmp_path / "rows.jsonl.gz"
    packed.write_bytes(gzip.compress(DATA))
    for file, output, unit in ((rows_file, "b.jsonl", "bytes"), (packed, "b.jsonl", "unpacked bytes")):
        said = condense("run", file, *SPEED, "-o", tmp_path / output).text
        assert f"{len(DATA):,} → {(tmp_path / output).stat().st_size:,} {unit}, openai-chat" in said


@pytest.mark.sampled(3)
@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b"\n\n"])
@pytest.mark.parametrize("last", [True, False], ids=["ended", "open"])
@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf", b"\n"], ids=["plain", "bom", "blank"])
def test_line_breaks_stay(ending: bytes, last: bool, start: bytes) -> None:
    lines = DATA.splitlines()
    odd = start + ending.join(lines) + (ending if last else b"")
    assert condense("run", "-", *SPEED, stdin=odd).stdout == start + ending.join(expected(line) for line in lines) + (
        ending if last else b""
    )


def test_a_bad_row_is_reported_and_passed_through(tmp_path: Path) -> None:
    lines = DATA.splitlines(keepends=True)
    path, output = tmp_path / "rows.jsonl", tmp_path / "small.jsonl"
    path.write_bytes(lines[0] + BROKEN + lines[1] + b'{"x": 1}\n' + lines[2])
    done = condense("run", path, *SPEED, "-o", output)
    assert done.status == ExitStatus.INPUT
    assert "5 rows, 2 changed, 2 bad" in done.text
    assert f"{path}:2: not JSON (" in done.text
    assert f'{path}:4: none of its columns holds messages in a known format (columns: "x").' in done.text
    assert output.read_bytes() == expected(lines[0]) + BROKEN + lines[1] + b'{"x": 1}\n' + expected(lines[2])
    assert condense("run", path, *SPEED, "-o", output, "--lenient").status == ExitStatus.DONE
    quiet = condense("run", path, *SPEED, "-o", output, "-q")
    assert (quiet.stdout, quiet.stderr.count(f"condense: {path}:")) == (b"", 2)
    assert condense("run", path, *SPEED, "-o", output, "-q", "--lenient").stderr == ""


def test_the_report_for_programs(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    done = condense("run", "-", *SPEED, "-m", "gpt-4o", "--json", "--report", report, stdin=DATA + b"{\n")
    told = done.json
    assert json.loads(report.read_text()) == told
    assert (told["version"], told["format"], told["formats"]) == (2, "rows", {"openai-chat": 3})
    assert told["rows"] == {"total": 4, "changed": 2, "bad": 1, "missed": 0, "added": 0}
    assert told["tokens"]["saved"] == told["tokens"]["before"] - told["tokens"]["after"] > 0
    assert told["tokens"]["exact"] is True
    [reading] = told["reading"]
    assert reading["model"] == "gpt-4o"
    assert float(reading["after"]) < float(reading["before"])
    assert told["problems"][0]["line"] == 4


# The figures of a set are the sums of the figures of its rows.
def test_a_row_counts_as_much_as_its_conversation_alone() -> None:
    together = condense("run", "-", *SPEED, "--json", stdin=DATA).json["tokens"]
    alone = [condense("run", "-", *SPEED, "--json", stdin=line).json["tokens"] for line in DATA.splitlines()]
    assert together["before"] == sum(each["before"] for each in alone)
    assert together["after"] == sum(each["after"] for each in alone)


def test_targets_are_those_of_each_row() -> None:
    half = condense("run", "-", *SPEED, "--target-percent", "99", "--json", stdin=DATA).json
    whole = condense("run", "-", *SPEED, "--json", stdin=DATA).json
    assert half["rows"]["changed"] == 3
    assert half["tokens"]["after"] > whole["tokens"]["after"]
    missed = condense("run", "-", *SPEED, "--target-tokens", "10", "--strict", "--json", stdin=DATA)
    assert missed.status == ExitStatus.TARGET_MISSED
    assert missed.json["rows"]["missed"] == 3
    assert "The target was not reached in 3 rows." in missed.json["warnings"]


@pytest.mark.slow
@pytest.mark.parametrize("flag", ["--explain", "--log-json", "--to=anthropic"])
def test_what_is_for_one_transcript_is_refused(rows_file: Path, tmp_path: Path, flag: str) -> None:
    before = snapshot(tmp_path)
    done = condense("run", rows_file, flag, "-o", tmp_path / "small.jsonl")
    assert done.status == ExitStatus.USAGE
    assert f"is a set of rows, and {flag.partition('=')[0]} works on one transcript." in done.message
    assert snapshot(tmp_path) == before


# A row of an unknown model has an unknown window; the others are worked on.
def test_a_row_without_a_window_is_bad_where_the_window_decides() -> None:
    named = DATA.splitlines(keepends=True)[0].replace(b'{"id"', b'{"model": "gpt-4", "id"')
    done = condense("run", "-", *SPEED, "--if-needed", stdin=named + DATA)
    assert done.status == ExitStatus.INPUT
    assert "standard input:2: The context window is not known: the transcript names no model." in done.stderr
    assert done.stdout == expected(named) + DATA
    without = condense("run", "-", *SPEED, "--if-needed", "--json", stdin=DATA).json
    assert "No row could be condensed." in without["warnings"]


def test_flags_hold_for_every_row() -> None:
    assert condense("run", "-", *SPEED, "--pin", "line 1 of", stdin=DATA).stdout == DATA
    assert condense("run", "-", *SPEED, "--keep-recent", "99", stdin=DATA).stdout == DATA


def test_the_column_can_be_named() -> None:
    lines = as_lines([{"chosen": row(0)["messages"], "rejected": row(0)["messages"]}], ensure_ascii=True)
    done = condense("run", "-", *SPEED, "--format", "rows:rejected", stdin=lines).stdout
    start = lines.index(b'"rejected"')
    assert done[:start] == lines[:start]
    assert len(done) < len(lines)


# One line is one conversation, whichever way it is read.
def test_a_set_of_one_row_is_condensed_all_the_same() -> None:
    line = DATA.splitlines(keepends=True)[0]
    assert condense("run", "-", *SPEED, stdin=line).stdout == expected(line)
    assert condense("run", "-", *SPEED, "--format", "rows", stdin=line).stdout == expected(line)


@pytest.mark.parametrize("option", ["--in-place", "--new-session"])
def test_rows_do_not_go_where_sessions_go(rows_file: Path, tmp_path: Path, option: str) -> None:
    before = snapshot(tmp_path)
    done = condense("run", rows_file, option)
    assert done.status == ExitStatus.USAGE
    assert "-o FILE" in done.message
    assert snapshot(tmp_path) == before


def test_a_long_row_among_short_ones() -> None:
    text = "a long text of one row, " * 200_000
    long = as_lines([{"messages": [{"role": "user", "content": text}, {"role": "assistant", "content": "Yes."}]}])
    first, *rest = DATA.splitlines(keepends=True)
    done = condense("run", "-", *SPEED, stdin=first + long + b"".join(rest))
    assert done.stdout == expected(first) + long + b"".join(map(expected, rest))


# A pipe with a name gives its beginning once: nothing of it may be lost by looking.
def test_rows_from_a_named_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["sh", "-c", f"cat > {pipe}"], stdin=subprocess.PIPE) as writer:
        assert writer.stdin
        writer.stdin.write(DATA)
        writer.stdin.close()
        done = condense("run", pipe, *SPEED, "--format", "rows")
    assert done.stdout == expected(DATA)


def test_messages_of_an_unknown_kind_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(as_lines([{"messages": [{"role": "wizard", "parts": []}]}] * 3))
    before = snapshot(tmp_path)
    done = condense("run", path, "-o", tmp_path / "small.jsonl")
    assert done.status == ExitStatus.INPUT
    assert "several conversations" in done.message
    assert snapshot(tmp_path) == before


@pytest.fixture
def many_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every row is a batch, and no batch is too few for other processes."""
    monkeypatch.setattr(condensing, "_FEW", 1)
    monkeypatch.setattr(reading, "_BATCH_BYTES", 1)


@pytest.mark.slow
def test_several_processes_write_the_same_bytes_in_order(many_batches: None, tmp_path: Path) -> None:
    data = as_lines(rows(*(LONG, 1, 2) * 4), ensure_ascii=True) + BROKEN
    path = tmp_path / "rows.jsonl"
    path.write_bytes(data)
    reports = []
    for jobs in ("1", "2"):
        done = condense("run", path, *SPEED, "-o", tmp_path / jobs, "-j", jobs, "--json")
        assert done.status == ExitStatus.INPUT
        assert (tmp_path / jobs).read_bytes() == expected(data)
        reports.append({key: value for key, value in done.json.items() if key != "output"})
    assert reports[0] == reports[1]
    assert reports[0]["rows"] == {"total": 13, "changed": 4, "bad": 1, "missed": 0, "added": 0}
    assert reports[0]["problems"][0]["line"] == 13


@pytest.mark.slow
def test_ctrl_c_leaves_nothing_half_written(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(as_lines(rows(*[LONG] * 40)) * 40)
    before = snapshot(tmp_path)
    command = [*COMMAND, "run", str(path), *SPEED, "-o", str(tmp_path / "small.jsonl"), "-j", "2"]
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment(), start_new_session=True
    ) as process:
        while not list(tmp_path.glob(".small.jsonl.*")):
            assert process.poll() is None
            time.sleep(0.02)
        time.sleep(0.5)  # Other processes have started by then; whether they have does not matter.
        os.killpg(process.pid, signal.SIGINT)
        assert process.stderr
        said = process.stderr.read().decode()
    assert process.returncode == ExitStatus.INTERRUPTED
    assert said == "condense: interrupted.\n"
    assert snapshot(tmp_path) == before
