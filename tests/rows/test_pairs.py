"""Sets of preferences: `chosen` and `rejected` are both condensed."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from helpers import condense

TARGET = 2_000


def said(turns: int, end: str) -> list[dict[str, str]]:
    found = [{"role": "user", "content": "Why does the total differ?"}]
    for turn in range(turns):
        text = "\n".join(f"line {line} of part {turn}: total = prices[{line}] * {line * turn}" for line in range(60))
        found += [{"role": "assistant", "content": f"I look at part {turn}."}, {"role": "user", "content": text}]
    return [*found, {"role": "assistant", "content": end}]


def rows() -> list[dict[str, Any]]:
    return [{"id": row, "chosen": said(row, "Good."), "rejected": said(row + 1, "Bad.")} for row in range(4, 8)]


def check(found: list[dict[str, Any]]) -> None:
    for row, given in zip(found, rows(), strict=True):
        assert row["id"] == given["id"]
        for column in ("chosen", "rejected"):
            assert row[column][-1] == given[column][-1]
            assert len(json.dumps(row[column])) < 0.9 * len(json.dumps(given[column]))


def write_lines(path: Path, made: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in made))


def run(path: Path, *how: str) -> dict[str, Any]:
    done = condense(
        "run", path, "-o", path.with_stem("small"), "--target-tokens", str(TARGET), "--json", "-j", "1", *how
    )
    assert done.status == 0, done.stderr
    return dict(json.loads(done.stdout)["rows"])


def read(path: Path) -> list[dict[str, Any]]:
    small = path.with_stem("small")
    if path.suffix == ".parquet":
        return list(pa.parquet.read_table(small).to_pylist())
    return [json.loads(line) for line in small.read_bytes().splitlines()]


@pytest.mark.slow
def test_lines(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    write_lines(path, rows())
    assert run(path) == {"total": 4, "changed": 4, "bad": 0, "missed": 0, "added": 0}
    check(read(path))


TOOLS = [{"type": "function", "function": {"name": "find", "parameters": {"type": "object", "required": ["id"]}}}]
BESIDE: dict[str, Any] = {
    "tools": TOOLS,
    "metadata": {"source": "shop", "turns": 9, "steps": [{"role": "judge"}]},
    "reward": 0.5,
}


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_tools_and_what_else_is_beside_stay(suffix: str, tmp_path: Path) -> None:
    made = [{**BESIDE, **row, "split": "train"} for row in rows()]
    path = tmp_path / f"rows.{suffix}"
    if suffix == "parquet":
        pa.parquet.write_table(pa.Table.from_pylist(made), path)
    else:
        write_lines(path, made)
    assert run(path)["changed"] == 4
    found = read(path)
    check(found)
    beside = {**BESIDE, "split": "train"}
    assert [list(row) for row in found] == [list(row) for row in made]
    for row in found:
        assert {key: row[key] for key in (*BESIDE, "split")} == beside


# The prompt may be a conversation of its own, and what was chosen go on from there.
@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_after_a_prompt(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"rows.{suffix}"
    made = [{"prompt": said(3, "And now?")} | row for row in rows()]
    if suffix == "jsonl":
        write_lines(path, made)
    else:
        pa.parquet.write_table(pa.Table.from_pylist(made), path)
    assert run(path)["changed"] == 4
    check(read(path))
    assert all(len(json.dumps(row["prompt"])) < len(json.dumps(made[0]["prompt"])) for row in read(path))


@pytest.mark.slow
@pytest.mark.parametrize("as_text", [False, True])
def test_parquet(as_text: bool, tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    made = rows()
    if as_text:
        made = [{key: value if key == "id" else json.dumps(value) for key, value in row.items()} for row in made]
    pa.parquet.write_table(pa.Table.from_pylist(made), path)
    assert run(path) == {"total": 4, "changed": 4, "bad": 0, "missed": 0, "added": 0}
    found = read(path)
    if as_text:
        found = [{key: value if key == "id" else json.loads(value) for key, value in row.items()} for row in found]
    check(found)


def test_a_named_column_is_the_only_one(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    write_lines(path, rows())
    run(path, "--format", "rows:rejected")
    assert [row["chosen"] for row in read(path)] == [row["chosen"] for row in rows()]
    assert all(row["rejected"] != given["rejected"] for row, given in zip(read(path), rows(), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_text_beside_a_conversation_stays(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"rows.{suffix}"
    made = [row | {"rejected": "no conversation"} for row in rows()]
    if suffix == "jsonl":
        write_lines(path, made)
    else:
        pa.parquet.write_table(pa.Table.from_pylist(made), path)
    assert run(path)["changed"] == 4
    assert {row["rejected"] for row in read(path)} == {"no conversation"}


# One flag makes rows fit: what is larger comes down to it, what is not stays as it is.
def test_rows_of_at_most_so_many_tokens(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    write_lines(path, [{"messages": said(turns, "Done.")} for turns in (1, 1, 4, 8)])
    assert run(path, "-m", "gpt-5.1") == {
        "total": 4,
        "changed": 2,
        "bad": 0,
        "missed": 0,
        "added": 0,
    }
    assert read(path)[:2] == [{"messages": said(1, "Done.")}] * 2
    sizes = json.loads(condense("inspect", path.with_stem("small"), "-m", "gpt-5.1", "--json").stdout)["largest_rows"]
    assert 0.7 * TARGET < sizes[0]["tokens"] <= TARGET
