"""Rows in Parquet files: the schema, the row groups and the other columns stay."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers import as_lines, condense
from rowsets import DATA, LONG, SPEED, expected, rows

from condense_cli.errors import ExitStatus


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
