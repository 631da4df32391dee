"""Measure how time and memory of `condense run` grow with the transcript, compared with reading and counting it once.

    python benchmarks/scaling.py --sizes 0.5 5 50

For every size of both formats three commands run in turns, each in a process of its own:

    floor    read the file and count its tokens once, which every way of condensing needs
    plain    `condense run FILE --config CONFIG -o OUT -q` with a preset's passes (speed), without the prelude
    prelude  the same with the lossless prelude and all finders at their defaults

With `--passes none` there are no passes, so the prelude works on all of the text and `plain` is the cost of reading,
counting and writing. Shows the best of several rounds: wall seconds, processor seconds (steadier under other load), and
peak memory. Nothing is subtracted; the 10 KB rows show the fixed part. Exponents are fitted to log size and log cost: 1
is linear; once to the raw figures and once to the part above the 10 KB run. Linux and macOS.

At the end are the prelude's limits: up to 5 MB 1.5 times the processor time without it plus half a second; in memory
five times the file, if the program itself is smaller than that.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, get_args

from processes import Cost, cost, environment, exponent, write_synthetic
from synthetic import Format

FORMATS: Final = get_args(Format)
SMALL: Final = 0.01
SIZES: Final = (0.5, 5.0, 50.0)
ROUNDS: Final = 3

TIMES: Final = 1.5
SECONDS: Final = 0.5
TIMED: Final = 5.5e6
"""Limits for the prelude: factor over the run without it, seconds on top, and the largest file in bytes they apply to.
"""
PEAK: Final = 5.0
"""Maximum memory, as a multiple of the file."""

FLOOR: Final = """
import sys
from condense_cli import api
from condense_cli.tokens.counting import Counter
transcript = api.load(sys.argv[1])
print(Counter.of(transcript).transcript(transcript))
"""

CONFIGURATIONS: Final = """
import sys
import msgspec
from msgspec.structs import replace
from condense_cli.config.models import Configuration, Prelude
from condense_cli.config.loading import load_preset
passes, *paths = sys.argv[1:]
configuration = Configuration() if passes == "none" else load_preset(passes)
for path, enabled in zip(paths, (False, True), strict=True):
    with open(path, "wb") as file:
        file.write(msgspec.json.encode(replace(configuration, lossless_prelude=Prelude(enabled=enabled))))
"""


@dataclass(frozen=True)
class Row:
    """The three commands on one transcript of `size` bytes."""

    size: int
    floor: Cost
    plain: Cost
    prelude: Cost


def configurations(folder: Path, passes: str) -> tuple[Path, Path]:
    """Write the same configuration without and with the prelude."""
    paths = folder / "plain.json", folder / "prelude.json"
    subprocess.run([sys.executable, "-c", CONFIGURATIONS, passes, *map(str, paths)], check=True)
    return paths


def measure(path: Path, configs: Sequence[Path], rounds: int, variables: dict[str, str]) -> Row:
    """Run all commands on one file in turns and keep the best of each."""
    output = str(path.with_suffix(".out"))
    commands = [[sys.executable, "-c", FLOOR, str(path)]]
    for config in configs:
        run = [sys.executable, "-m", "condense_cli", "run", str(path), "--config", str(config), "-o", output, "-q"]
        commands.append(run)
    costs = [cost(command, variables) for command in commands]
    for _ in range(rounds - 1):
        costs = [best.best(cost(command, variables)) for best, command in zip(costs, commands, strict=True)]
    return Row(path.stat().st_size, *costs)


HEADER: Final = (
    f"{'':<12}{'file':>8}{'floor':>9}{'plain':>9}{'prelude':>9}{'prelude':>9}{'prelude':>9}"
    f"{'floor':>9}{'plain':>9}{'prelude':>9}{'prelude':>9}{'floor':>9}{'plain':>9}{'prelude':>9}{'prelude':>9}\n"
    f"{'':<12}{'MB':>8}{'s':>9}{'s':>9}{'s':>9}{'MB/s':>9}{'/ plain':>9}"
    f"{'cpu s':>9}{'cpu s':>9}{'cpu s':>9}{'/ plain':>9}{'peak MB':>9}{'peak MB':>9}{'peak MB':>9}{'/ file':>9}"
)


def line(name: str, row: Row) -> str:
    megabytes = row.size / 1e6
    costs = (row.floor, row.plain, row.prelude)
    return (
        f"{name:<12}{megabytes:>8.2f}"
        + "".join(f"{cost.seconds:>9.3f}" for cost in costs)
        + f"{megabytes / row.prelude.seconds:>9.1f}{row.prelude.seconds / row.plain.seconds:>8.2f}x"
        + "".join(f"{cost.processor:>9.3f}" for cost in costs)
        + f"{row.prelude.processor / row.plain.processor:>8.2f}x"
        + "".join(f"{cost.peak / 1e6:>9.1f}" for cost in costs)
        + f"{row.prelude.peak / row.size:>8.1f}x"
    )


def bars(name: str, small: Row, row: Row) -> str:
    """Format the prelude's costs and limits."""
    parts = []
    if row.size <= TIMED:
        took, allowed = row.prelude.processor, TIMES * row.plain.processor + SECONDS
        parts.append(f"{took:.2f} of {allowed:.2f} cpu s{_too_much(took, allowed)}")
    if small.prelude.peak <= PEAK * row.size:
        took, allowed = row.prelude.peak / 1e6, PEAK * row.size / 1e6
        parts.append(f"{took:.0f} of {allowed:.0f} MB{_too_much(took, allowed)}")
    return f"{name:<12}{row.size / 1e6:>8.2f} MB   {', '.join(parts)}"


