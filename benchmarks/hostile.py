"""How the processor time of `condense run` grows with transcripts that were made to be slow.

    python benchmarks/hostile.py --size 250000 --only references

Each shape of `hostile_shapes.py` is written at N, 2N and 4N bytes and condensed in several ways, each time in a process
of its own that was forked when everything was imported already. From each time that of a tiny transcript is taken away,
and the exponent is fitted to the three points: 1 means that twice the size costs twice as much. All three are measured
in turns and the best of several rounds counts, as others may use the machine too. Ends with status 1 where an exponent
is above the limit, unless even the largest took hardly any time. Linux and macOS; at the default size half an hour.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from hostile_shapes import SHAPES, Records, small_messages

from condense_cli.cli.app import app

WAYS: Final = {
    "balanced": ("--preset", "balanced"),
    "balanced, half": ("--preset", "balanced", "--target-percent", "50"),
    "max": ("--preset", "max"),
    "max, a third": ("--preset", "max", "--target-percent", "33"),
}
"""What is measured: presets without and with a target."""
SIZE: Final = 250_000
LIMIT: Final = 1.2
NOTHING: Final = 0.3
"""Seconds that are too few to tell how they grow."""
LONGEST: Final = 120
"""Seconds of processor time at which a run is stopped."""
TINY: Final = 1_000
FACTORS: Final = (1, 2, 4)


def write(records: Records, path: Path) -> int:
    """Write a transcript and give its size in bytes."""
    data = b"".join(json.dumps(record).encode() + b"\n" for record in records)
    path.write_bytes(data)
    return len(data)


def seconds(path: Path, options: Sequence[str]) -> float:
    """Processor time of one run; infinity where it was stopped. Raises RuntimeError where it fails."""
    child = os.fork()
    if not child:
        _run(path, options)
    _, status, usage = os.wait4(child, 0)
    if os.WIFSIGNALED(status):
        return math.inf
    if os.WEXITSTATUS(status):
        raise RuntimeError(f"condense run ended with status {os.WEXITSTATUS(status)}")
    return usage.ru_utime + usage.ru_stime


def _run(path: Path, options: Sequence[str]) -> None:
    """The run, in the forked process, which ends with it."""
    status = 1
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (LONGEST, LONGEST))
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        app(["run", str(path), *options, "-o", f"{path}.out"], standalone_mode=False)
        status = 0
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else 0
    finally:
        os._exit(status)


def measured(shape: str, size: int, rounds: int, folder: Path) -> Iterator[tuple[str, list[int], list[float]]]:
    """For every way the sizes in bytes, and the seconds above those of a tiny transcript."""
    paths = [folder / f"{number}.jsonl" for number in range(4)]
    write(small_messages(TINY), paths[0])
    sizes = [write(SHAPES[shape](size * factor), path) for factor, path in zip(FACTORS, paths[1:], strict=True)]
    for way, options in WAYS.items():
        times = [[seconds(path, options) for path in paths] for _ in range(rounds)]
        tiny, *best = map(min, zip(*times, strict=True))
        yield way, sizes, [max(each - tiny, 0.001) for each in best]


def exponent(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """Slope of the line through (log size, log cost) with the least squares; infinity where a run was stopped."""
    if math.inf in costs:
        return math.inf
    x, y = [list(map(math.log, values)) for values in (sizes, costs)]
    x_mean, y_mean = sum(x) / len(x), sum(y) / len(y)
    return sum((a - x_mean) * (b - y_mean) for a, b in zip(x, y, strict=True)) / sum((a - x_mean) ** 2 for a in x)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Measure how time grows with hostile transcripts.")
    parser.add_argument("--size", type=int, default=SIZE, metavar="BYTES", help=f"N (default: {SIZE})")
    parser.add_argument("--rounds", type=int, default=2, help="runs of each (default: 2)")
    parser.add_argument("--only", default="", metavar="WORD", help="shapes whose name has it in it")
    parser.add_argument("--limit", type=float, default=LIMIT, help=f"the largest exponent (default: {LIMIT})")
    given = parser.parse_args(arguments)
    slow = []
    print(f"{'':<36}{'':<16}{'MB':>8}{'N s':>9}{'2N s':>9}{'4N s':>9}{'exponent':>10}{'s/MB':>9}")
    with tempfile.TemporaryDirectory(prefix="condense-bench-") as name:
        for shape in (shape for shape in SHAPES if given.only in shape):
            for way, sizes, times in measured(shape, given.size, max(1, given.rounds), Path(name)):
                power = exponent(sizes, times)
                is_slow = power > given.limit and times[-1] >= NOTHING
                slow += [f"{shape}, {way}"] if is_slow else []
                shown = "".join(f"{each:>9.2f}" for each in times)
                rate = times[-1] / sizes[-1] * 1e6
                mark = " (too much)" if is_slow else ""
                print(f"{shape:<36}{way:<16}{sizes[-1] / 1e6:>8.2f}{shown}{power:>10.2f}{rate:>9.2f}{mark}", flush=True)
    if slow:
        sys.exit(f"Above {given.limit}: {'; '.join(slow)}")


if __name__ == "__main__":
    main()
