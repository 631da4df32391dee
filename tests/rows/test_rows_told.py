"""`run --cost` and `run -v` on a set of rows, and engines that work on its shards."""

import builtins
import json
import re
from pathlib import Path
from typing import Any

import pytest
from helpers import condense


def said(turns: int) -> list[dict[str, str]]:
    found = [{"role": "user", "content": "Why does the total differ?"}]
    for turn in range(turns):
        text = "\n".join(f"line {line} of part {turn}: total = prices[{line}] * {line * turn}" for line in range(60))
        found += [{"role": "assistant", "content": f"I look at part {turn}."}, {"role": "user", "content": text}]
    return [*found, {"role": "assistant", "content": "Done."}]


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """Rows of three kinds: of a model with a price, of one without, of none."""
    path = tmp_path / "rows" / "rows.jsonl"
    path.parent.mkdir()
    made: list[dict[str, Any]] = [{"messages": said(turns), "model": "gpt-5.1"} for turns in (1, 9, 5)]
    made += [{"messages": said(1), "model": "nobody-knows"}, {"messages": said(1)}]
    path.write_text("".join(json.dumps(row) + "\n" for row in made))
    return path


HOW = ("--target-tokens", "2000", "-j", "1")


def test_costs(rows: Path) -> None:
    text = condense("run", rows, *HOW, "--cost", "--dry-run", env={"COLUMNS": "200"}).text
    assert re.search(r"Reading the rows of gpt-5\.1 once: \$[\d.]+ → \$[\d.]+", text)
    assert "Prices: " in text
    assert re.search(r"Not in these costs: [\d,]+ tokens of nobody-knows, whose price is not known", text)
    assert re.search(r"Not in these costs: [\d,]+ tokens of rows that name no model", text)
    assert "rows a second" not in text


def test_costs_where_no_price_is_known(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text(f"{json.dumps({'messages': said(1)})}\n" * 2)
    text = condense("run", tmp_path / "rows.jsonl", *HOW, "--cost", "--dry-run", env={"COLUMNS": "200"}).text
    assert re.search(r"^Cost of reading unknown: [\d,]+ tokens of rows that name no model", text, re.MULTILINE)


def test_details_name_the_rows_that_lost_the_most(rows: Path) -> None:
    text = condense("run", rows, *HOW, "-v", "--dry-run", env={"COLUMNS": "200"}).text
    found = re.findall(r"line (\d+): ([\d,]+) → ([\d,]+) tokens", text)
    assert [line for line, _, _ in found] == ["2", "3"]
    assert all(int(after.replace(",", "")) <= 2_000 < int(before.replace(",", "")) for _, before, after in found)
    assert "rows a second" in text


def test_without_either_nothing_more_is_told(rows: Path) -> None:
    text = condense("run", rows, *HOW, "--dry-run", env={"COLUMNS": "200"}).text
    assert not re.search("Prices|Not in these costs|rows a second", text)


def test_an_engine_needs_several_files(rows: Path) -> None:
    done = condense("run", rows, "--engine", "ray", "--dry-run")
    assert done.status == 2
    assert "--engine ray works on several files." in done.stderr


def test_ray_calls_no_models(rows: Path, tmp_path: Path) -> None:
    done = condense("run", rows.parent, "--out-dir", tmp_path / "out", "--engine", "ray", "--allow-calls")
    assert done.status == 2
    assert "--engine ray cannot call models" in done.stderr


def test_without_ray_a_sentence_tells_how_to_get_it(
    rows: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def without(name: str, *arguments: Any) -> Any:
        if name == "ray":
            raise ImportError(name)
        return real(name, *arguments)

    monkeypatch.setattr(builtins, "__import__", without)
    done = condense("run", rows.parent, "--out-dir", tmp_path / "out", "--engine", "ray")
    assert done.status == 2
    assert re.search(
        r"--engine ray needs Ray, which is not installed\.\n\S+ -m pip install 'ray\[data\]>=", done.stderr
    )