def _too_much(value: float, allowed: float) -> str:
    return " (too much)" if value > allowed else ""


def growth(name: str, small: Row, rows: Sequence[Row]) -> str:
    """Format the exponents of one format."""
    sizes = [row.size for row in rows]
    what: dict[str, Callable[[Row], float]] = {
        "floor cpu": lambda row: row.floor.processor,
        "plain cpu": lambda row: row.plain.processor,
        "prelude cpu": lambda row: row.prelude.processor,
        "prelude s": lambda row: row.prelude.seconds,
        "plain peak": lambda row: row.plain.peak,
        "prelude peak": lambda row: row.prelude.peak,
    }
    as_is = [exponent(sizes, [value(row) for row in rows]) for value in what.values()]
    above = [exponent(sizes, [value(row) - value(small) for row in rows]) for value in what.values()]
    return "\n".join(
        (
            f"{name:<12}{'':<20}" + "".join(f"{title:>14}" for title in what),
            f"{'':<12}{'as they are':<20}" + "".join(map(_number, as_is)),
            f"{'':<12}{'above the 10 KB run':<20}" + "".join(map(_number, above)),
        )
    )


def _number(value: float | None) -> str:
    return f"{'-':>14}" if value is None else f"{value:>14.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure how time and memory of condense run grow.")
    parser.add_argument("--sizes", type=float, nargs="+", default=SIZES, metavar="MB", help="(default: 0.5 5 50)")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"runs of each command (default: {ROUNDS})")
    parser.add_argument("--passes", default="speed", metavar="PRESET", help="whose passes; or none (default: speed)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="condense-bench-") as name:
        folder = Path(name)
        variables = environment(folder / "bytecode")
        configs = configurations(folder, arguments.passes)
        growths, allowed = [], []
        print(HEADER)
        for format in FORMATS:
            rows = []
            for megabytes in (SMALL, *arguments.sizes):
                path = write_synthetic(folder, megabytes, format)
                rows.append(measure(path, configs, max(1, arguments.rounds), variables))
                path.unlink()
                print(line(format, rows[-1]), flush=True)
            growths.append(growth(format, rows[0], rows[1:]))
            allowed += [bars(format, rows[0], row) for row in rows[1:]]
    print("\nGrowth exponents")
    print("\n".join(growths))
    print("\nWhat the prelude takes, and may take")
    print("\n".join(allowed))


if __name__ == "__main__":
    main()
