"""Measure how time and memory of `condense run` grow with the number of rows in a set.

    python benchmarks/rows.py --rows 10000 100000 1000000 --jobs 2

For every size a set is written: conversations with tool calls of about 2 KB on average, all different, some ten times
as long, one in a thousand not JSON. With `--length 10` they have ten times the turns, and a median of 17 KB, as sets of
work by agents have. Then `condense run ROWS -j JOBS --preset PRESET -o OUT` runs on it once. Shows wall seconds,
processor seconds of all processes, rows per second, peak memory of all processes (sampled twenty times a second from
/proc; shared pages count for each), and the exponents of both times: 1 is linear. Processor seconds are steadier if
others use the machine. A million rows are 2 GB on disk, twice, and ten minutes. Linux only.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
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


def measure(path: Path, rows: int, output: Path, jobs: int, preset: str) -> Measured:
    """Run the command once and watch it. Raises CalledProcessError."""
    command = [sys.executable, "-m", "condense_cli", "run", str(path), "-o", str(output), "-p", preset]
    run = watch([*command, "-j", str(jobs), "--json", "--lenient"])
    return Measured(rows, path.stat().st_size, run.seconds, run.processor, run.peak, json.loads(run.said))


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


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", nargs="+", type=int, default=list(SIZES), metavar="N")
    parser.add_argument("--jobs", type=int, default=2, metavar="N")
    parser.add_argument("--preset", default="speed", metavar="NAME")
    parser.add_argument("--length", type=int, default=1, metavar="N", help="times the turns of a conversation")
    parser.add_argument("--folder", type=Path, help="where to write the sets  [default: a temporary folder]")
    options = parser.parse_args(arguments)
    measured = []
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for rows in sorted(options.rows):
            path, output = Path(folder, "rows.jsonl"), Path(folder, "small.jsonl")
            write(path, rows, options.length)
            measured.append(measure(path, rows, output, options.jobs, options.preset))
            print(*table(measured[-1:]), sep="\n", flush=True) if rows < max(options.rows) else None
    print(*table(measured), sep="\n")


if __name__ == "__main__":
    main()
