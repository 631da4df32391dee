"""Measure how time and memory of `condense run` grow with the number of rows in a set.

    python benchmarks/rows.py --rows 10000 100000 1000000 --jobs 2
    python benchmarks/rows.py --rows 1000000 --shards 40    both engines, local processes and Ray, on the same shards

For every size a set is written: conversations with tool calls of about 2 KB on average, all different, some ten times
as long, one in a thousand not JSON. With `--length 10` they have ten times the turns, and a median of 17 KB, as sets of
work by agents have. Then `condense run ROWS -j JOBS --preset PRESET -o OUT` runs on it once. Shows wall seconds,
processor seconds of all processes, rows per second, peak memory of all processes (sampled twenty times a second from
/proc; shared pages count for each), and the exponents of both times: 1 is linear. Processor seconds are steadier if
others use the machine. A million rows are 2 GB on disk, twice, and ten minutes. Linux only.

With `--shards` the largest set is written in so many files, `--small` with conversations of three messages and some 350
bytes, and every byte of the results is compared. Processor seconds are without those of Ray's workers; the load before
tells whether others use the processors. Needs the extra `ray`.
"""

from __future__ import annotations

import argparse
import filecmp
import itertools
import json
import math
import os
import random
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from processes import watch

SIZES: Final = (10_000, 100_000)
LIMIT: Final = 500e6
"""Bytes that all processes together may hold, for any number of rows."""
_BAD: Final = 1_000
"""One row in this many is not JSON."""

WORDS: Final = (
    *("order", "parcel", "refund", "invoice", "customer", "address", "warehouse", "delivery", "payment", "account"),
    *("status", "number", "return", "item", "price", "date", "note", "driver", "route", "label", "weight", "total"),
)


@dataclass(frozen=True)
class Measured:
    rows: int
    size: int
    seconds: float
    processor: float
    peak: int
    said: dict[str, Any]


def conversation(number: int, chance: random.Random, length: int = 1) -> list[dict[str, Any]]:
    """Make a conversation of a customer with an assistant that looks things up, of `length` times the turns."""

    def words(count: int) -> str:
        return " ".join(chance.choices(WORDS, k=count))

    turns = chance.choice((1, 1, 2, 2, 3, 20 if number % 100 == 0 else 2))
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "You help customers of a shop. Look things up before you answer."},
        {"role": "user", "content": f"Order {number}: {words(20)}?"},
    ]
    for turn in range(length * turns):
        id = f"call_{number}_{turn}"
        call = {"name": "find_order", "arguments": json.dumps({"order": number, "part": turn})}
        lines = [f"{line}: {words(6)} {chance.randrange(10**6)}" for line in range(chance.randrange(4, 20))]
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [{"id": id, "type": "function", "function": call}]},
            {"role": "tool", "tool_call_id": id, "content": "\n".join(lines)},
        ]
    return [*messages, {"role": "assistant", "content": f"It is {words(15)}."}]


def small(number: int, chance: random.Random) -> list[dict[str, str]]:
    """Make a question and its answer."""
    said = [" ".join(chance.choices(WORDS, k=count)) for count in (8, 20)]
    return [
        {"role": "system", "content": "You help customers of a shop."},
        {"role": "user", "content": f"Order {number}: {said[0]}?"},
        {"role": "assistant", "content": f"It is {said[1]}."},
    ]


def lines(rows: int, length: int) -> Iterator[str]:
    chance = random.Random(rows)
    for number in range(rows):
        if number % _BAD == _BAD - 1:
            yield '{"messages": [{"role": "user", "content": "cut off\n'
            continue
        row = {"id": number, "messages": conversation(number, chance, length), "score": round(chance.random(), 6)}
        yield json.dumps(row, ensure_ascii=False) + "\n"


def write(path: Path, rows: int, length: int) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(lines(rows, length))


def measure(path: Path, rows: int, *options: str) -> Measured:
    """Run the command on a file or folder once and watch it. Raises CalledProcessError."""
    run = watch([sys.executable, "-m", "condense_cli", "run", str(path), "--json", *options])
    return Measured(rows, size_of(path), run.seconds, run.processor, run.peak, json.loads(run.said))


