"""Sets of rows in Parquet files, logs of Inspect AI and JSON arrays: what is beside the conversations stays."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import real
from agent_work import WORK
from helpers import as_lines, condense
from rowsets import DATA, LONG, SPEED, expected, rows

from condense_cli.errors import ExitStatus
from condense_cli.rows.archives import samples_of


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
def test_parquet_rows_are_condensed(tmp_path: Path, column: str) -> None:
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
    meant = [json.loads(line)["messages"] for line in expected(DATA).splitlines()]
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
    # A row that is a conversation as a whole has it in no column.
    pq.write_table(pa.table({"mapping": ["{}"], "current_node": ["a"]}), path)
    assert "No column" in condense("run", path, "-n").message


SAMPLE = json.loads((real.PROJECT / "sample_transcripts" / "bugfix-inspect.json").read_bytes())["samples"][0]


def archive(path: Path, *samples: str) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("header.json", "{}")
        for number, sample in enumerate(samples):
            file.writestr(f"samples/{number}_epoch_1.json", sample)
    return path


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return archive(tmp_path / "log.eval", *(json.dumps({**SAMPLE, "id": n}, indent=2) for n in range(3)))


@pytest.mark.slow
def test_each_sample_is_a_row(log: Path, tmp_path: Path) -> None:
    out = tmp_path / "small.jsonl"
    done = condense("run", str(log), "--preset", "max", "-o", str(out), "-j", "1")
    assert done.status == ExitStatus.DONE, done.stderr
    rows = [json.loads(line) for line in out.read_bytes().splitlines()]
    assert [row["id"] for row in rows] == [0, 1, 2]
    assert all(len(str(row["messages"])) < len(str(SAMPLE["messages"])) for row in rows)
    inspected = json.loads(condense("inspect", str(log), "--json").stdout)
    assert inspected["rows"] == 3


# A log of one sample is a transcript; what is broken says where.
def test_other_archives(tmp_path: Path) -> None:
    one = archive(tmp_path / "one.eval", json.dumps(SAMPLE))
    assert "inspect-eval" in condense("validate", str(one)).text
    broken = archive(tmp_path / "broken.eval", json.dumps(SAMPLE), json.dumps(SAMPLE))
    data = bytearray(broken.read_bytes())
    at = data.index(b"samples/1_epoch_1.json") + 60
    data[at : at + 40] = bytes(40)
    broken.write_bytes(data)
    refused = condense("validate", str(broken))
    assert refused.status == ExitStatus.INPUT
    assert "samples/1_epoch_1.json" in refused.stderr


# The first archive needs a ZIP that is not there yet, the second has a name that is no UTF-8.
@pytest.mark.parametrize(("at", "new"), [(6, b"\x63"), (8, b"\x00\x08")])
def test_archives_that_cannot_be_opened_hold_no_samples(tmp_path: Path, at: int, new: bytes) -> None:
    path = archive(tmp_path / "log.eval", "{}", "{}")
    data = bytearray(path.read_bytes())
    entry = data.rindex(b"PK\x01\x02")
    data[entry + at : entry + at + len(new)] = new
    data[entry + 46] = 0xFF
    with pytest.raises((NotImplementedError, UnicodeDecodeError)):
        zipfile.ZipFile(io.BytesIO(data))
    assert samples_of(io.BytesIO(data)) == []
    path.write_bytes(data)
    assert condense("validate", str(path)).status == ExitStatus.INPUT


CONFIGURED = ("--preset", "speed", "--keep", "last:1")


def write(path: Path, value: Any, **style: Any) -> Path:
    path.write_text(json.dumps(value, **style) + "\n")
    return path


@pytest.mark.parametrize("indent", [None, 2])
def test_each_element_is_condensed(tmp_path: Path, indent: int | None) -> None:
    rows = [{"task_id": number, "reward": 1.0, "traj": WORK, "trial": 0} for number in range(3)]
    path, out = write(tmp_path / "rows.json", rows, indent=indent), tmp_path / "out.json"
    done = condense("run", path, *CONFIGURED, "-o", out)
    assert done.status == ExitStatus.DONE
    after = json.loads(out.read_text())
    assert [row["task_id"] for row in after] == [0, 1, 2]
    assert [list(row) for row in after] == [list(row) for row in rows]
    assert all(len(json.dumps(row)) < len(json.dumps(rows[0])) for row in after)
    assert out.read_text().startswith("[\n  {" if indent else "[{")
    assert "3 rows" in condense("validate", out).text


# Rows that nothing changes leave the file as it was, down to the last byte; so does one row alone.
@pytest.mark.parametrize("number", [1, 4])
def test_nothing_else_changes(tmp_path: Path, number: int) -> None:
    short = [{"role": "user", "content": "Hé"}, {"role": "assistant", "content": "Ho", "tool_calls": None}]
    rows = [{"messages": short, "id": row} for row in range(number)]
    path, out = write(tmp_path / "rows.json", rows, indent="\t"), tmp_path / "out.json"
    assert condense("run", path, *CONFIGURED, "-o", out).status == ExitStatus.DONE
    assert out.read_bytes() == path.read_bytes()
    assert condense("estimate", path).status == ExitStatus.DONE


def test_an_array_of_messages_is_no_set(tmp_path: Path) -> None:
    path = write(tmp_path / "chat.json", WORK)
    assert "format openai-chat" in condense("validate", path).text


def test_restore_writes_an_array(tmp_path: Path) -> None:
    rows = [{"messages": WORK}, {"messages": WORK}]
    path, out, back = write(tmp_path / "rows.json", rows), tmp_path / "out.json", tmp_path / "back.json"
    assert condense("run", path, "--preset", "lossless", "-o", out).status == ExitStatus.DONE
    assert condense("restore", out, "-o", back).status == ExitStatus.DONE
    assert json.loads(back.read_text()) == rows


# A conversation needs no object around it: in an array of one or more, and on lines of their own.
@pytest.mark.parametrize("number", [1, 3])
def test_conversations_are_bare_lists(number: int, tmp_path: Path) -> None:
    path, out = write(tmp_path / "rows.json", [WORK] * number), tmp_path / "out.json"
    assert condense("run", path, *CONFIGURED, "-o", out).status == ExitStatus.DONE
    after = json.loads(out.read_text())
    assert [len(messages) for messages in after] == [len(WORK)] * number
    assert len(out.read_bytes()) < 0.5 * len(path.read_bytes())
    back = tmp_path / "back.json"
    assert condense("restore", out, "-o", back).status == ExitStatus.DONE


def test_bare_lists_on_lines(tmp_path: Path) -> None:
    path, out = tmp_path / "rows.jsonl", tmp_path / "out.jsonl"
    path.write_text(f"{json.dumps(WORK)}\n[]\n{json.dumps(WORK)}\n[1]\n")
    done = condense("run", path, *CONFIGURED, "-o", out)
    assert done.status == ExitStatus.INPUT
    assert f"{path}:4: " in done.text
    before, after = path.read_text().splitlines(), out.read_text().splitlines()
    assert after[1::2] == before[1::2]
    assert all(len(line) < 0.5 * len(before[0]) for line in after[::2])
