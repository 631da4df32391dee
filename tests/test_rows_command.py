"""The commands on sets of rows: files in, files out, compressed or not, by one process or several."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from helpers import (
    COMMAND,
    as_lines,
    condense,
    condense_on_terminal,
    condense_process,
    cut_by_speed,
    environment,
    listing,
    snapshot,
)
from rowsets import LONG, row, rows

from condense_cli import compressed
from condense_cli.compressed import packed, unpacked
from condense_cli.errors import ExitStatus, UnreadableError
from condense_cli.rows import working
from condense_cli.rows.reading import batches

SPEED = ("--preset", "speed")
BROKEN = b'{"messages": [{"role": "user", "content": "cut off\n'


def expected(data: bytes) -> bytes:
    """The set with every result cut that `speed` cuts, and nothing else."""
    lines = []
    for line in data.splitlines(keepends=True):
        for number in range(1, LONG - 1):
            literal, cut = (json.dumps(text).encode() for text in (listing(number), cut_by_speed(listing(number))))
            if line.count(b"tool_call_id") == LONG:
                assert line.count(literal) == 1
                line = line.replace(literal, cut)
        lines.append(line)
    return b"".join(lines)


@pytest.fixture
def data() -> bytes:
    """Two long rows with a short one between them."""
    return as_lines(rows(LONG, 1, LONG), ensure_ascii=True)


@pytest.fixture
def file(tmp_path: Path, data: bytes) -> Path:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(data)
    return path


# --- Run -------------------------------------------------------------------------------------------------------------


def test_each_row_is_condensed_and_the_rest_stays(file: Path, data: bytes, tmp_path: Path) -> None:
    done = condense("run", file, *SPEED, "-o", tmp_path / "small.jsonl")
    assert done.status == ExitStatus.DONE
    assert (tmp_path / "small.jsonl").read_bytes() == expected(data) != data
    assert done.text.startswith("3 rows, 2 changed: ")
    assert f"Written: {tmp_path}" in done.text
    assert file.read_bytes() == data


def test_rows_flow_through_a_pipe(data: bytes) -> None:
    done = condense("run", "-", *SPEED, stdin=data)
    assert (done.status, done.stdout) == (ExitStatus.DONE, expected(data))
    assert done.message.startswith("condense: 3 rows, 2 changed: ")


def test_without_a_place_nothing_is_written(file: Path, tmp_path: Path) -> None:
    before = snapshot(tmp_path)
    done = condense_on_terminal("run", str(file), *SPEED)
    assert "Nothing was written; add -o FILE" in done.plain
    assert max(map(len, done.plain.splitlines())) <= 80
    dry = condense("run", file, *SPEED, "-n", "-o", tmp_path / "small.jsonl")
    assert "2 changed" in dry.text
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("ending", [b"\n", b"\r\n", b"\n\n"])
@pytest.mark.parametrize("last", [True, False], ids=["ended", "open"])
@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf", b"\n"], ids=["plain", "bom", "blank"])
def test_line_breaks_stay(data: bytes, ending: bytes, last: bool, start: bytes) -> None:
    lines = data.splitlines()
    odd = start + ending.join(lines) + (ending if last else b"")
    assert condense("run", "-", *SPEED, stdin=odd).stdout == start + ending.join(expected(line) for line in lines) + (
        ending if last else b""
    )


def test_a_bad_row_is_reported_and_passed_through(data: bytes, tmp_path: Path) -> None:
    lines = data.splitlines(keepends=True)
    path, output = tmp_path / "rows.jsonl", tmp_path / "small.jsonl"
    path.write_bytes(lines[0] + BROKEN + lines[1] + b'{"x": 1}\n' + lines[2])
    done = condense("run", path, *SPEED, "-o", output)
    assert done.status == ExitStatus.INPUT
    assert "5 rows, 2 changed, 2 bad" in done.text
    assert f"{path}:2: not JSON (" in done.text
    assert f'{path}:4: none of its columns holds messages in a known format (columns: "x").' in done.text
    assert output.read_bytes() == expected(lines[0]) + BROKEN + lines[1] + b'{"x": 1}\n' + expected(lines[2])
    assert condense("run", path, *SPEED, "-o", output, "--lenient").status == ExitStatus.DONE


def test_the_report_for_programs(data: bytes, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    done = condense("run", "-", *SPEED, "-m", "gpt-4o", "--json", "--report", report, stdin=data + b"{\n")
    told = done.json
    assert json.loads(report.read_text()) == told
    assert (told["version"], told["format"], told["formats"]) == (1, "rows", {"openai-chat": 3})
    assert told["rows"] == {"total": 4, "changed": 2, "bad": 1, "missed": 0}
    assert told["tokens"]["saved"] == told["tokens"]["before"] - told["tokens"]["after"] > 0
    assert told["tokens"]["exact"] is True
    [reading] = told["reading"]
    assert reading["model"] == "gpt-4o"
    assert float(reading["after"]) < float(reading["before"])
    assert told["problems"][0]["line"] == 4


# The figures of a set are the sums of the figures of its rows.
def test_a_row_counts_as_much_as_its_conversation_alone(data: bytes) -> None:
    together = condense("run", "-", *SPEED, "--json", stdin=data).json["tokens"]
    alone = [condense("run", "-", *SPEED, "--json", stdin=line).json["tokens"] for line in data.splitlines()]
    assert together["before"] == sum(each["before"] for each in alone)
    assert together["after"] == sum(each["after"] for each in alone)


def test_targets_are_those_of_each_row(data: bytes) -> None:
    half = condense("run", "-", *SPEED, "--target-percent", "99", "--json", stdin=data).json
    whole = condense("run", "-", *SPEED, "--json", stdin=data).json
    assert half["rows"]["changed"] == 3
    assert half["tokens"]["after"] > whole["tokens"]["after"]
    missed = condense("run", "-", *SPEED, "--target-tokens", "10", "--strict", "--json", stdin=data)
    assert missed.status == ExitStatus.TARGET_MISSED
    assert missed.json["rows"]["missed"] == 3
    assert "The target was not reached in 3 rows." in missed.json["warnings"]


@pytest.mark.parametrize("flag", ["--explain", "--cost", "-v", "--log-json", "--to=anthropic"])
def test_what_is_for_one_transcript_is_refused(file: Path, tmp_path: Path, flag: str) -> None:
    before = snapshot(tmp_path)
    done = condense("run", file, flag, "-o", tmp_path / "small.jsonl")
    assert done.status == ExitStatus.USAGE
    assert f"is a set of rows, and {flag.partition('=')[0]} is for one transcript." in done.message
    assert snapshot(tmp_path) == before


# A row of an unknown model has an unknown window; the others are worked on.
def test_a_row_without_a_window_is_bad_where_the_window_decides(data: bytes) -> None:
    named = data.splitlines(keepends=True)[0].replace(b'{"id"', b'{"model": "gpt-4", "id"')
    done = condense("run", "-", *SPEED, "--if-needed", stdin=named + data)
    assert done.status == ExitStatus.INPUT
    assert "standard input:2: The context window is not known: the transcript names no model." in done.stderr
    assert done.stdout == expected(named) + data


def test_flags_hold_for_every_row(data: bytes) -> None:
    assert condense("run", "-", *SPEED, "--pin", "line 1 of", stdin=data).stdout == data
    assert condense("run", "-", *SPEED, "--keep-recent", "99", stdin=data).stdout == data


def test_the_column_can_be_named() -> None:
    lines = as_lines([{"chosen": row(0)["messages"], "rejected": row(0)["messages"]}], ensure_ascii=True)
    done = condense("run", "-", *SPEED, "--format", "rows:rejected", stdin=lines).stdout
    start = lines.index(b'"rejected"')
    assert done[:start] == lines[:start]
    assert len(done) < len(lines)


# One line is one conversation, whichever way it is read.
def test_a_set_of_one_row_is_condensed_all_the_same(data: bytes) -> None:
    line = data.splitlines(keepends=True)[0]
    assert condense("run", "-", *SPEED, stdin=line).stdout == expected(line)
    assert condense("run", "-", *SPEED, "--format", "rows", stdin=line).stdout == expected(line)


@pytest.mark.parametrize("option", ["--in-place", "--new-session"])
def test_rows_do_not_go_where_sessions_go(file: Path, tmp_path: Path, option: str) -> None:
    before = snapshot(tmp_path)
    done = condense("run", file, option)
    assert done.status == ExitStatus.USAGE
    assert "-o FILE" in done.message
    assert snapshot(tmp_path) == before


def test_a_long_row_among_short_ones(data: bytes) -> None:
    text = "a long text of one row, " * 200_000
    long = as_lines([{"messages": [{"role": "user", "content": text}, {"role": "assistant", "content": "Yes."}]}])
    first, *rest = data.splitlines(keepends=True)
    done = condense("run", "-", *SPEED, stdin=first + long + b"".join(rest))
    assert done.stdout == expected(first) + long + b"".join(map(expected, rest))


# A pipe with a name gives its beginning once: nothing of it may be lost by looking.
def test_rows_from_a_named_pipe(data: bytes, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["sh", "-c", f"cat > {pipe}"], stdin=subprocess.PIPE) as writer:
        assert writer.stdin
        writer.stdin.write(data)
        writer.stdin.close()
        done = condense("run", pipe, *SPEED, "--format", "rows")
    assert done.stdout == expected(data)


# --- Several processes -----------------------------------------------------------------------------------------------


@pytest.fixture
def many_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every row is a batch, and no batch is too few for other processes."""
    monkeypatch.setattr(working, "_FEW", 1)
    monkeypatch.setattr(working, "batches", lambda stream, name: batches(stream, name, size=1))


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
    assert reports[0]["rows"] == {"total": 13, "changed": 4, "bad": 1, "missed": 0}
    assert reports[0]["problems"][0]["line"] == 13


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