def size_of(path: Path) -> int:
    return sum(file.stat().st_size for file in (path.iterdir() if path.is_dir() else [path]))


def table(measured: Sequence[Measured]) -> Iterator[str]:
    yield f"{'rows':>10} {'MB':>7} {'seconds':>8} {'cpu':>8} {'rows/s':>8} {'peak MB':>8} {'saved':>7} {'bad':>6}"
    for each in measured:
        yield (
            f"{each.rows:>10,} {each.size / 1e6:>7,.0f} {each.seconds:>8,.1f} {each.processor:>8,.1f} "
            f"{each.rows / each.seconds:>8,.0f} {each.peak / 1e6:>8,.0f} "
            f"{each.said['tokens']['saved_percent']:>5.1f}% {each.said['rows']['bad']:>6,}"
        )
    for one, other in itertools.pairwise(measured):
        growth = math.log(other.rows / one.rows)
        seconds = math.log(other.seconds / one.seconds) / growth
        processor = math.log(other.processor / one.processor) / growth
        yield f"from {one.rows:,} to {other.rows:,} rows: exponent {seconds:.2f} (seconds), {processor:.2f} (cpu)"
    peak = max(each.peak for each in measured)
    verdict = "under" if peak < LIMIT else "over"
    yield f"peak memory of all processes: {peak / 1e6:,.0f} MB, {verdict} {LIMIT / 1e6:,.0f} MB"


def write_shards(folder: Path, rows: int, shards: int, length: int, *, are_small: bool) -> None:
    folder.mkdir()
    ends = [rows * shard // shards for shard in range(shards + 1)]
    for shard, (first, end) in enumerate(itertools.pairwise(ends)):
        chance = random.Random(first)
        with (folder / f"shard{shard:04}.jsonl").open("w") as file:
            for number in range(first, end):
                messages = small(number, chance) if are_small else conversation(number, chance, length)
                file.write(json.dumps({"id": number, "messages": messages}) + "\n")


def compare_engines(place: Path, options: argparse.Namespace) -> None:
    """Run both engines on the same shards, and compare what they wrote."""
    folder, rows = place / "rows", max(options.rows)
    write_shards(folder, rows, options.shards, options.length, are_small=options.small)
    load = os.getloadavg()[0]
    print(
        f"{rows:,} rows, {options.shards} shards, {size_of(folder) / 1e6:,.0f} MB, load before: {load:.1f}", flush=True
    )
    for engine in ("local", "ray"):
        how = ("--out-dir", str(place / engine), "-p", options.preset, "-j", str(options.jobs), "--engine", engine)
        print(engine, *itertools.islice(table([measure(folder, rows, *how)]), 2), sep="\n", flush=True)
    names = [path.name for path in folder.iterdir()]
    same = filecmp.cmpfiles(place / "local", place / "ray", names, shallow=False) == (names, [], [])
    print("same bytes" if same else "THE BYTES DIFFER")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", nargs="+", type=int, default=list(SIZES), metavar="N")
    parser.add_argument("--jobs", type=int, default=2, metavar="N")
    parser.add_argument("--preset", default="speed", metavar="NAME")
    parser.add_argument("--length", type=int, default=1, metavar="N", help="times the turns of a conversation")
    parser.add_argument("--shards", type=int, metavar="N", help="compare the engines on so many files")
    parser.add_argument("--small", action="store_true", help="with --shards: conversations of three messages")
    parser.add_argument("--folder", type=Path, help="where to write the sets  [default: a temporary folder]")
    options = parser.parse_args(arguments)
    measured = []
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        if options.shards:
            compare_engines(Path(folder), options)
            return
        for rows in sorted(options.rows):
            path, output = Path(folder, "rows.jsonl"), Path(folder, "small.jsonl")
            write(path, rows, options.length)
            how = ("-o", str(output), "-p", options.preset, "-j", str(options.jobs), "--lenient")
            measured.append(measure(path, rows, *how))
            print(*table(measured[-1:]), sep="\n", flush=True) if rows < max(options.rows) else None
    print(*table(measured), sep="\n")


if __name__ == "__main__":
    main()
