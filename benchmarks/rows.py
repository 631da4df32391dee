"""How time and memory of `condense run` grow with the number of rows in a set.

    python benchmarks/rows.py --rows 10000 100000 1000000 --jobs 2

For every size a set is written, row by row: conversations with tool calls of about 2 KB on average, no two alike, some
of them ten times as long, one in a thousand not JSON. Then `condense run ROWS -j JOBS --preset PRESET -o OUT` runs once
on it. Shown are the seconds that passed, the processor seconds of all processes, rows per second, the largest amount of
memory that all processes held together (the sum of what /proc says of each, taken twenty times a second; pages that
they share count for each of them), and the exponents of both times: 1 means that twice the rows take twice as long. The
seconds of the processor are the steadier ones where others use the machine too. Linux only.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

SIZES: Final = (10_000, 100_000)
LIMIT: Final = 500e6
"""Bytes that all processes together may hold, however many rows there are."""
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")
_INTERVAL: Final = 0.05
_BAD: Final = 1_000
"""One row in so many is not JSON."""

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


@dataclass(frozen=True)
class Watched:
    """What a command took, with all that it started, and printed. `peak` is in bytes."""

    seconds: float
    processor: float
    peak: int
    said: bytes


def conversation(number: int, chance: random.Random) -> list[dict[str, Any]]:
    """A conversation of a customer with an assistant that looks things up."""

    def words(count: int) -> str:
        return " ".join(chance.choices(WORDS, k=count))

    turns = chance.choice((1, 1, 2, 2, 3, 20 if number % 100 == 0 else 2))
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "You help customers of a shop. Look things up before you answer."},
        {"role": "user", "content": f"Order {number}: {words(20)}?"},
    ]
    for turn in range(turns):
        id = f"call_{number}_{turn}"
        call = {"name": "find_order", "arguments": json.dumps({"order": number, "part": turn})}
        lines = [f"{line}: {words(6)} {chance.randrange(10**6)}" for line in range(chance.randrange(4, 20))]
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [{"id": id, "type": "function", "function": call}]},
            {"role": "tool", "tool_call_id": id, "content": "\n".join(lines)},
        ]
    return [*messages, {"role": "assistant", "content": f"It is {words(15)}."}]


def lines(rows: int) -> Iterator[str]:
    chance = random.Random(rows)
    for number in range(rows):
        if number % _BAD == _BAD - 1:
            yield '{"messages": [{"role": "user", "content": "cut off\n'
            continue
        row = {"id": number, "messages": conversation(number, chance), "score": round(chance.random(), 6)}
        yield json.dumps(row, ensure_ascii=False) + "\n"


def write(path: Path, rows: int) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(lines(rows))


def measure(path: Path, rows: int, output: Path, jobs: int, preset: str) -> Measured:
    """Run the command once and watch it. Raises CalledProcessError."""
    command = [sys.executable, "-m", "condense_cli", "run", str(path), "-o", str(output), "-p", preset]
    run = watch([*command, "-j", str(jobs), "--json", "--lenient"])
    return Measured(rows, path.stat().st_size, run.seconds, run.processor, run.peak, json.loads(run.said))


def watch(command: list[str]) -> Watched:
    """Run a command to its end. Raises CalledProcessError."""
    before = os.times()
    started = time.perf_counter()
    peak = 0
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
        while process.poll() is None:
            peak = max(peak, sum(map(resident, family(process.pid))))
            time.sleep(_INTERVAL)
        said = process.stdout.read() if process.stdout else b""
    seconds = time.perf_counter() - started
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return Watched(seconds, used, peak, said)


def family(root: int) -> list[int]:
    """A process and all that it started, directly or not."""
    found, waiting = list[int](), [root]
    while waiting:
        process = waiting.pop()
        found.append(process)
        try:
            children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
        except OSError:  # It is gone.
            continue
        waiting += map(int, children)
    return found


def resident(process: int) -> int:
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * _PAGE
    except (OSError, IndexError):
        return 0


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
    parser.add_argument("--folder", type=Path, help="where to write the sets  [default: a temporary folder]")
    options = parser.parse_args(arguments)
    measured = []
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for rows in sorted(options.rows):
            path, output = Path(folder, "rows.jsonl"), Path(folder, "small.jsonl")
            write(path, rows)
            measured.append(measure(path, rows, output, options.jobs, options.preset))
            print(*table(measured[-1:]), sep="\n", flush=True) if rows < max(options.rows) else None
    print(*table(measured), sep="\n")


if __name__ == "__main__":
    main()