# --- Compressed files ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("out", ["small.jsonl", "small.jsonl.gz", "small.jsonl.zst"])
@pytest.mark.parametrize("name", ["rows.jsonl", "rows.jsonl.gz", "rows.jsonl.zst", "rows.bin"])
def test_rows_are_unpacked_and_packed(data: bytes, tmp_path: Path, name: str, out: str) -> None:
    (tmp_path / name).write_bytes(gzip.compress(data) if name == "rows.bin" else packed(data, name))
    done = condense("run", tmp_path / name, *SPEED, "-o", tmp_path / out)
    assert done.status == ExitStatus.DONE
    assert unpacked((tmp_path / out).read_bytes(), out) == expected(data)
    assert (tmp_path / out).read_bytes() == packed(expected(data), out), "the same run writes the same bytes"


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_packed_rows_come_through_a_pipe(data: bytes, suffix: str) -> None:
    done = condense("run", "-", *SPEED, stdin=packed(data, "rows" + suffix))
    assert (done.status, done.stdout) == (ExitStatus.DONE, expected(data))


# A small file can hold more than any memory.
@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_nothing_is_unpacked_without_bound(suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = packed(b" " * 3_000_000, f"x{suffix}")
    monkeypatch.setattr(compressed, "LARGEST_UNPACKED", 3_000_000)
    assert len(unpacked(data, "x")) == 3_000_000
    monkeypatch.setattr(compressed, "LARGEST_UNPACKED", 2_999_999)
    with pytest.raises(UnreadableError, match="x unpacks to more than 2,999,999 bytes"):
        unpacked(data, "x")


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_single_transcripts_may_be_packed(data: bytes, tmp_path: Path, suffix: str) -> None:
    line = data.splitlines(keepends=True)[0]
    path, small = tmp_path / f"one.json{suffix}", tmp_path / f"small.json{suffix}"
    path.write_bytes(packed(line, path))
    assert condense("run", path, *SPEED, "-o", small, "-q").status == ExitStatus.DONE
    assert unpacked(small.read_bytes(), "small") == expected(line)
    assert condense("restore", small, "-o", tmp_path / f"whole{suffix}").status == ExitStatus.DONE
    assert unpacked((tmp_path / f"whole{suffix}").read_bytes(), "") == expected(line)
    assert condense("validate", path).status == ExitStatus.DONE
    for option in ("--in-place", "--new-session"):
        refused = condense("run", path, *SPEED, option)
        assert (refused.status, "compressed" in refused.message) == (ExitStatus.USAGE, True)
    assert unpacked(path.read_bytes(), "") == line


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
@pytest.mark.parametrize("command", ["run", "restore", "validate", "inspect", "estimate"])
def test_a_file_that_is_cut_off_is_refused(data: bytes, tmp_path: Path, suffix: str, command: str) -> None:
    whole = packed(as_lines(rows(*range(1, 30))), "x" + suffix)
    path = tmp_path / f"rows.jsonl{suffix}"
    for broken in (whole[:-10], whole[: len(whole) // 2], whole[:3], whole[:40] + b"\x00\xff" * 20 + whole[80:]):
        path.write_bytes(broken)
        before = snapshot(tmp_path)
        output = ("-o", tmp_path / "small.jsonl") if command in ("run", "restore") else ()
        done = condense(command, path, *output)
        assert done.status == ExitStatus.INPUT
        assert any(word in done.message for word in ("cut off", "cannot be unpacked", "not JSON", "not a transcript"))
        assert snapshot(tmp_path) == before


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    for name in ("rows.jsonl", "rows.jsonl.gz"):
        (tmp_path / name).write_bytes(packed(b"", name))
        for arguments in ((), ("--format", "anthropic")):
            assert "is empty" in condense("run", tmp_path / name, *arguments).message


# --- The other commands ----------------------------------------------------------------------------------------------


def repeating() -> bytes:
    """Rows in which the same file is read twice."""
    found = []
    for number in range(3):
        each = row(number, 2)
        for message in each["messages"]:
            if message["role"] == "tool":
                message["content"] = listing(number)
        found.append(each)
    return as_lines(found, ensure_ascii=True)


def test_restore_gives_the_rows_back(tmp_path: Path) -> None:
    data, small, whole = repeating(), tmp_path / "small.jsonl.zst", tmp_path / "whole.jsonl"
    assert condense("run", "-", "--lossless-only", "-o", small, stdin=data).status == ExitStatus.DONE
    assert unpacked(small.read_bytes(), "") != data
    done = condense("restore", small, "-o", whole)
    assert done.status == ExitStatus.DONE
    assert whole.read_bytes() == data
    assert "3 rows, 3 restored." in done.text
    assert "3 references restored." in done.text
    assert condense("restore", "-", stdin=small.read_bytes()).stdout == data
    told = condense("restore", small, "--json").json
    assert (told["rows"], told["resolved"]) == ({"total": 3, "changed": 3, "bad": 0}, 3)
    assert condense("restore", "-", stdin=data + BROKEN).status == ExitStatus.INPUT


def test_validate_names_the_rows_that_break_a_rule(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(data)
    done = condense("validate", path)
    assert (done.status, done.text) == (ExitStatus.DONE, "valid: 3 rows, 40 messages\n")
    orphan = {"messages": [{"role": "user", "content": "x"}, {"role": "tool", "tool_call_id": "no", "content": "y"}]}
    path.write_bytes(data + as_lines([orphan]))
    done = condense("validate", path)
    assert done.status == ExitStatus.INPUT
    assert f"{path}:4: #1:" in done.text
    told = condense("validate", path, "--json").json
    assert (told["valid"], told["rows"]) == (False, {"total": 4, "faulty": 1, "bad": 0})
    assert told["faults"][0]["line"] == 4
    path.write_bytes(data + BROKEN)
    assert condense("validate", path).status == ExitStatus.INPUT
    assert condense("validate", path, "--lenient").status == ExitStatus.DONE


def test_inspect_adds_the_rows_up(data: bytes) -> None:
    told = condense("inspect", "-", "--json", stdin=data).json
    alone = [condense("inspect", "-", "--json", stdin=line).json for line in data.splitlines()]
    assert told["rows"] == 3
    assert told["tokens"] == sum(each["tokens"]["total"] for each in alone)
    assert sum(share["tokens"] for share in told["content_types"]) + told["constants"] == told["tokens"]
    assert told["tools"][0]["calls"] == 2 * LONG + 1
    assert [each["line"] for each in told["largest_rows"]] in ([1, 3, 2], [3, 1, 2])
    text = condense("inspect", "-", "--top", "1", stdin=data, env={"COLUMNS": "80"}).text
    assert "largest rows" in text
    assert max(map(len, text.splitlines())) <= 80


def test_estimate_compares_presets_on_all_rows(data: bytes, file: Path) -> None:
    told = condense("estimate", file, "speed", "cost", "--json").json
    assert [each["configuration"] for each in told["presets"]] == ["speed", "cost"]
    assert told["presets"][0]["tokens"] == condense("run", file, *SPEED, "--json").json["tokens"]
    done = condense("estimate", "-", "-m", "gpt-4o", stdin=data, env={"COLUMNS": "80"})
    assert "read once" in done.text
    assert max(map(len, done.text.partition("\n\n")[2].partition("\n\n")[0].splitlines())) <= 80
    assert "--model" in condense("estimate", file, "speed").text


@pytest.mark.parametrize("arguments", [("diff", "--preset", "speed"), ("show", "1:0")], ids=lambda each: each[0])
def test_other_commands_say_how_to_take_one_row(file: Path, arguments: tuple[str, ...]) -> None:
    command, *rest = arguments
    done = condense(command, file, *rest)
    assert done.status == ExitStatus.INPUT
    assert "sed -n 1p" in done.message


def test_messages_of_an_unknown_kind_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(as_lines([{"messages": [{"role": "wizard", "parts": []}]}] * 3))
    before = snapshot(tmp_path)
    done = condense("run", path, "-o", tmp_path / "small.jsonl")
    assert done.status == ExitStatus.INPUT
    assert "several conversations" in done.message
    assert snapshot(tmp_path) == before


# --- Parquet ---------------------------------------------------------------------------------------------------------

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def written(path: Path, column: str) -> None:
    """A Parquet set of three rows and one without a conversation, in two row groups."""
    values = rows(LONG, 1, LONG)
    messages: list[Any] = [value["messages"] for value in values]
    if column == "text":
        messages = [json.dumps(each) for each in messages]
    table = pa.table(
        {
            "id": pa.array([value["id"] for value in values] + [9], pa.int16()),
            "messages": [*messages, None],
            "note": pa.array(["a", "b", "a", None]).dictionary_encode(),
        }
    ).replace_schema_metadata({"made by": "a test"})
    pq.write_table(table, path, row_group_size=2, compression="gzip")


@pytest.mark.parametrize("column", ["text", "struct"])
def test_parquet_rows_are_condensed(tmp_path: Path, column: str, data: bytes) -> None:
    path, small = tmp_path / "rows.parquet", tmp_path / "small.parquet"
    written(path, column)
    before = pq.read_table(path)
    done = condense("run", path, *SPEED, "-o", small)
    assert (done.status, done.text.splitlines()[0].split(":")[0]) == (ExitStatus.DONE, "3 rows, 2 changed")
    file = pq.ParquetFile(small)
    after = file.read()
    assert after.schema.equals(before.schema, check_metadata=True)
    assert file.num_row_groups == 2
    assert file.metadata.row_group(0).column(0).compression == "GZIP"
    assert after.drop_columns(["messages"]).equals(before.drop_columns(["messages"]))
    new = [json.loads(each) if column == "text" else each for each in after["messages"].to_pylist()[:3]]
    plain = [[{key: value for key, value in message.items() if value is not None} for message in each] for each in new]
    meant = [json.loads(line)["messages"] for line in expected(data).splitlines()]
    assert plain == [
        [{key: value for key, value in message.items() if value is not None} for message in each] for each in meant
    ]
    assert after["messages"][3].as_py() is None
    assert after["messages"][1] == before["messages"][1]


# A text beside the conversation may be JSON too deep to read.
def test_parquet_with_deep_json_in_a_cell(tmp_path: Path) -> None:
    path, small = tmp_path / "rows.parquet", tmp_path / "small.parquet"
    deep = "[" * 100_000
    pq.write_table(pa.Table.from_pylist([{"extra": deep, **value} for value in rows(LONG)]), path)
    assert condense("run", path, *SPEED, "-o", small).status == ExitStatus.DONE
    assert pq.read_table(small)["extra"].to_pylist() == [deep]


def test_parquet_rows_are_inspected_and_restored(tmp_path: Path) -> None:
    path, small, whole = (tmp_path / f"{name}.parquet" for name in ("rows", "small", "whole"))
    written(path, "struct")
    before = pq.read_table(path)
    assert condense("inspect", path, "--json").json["rows"] == 3
    assert condense("validate", path).status == ExitStatus.DONE
    assert condense("run", path, "--lossless-only", "-o", small, "-q").status == ExitStatus.DONE
    assert condense("restore", small, "-o", whole).status == ExitStatus.DONE
    assert pq.read_table(whole).equals(before)


def test_parquet_that_cannot_be_worked_on_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    written(path, "text")
    assert "-o FILE.parquet" in condense("run", path, *SPEED).message
    assert "-o FILE.parquet" in condense("run", path, *SPEED, "-o", tmp_path / "small.jsonl").message
    assert "no column other" in condense("run", path, "-n", "--format", "rows:other").message
    (tmp_path / "rows.jsonl").write_bytes(as_lines(rows(1, 1)))
    refused = condense("run", tmp_path / "rows.jsonl", "-o", tmp_path / "x.parquet")
    assert "would not be Parquet" in refused.message
    path.write_bytes(path.read_bytes()[:-40])
    assert condense("run", path, "-n").status == ExitStatus.INPUT
    assert not (tmp_path / "x.parquet").exists()
    pq.write_table(pa.table({"a": [1, 2]}), path)
    assert "No column" in condense("run", path, "-n").message


def test_compressed_bytes_survive_a_process(data: bytes, tmp_path: Path) -> None:
    done = condense_process("run", "-", *SPEED, stdin=packed(data, "x.zst"))
    assert (done.status, done.stdout) == (ExitStatus.DONE, expected(data))
