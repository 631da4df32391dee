"""Compare the two engines, local processes and Ray, on the same shards of rows.

    python benchmarks/engines.py --rows 1000000 --shards 40 --jobs 2

Writes rows as in `rows.py`, of `--length` as there, or with `--small` conversations of three messages and some 350
bytes, runs `condense run SHARDS --out-dir OUT -p PRESET` on each engine, and compares every byte. Shows wall seconds,
processor seconds (without those of Ray's workers), rows per second, and the peak memory of all processes. The load
before tells whether others use the processors. Needs the extra `ray`; Linux only.
"""

from __future__ import annotations

import argparse
import filecmp
import json
import os
import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from processes import Watched, watch
from rows import WORDS, conversation


def small(number: int, chance: random.Random) -> list[dict[str, str]]:
    """Make a question and its answer."""
    said = [" ".join(chance.choices(WORDS, k=count)) for count in (8, 20)]
    return [
        {"role": "system", "content": "You help customers of a shop."},
        {"role": "user", "content": f"Order {number}: {said[0]}?"},
        {"role": "assistant", "content": f"It is {said[1]}."},
    ]


def rows(first: int, end: int, length: int, *, are_small: bool) -> Iterator[str]:
    chance = random.Random(first)
    for number in range(first, end):
        messages = small(number, chance) if are_small else conversation(number, chance, length)
        yield json.dumps({"id": number, "messages": messages}) + "\n"


def write(folder: Path, number: int, shards: int, length: int, *, are_small: bool) -> int:
    """Write `number` rows in shards and return their bytes."""
    folder.mkdir()
    ends = [number * shard // shards for shard in range(shards + 1)]
    for shard in range(shards):
        with (folder / f"shard{shard:04}.jsonl").open("w") as file:
            file.writelines(rows(ends[shard], ends[shard + 1], length, are_small=are_small))
    return sum(path.stat().st_size for path in folder.iterdir())


def measure(folder: Path, output: Path, how: list[str]) -> tuple[Watched, float]:
    """Run on the shards; return the cost and the percentage saved. Raises CalledProcessError."""
    command = [sys.executable, "-m", "condense_cli", "run", str(folder), "--out-dir", str(output), "--json", *how]
    run = watch(command)
    return run, json.loads(run.said)["tokens"]["saved_percent"]


def are_equal(one: Path, other: Path) -> bool:
    names = [path.name for path in one.glob("shard*")]
    return filecmp.cmpfiles(one, other, names, shallow=False) == (names, [], [])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--shards", type=int, default=20)
    parser.add_argument("--jobs", "-j", type=int, default=2)
    parser.add_argument("--preset", "-p", default="speed")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--length", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "rows"
        size = write(folder, given.rows, given.shards, given.length, are_small=given.small)
        load = os.getloadavg()[0]
        print(f"{given.rows:,} rows, {given.shards} shards, {size / 1e6:,.0f} MB, load before: {load:.1f}", flush=True)
        print(f"{'engine':>8} {'seconds':>8} {'cpu':>8} {'rows/s':>8} {'peak MB':>8} {'saved':>7}", flush=True)
        for engine in ("local", "ray"):
            how = ["-p", given.preset, "-j", str(given.jobs), "--engine", engine]
            run, saved = measure(folder, Path(place) / engine, how)
            speed, peak = given.rows / run.seconds, run.peak / 1e6
            print(
                f"{engine:>8} {run.seconds:>8,.1f} {run.processor:>8,.1f} {speed:>8,.0f} {peak:>8,.0f} {saved:>5.1f}%",
                flush=True,
            )
        print("same bytes" if are_equal(Path(place) / "local", Path(place) / "ray") else "THE BYTES DIFFER")


if __name__ == "__main__":
    main()
