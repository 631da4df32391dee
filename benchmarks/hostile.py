"""Measure how the work of `condense run` grows with transcripts designed to be slow.

    python benchmarks/hostile.py --size 250000 --only references
    python benchmarks/hostile.py --calls

Each shape of `hostile_shapes.py` is written at N, 2N and 4N bytes and condensed in several ways, each in a process
forked after all imports. The processor time of a tiny transcript is subtracted from each, and an exponent fitted to the
three points: 1 is linear. The three are measured in turns and the best of several rounds counts; a row above the limit
is measured again. `--calls` counts function calls instead: independent of load, but blind to the time inside C. Status
1 if an exponent is above the limit, unless even the largest took hardly any time. Linux and macOS; half an hour at the
default size.
"""

from __future__ import annotations

import argparse
import cProfile
import gc
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
from processes import exponent

from condense_cli.cli.table import app
from condense_cli.tokens.counting import count_text

WAYS: Final = {
    "balanced": ("--preset", "balanced"),
    "balanced, half": ("--preset", "balanced", "--target-percent", "50"),
    "max": ("--preset", "max"),
    "max, a third": ("--preset", "max", "--target-percent", "33"),
}
"""Presets without and with a target."""
SIZE: Final = 250_000
LIMIT: Final = 1.2
NOTHING: Final = 0.3
FEW_CALLS: Final = 100_000
"""Seconds, and calls, too few to show growth."""
AGAIN: Final = 4
"""Additional rounds for a row above the limit."""
LONGEST: Final = 120
"""Processor seconds after which a run is stopped."""
TINY: Final = 1_000
FACTORS: Final = (1, 2, 4)


def write(records: Records, path: Path) -> int:
    """Write a transcript and return its bytes."""
    data = b"".join(json.dumps(record).encode() + b"\n" for record in records)
    path.write_bytes(data)
    return len(data)


def cost(path: Path, options: Sequence[str], *, counts_calls: bool) -> float:
    """Return the processor seconds of one run, or its number of calls. Infinity if it was stopped.

    Raises RuntimeError if the run fails.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        _run(path, options, writing if counts_calls else None)
    os.close(writing)
    with os.fdopen(reading) as told:
        calls = told.read()
    _, status, usage = os.wait4(child, 0)
    if os.WIFSIGNALED(status):
        return math.inf
    if os.WEXITSTATUS(status):
        raise RuntimeError(f"condense run ended with status {os.WEXITSTATUS(status)}")
    return float(calls) if counts_calls else usage.ru_utime + usage.ru_stime


def _run(path: Path, options: Sequence[str], calls: int | None) -> None:
    """Run in the forked process and exit; the number of calls goes to a file descriptor."""
    status = 1
    gc.disable()  # As the command does.
    profile = None if calls is None else cProfile.Profile()
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (LONGEST, LONGEST))
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        if profile:
            profile.enable()
        app(["run", str(path), *options, "-o", f"{path}.out"], standalone_mode=False)
        status = 0
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else 0
    finally:
        if profile and calls is not None:
            profile.disable()
            os.write(calls, str(sum(entry.callcount for entry in profile.getstats())).encode())
        os._exit(status)


def measured(
    shape: str, size: int, rounds: int, limit: float, folder: Path, *, counts_calls: bool
) -> Iterator[tuple[str, list[int], list[float]]]:
    """Yield for every way the sizes in bytes, and the costs above those of a tiny transcript."""
    paths = [folder / f"{number}.jsonl" for number in range(4)]
    write(small_messages(TINY), paths[0])
    sizes = [write(SHAPES[shape](size * factor), path) for factor, path in zip(FACTORS, paths[1:], strict=True)]
    for way, options in WAYS.items():
        best = [math.inf] * len(paths)
        for number in range(1 if counts_calls else rounds + AGAIN):
            if number >= rounds and not is_slow(sizes, _above_tiny(best), limit, counts_calls=counts_calls):
                break
            costs = [cost(path, options, counts_calls=counts_calls) for path in paths]
            best = list(map(min, best, costs))
        yield way, sizes, _above_tiny(best)


def _above_tiny(costs: Sequence[float]) -> list[float]:
    tiny, *others = costs
    return [max(each - tiny, 0.001) for each in others]


def is_slow(sizes: Sequence[float], costs: Sequence[float], limit: float, *, counts_calls: bool) -> bool:
    """Return whether a row is above the limit, with enough work to tell."""
    return (exponent(sizes, costs) or 0) > limit and costs[-1] >= (FEW_CALLS if counts_calls else NOTHING)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Measure how time grows with hostile transcripts.")
    parser.add_argument("--size", type=int, default=SIZE, metavar="BYTES", help=f"N (default: {SIZE})")
    parser.add_argument("--rounds", type=int, default=2, help="runs of each (default: 2)")
    parser.add_argument("--only", default="", metavar="WORD", help="shapes whose name has it in it")
    parser.add_argument("--limit", type=float, default=LIMIT, help=f"the largest exponent (default: {LIMIT})")
    parser.add_argument("--calls", action="store_true", help="count calls of functions, once, and not seconds")
    given = parser.parse_args(arguments)
    # Load the tokenizer now. Otherwise only the larger sizes would, and that tenth of a second would look like growth.
    count_text("one two " * 200_000)
    slow = []
    heads = ("N calls", "2N calls", "4N calls") if given.calls else ("N s", "2N s", "4N s")
    rate_head = "calls/B" if given.calls else "s/MB"
    print(f"{'':<36}{'':<16}{'MB':>8}{''.join(f'{head:>12}' for head in heads)}{'exponent':>10}{rate_head:>9}")
    with tempfile.TemporaryDirectory(prefix="condense-bench-") as name:
        for shape in (shape for shape in SHAPES if given.only in shape):
            rounds = max(1, given.rounds)
            rows = measured(shape, given.size, rounds, given.limit, Path(name), counts_calls=given.calls)
            for way, sizes, costs in rows:
                is_above = is_slow(sizes, costs, given.limit, counts_calls=given.calls)
                slow += [f"{shape}, {way}"] if is_above else []
                shown = "".join(f"{each:>12,.{0 if given.calls else 2}f}" for each in costs)
                rate = costs[-1] / sizes[-1] * (1 if given.calls else 1e6)
                mark = " (too much)" if is_above else ""
                power = exponent(sizes, costs)
                print(f"{shape:<36}{way:<16}{sizes[-1] / 1e6:>8.2f}{shown}{power:>10.2f}{rate:>9.2f}{mark}", flush=True)
    if slow:
        sys.exit(f"Above {given.limit}: {'; '.join(slow)}")


if __name__ == "__main__":
    main()
