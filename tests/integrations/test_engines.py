"""Rows on engines of others: Hugging Face datasets, Ray Data, and `condense run --engine ray`; Ray starts once."""

import json
import os
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import ray
import ray.data
from datasets import Dataset
from helpers import condense

from condense_cli import Condenser
from condense_cli.cli.commands.shrink import Writing
from condense_cli.storage.processes import with_ray

from .wire import TASK, look

pytestmark = [pytest.mark.integration, pytest.mark.filterwarnings("default")]

ROWS = 12
BROKEN = 5
"""The row whose conversation is none."""


@pytest.fixture(scope="module", autouse=True)
def running() -> Iterator[None]:
    """Ray on this machine. Its sockets need a short folder."""
    with tempfile.TemporaryDirectory(prefix="r", dir="/tmp", ignore_cleanup_errors=True) as folder:
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        ray.init(num_cpus=2, log_to_driver=False, logging_level="error", include_dashboard=False, _temp_dir=folder)
        yield
        ray.shutdown()


def conversation(row: int) -> list[dict[str, str]]:
    said = [{"role": "user", "content": TASK}]
    for turn in range(row):
        said.append({"role": "assistant", "content": f"I look at part {turn}.\n" + look(turn)})
        said.append({"role": "user", "content": f"Here it is:\n{look(turn + row)}"})
    return [*said, {"role": "assistant", "content": "Done."}]


def rows() -> list[dict[str, Any]]:
    made = [{"id": row, "messages": conversation(row), "score": row / 2} for row in range(ROWS)]
    made[BROKEN]["messages"] = []
    return made


CONDENSER = Condenser("cost", max_tokens=2_000)


def check(found: list[dict[str, Any]]) -> None:
    """Each row is there once, in order, with all its columns, and larger ones are smaller."""
    assert [row["id"] for row in found] == [*range(ROWS)]
    assert [row["score"] for row in found] == [row / 2 for row in range(ROWS)]
    for row, given in zip(found, rows(), strict=True):
        if row["tokens_before"] <= 2_000:
            assert row["messages"] == given["messages"]
        else:
            assert row["tokens_after"] < row["tokens_before"]
            assert len(json.dumps(row["messages"])) < len(json.dumps(given["messages"]))
    assert sum(row["tokens_before"] > 2_000 for row in found) > 5


@pytest.mark.parametrize("processes", [None, 2])
def test_datasets(processes: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    check(list(Dataset.from_list(rows()).map(CONDENSER, batched=True, batch_size=5, num_proc=processes)))


def test_ray_data(tmp_path: Path) -> None:
    Dataset.from_list(rows()).to_parquet(tmp_path / "rows.parquet")
    found = ray.data.read_parquet(str(tmp_path / "rows.parquet")).map_batches(CONDENSER, batch_format="pyarrow")
    check(sorted(found.take_all(), key=lambda row: int(row["id"])))


@pytest.fixture
def shards(tmp_path: Path) -> Path:
    """Lines, compressed lines and Parquet; one shard is broken, and another holds a bad row."""
    folder = tmp_path / "rows"
    (folder / "more").mkdir(parents=True)
    for shard in range(4):
        lines = [json.dumps(row) + "\n" for row in rows()]
        random.Random(shard).shuffle(lines)
        (folder / f"shard{shard}.jsonl").write_text("".join(lines))
    Dataset.from_list(rows()).to_parquet(folder / "more" / "last.parquet")
    (folder / "broken.parquet").write_bytes(b"PAR1, and nothing else")
    with (folder / "shard2.jsonl").open("a") as file:
        file.write("this is no row\n")
    return folder


def run(shards: Path, folder: str, *how: str) -> tuple[dict[str, bytes], dict[str, Any]]:
    done = condense("run", "rows", "--out-dir", folder, "--preset", "cost", "--json", *how, cwd=shards.parent)
    assert done.status == 3, done.stderr
    out = shards.parent / folder
    names = [path.relative_to(out).as_posix() for path in sorted(out.rglob("*")) if path.is_file()]
    return {name: (out / name).read_bytes() for name in names if not name.startswith(".")}, json.loads(done.stdout)


def test_the_command_on_ray(shards: Path) -> None:
    here, told_here = run(shards, "here", "-j", "1")
    there, told_there = run(shards, "there", "--engine", "ray")
    assert there == here
    assert len(there) == 5
    for told in (told_here, told_there):
        told.pop("output")
        for file in told["results"]:
            file["output"] = file["output"] and file["output"].partition("/")[2]
    assert told_there == told_here
    assert [file["status"] for file in told_there["results"]].count("failed") == 1
    _, again = run(shards, "there", "--engine", "ray")
    assert again["files"]["up_to_date"] == 4


# A worker that is killed is replaced, and one task that kills its workers stops no other.
def test_a_killed_worker(tmp_path: Path) -> None:
    def unlucky(name: str) -> str:
        mark = tmp_path / name
        if name == "every" or (name == "first" and not mark.exists()):
            mark.touch()
            os._exit(9)
        return name

    found = sorted(with_ray(unlucky, ["a", "first", "every", "b"], lambda name, why: f"{name}: {why}"))
    assert found == ["a", "b", "every: Its worker died 4 times.", "first"]


def test_no_engine_is_the_local_one() -> None:
    assert Writing().engine == "local"
