"""Measure how long `condense` takes to start, compared with a bare Python interpreter. Prints medians in milliseconds.

    python benchmarks/startup.py --runs 30

Three commands run in turns, so that other load affects all alike:

    python -I -c pass   the minimum for any Python program
    condense --help
    condense run        on a transcript of 10 KB with the default preset

Modules are compiled before the first run that counts, as in an installation; bytecode goes to a temporary folder.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Final

from processes import Cost, environment, in_turns, write_synthetic

BARE: Final = "python -I -c pass"
SMALL: Final = 0.01
"""Megabytes of the transcript."""


def commands(transcript: Path) -> dict[str, list[str]]:
    """Return commands by shown name, using the installed script if there is one."""
    script = Path(sys.executable).with_name("condense")
    condense = [str(script)] if script.exists() else [sys.executable, "-m", "condense_cli"]
    return {
        BARE: [sys.executable, "-I", "-c", "pass"],
        "condense --help": [*condense, "--help"],
        "condense run (10 KB)": [*condense, "run", str(transcript)],
    }


def table(costs: dict[str, list[Cost]]) -> str:
    """Format one row per command: median, fastest and slowest tenth, and the ratio to the bare interpreter."""
    times = {name: [1_000 * one.seconds for one in found] for name, found in costs.items()}
    bare = statistics.median(times[BARE])
    rows = [f"{'':<22}{'median ms':>10}{'10% ms':>10}{'90% ms':>10}{'ratio':>8}"]
    for name, taken in times.items():
        tenths = statistics.quantiles(taken, n=10, method="inclusive")
        median = statistics.median(taken)
        rows.append(f"{name:<22}{median:>10.1f}{tenths[0]:>10.1f}{tenths[-1]:>10.1f}{median / bare:>7.1f}x")
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure how long condense takes to start.")
    parser.add_argument("--runs", type=int, default=30, help="runs of each command, at least 2 (default: 30)")
    runs: int = parser.parse_args().runs
    if runs < 2:
        parser.error("--runs must be at least 2")
    with tempfile.TemporaryDirectory(prefix="condense-bench-") as folder:
        transcript = write_synthetic(Path(folder), SMALL, "anthropic")
        print(f"{runs} runs of each command in turns; transcript of {transcript.stat().st_size:,} bytes\n")
        print(table(in_turns(commands(transcript), runs, environment(Path(folder) / "bytecode"))))


if __name__ == "__main__":
    main()
