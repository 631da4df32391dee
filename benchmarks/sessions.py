"""Measure how long `condense sessions` takes on a machine with many sessions. Prints seconds.

    python benchmarks/sessions.py --sessions 1000 --mixed

The sessions are Claude Code's, or with `--mixed` equally many of each of eight clients, in a throw-away home. Each row
is the median of a few runs: cold (empty cache) and warm. Under other load, look at processor seconds.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from processes import seconds_of_children
from session_homes import make_sessions


class Seconds(NamedTuple):
    real: float
    processor: float


def seconds(home: Path, *options: str) -> Seconds:
    """Run the command once; its output goes to a pipe."""
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "PYTHONPATH", "SYSTEMROOT")}
    environment = kept | {"HOME": str(home), "USERPROFILE": str(home), "XDG_CACHE_HOME": str(home / ".cache")}
    command = [sys.executable, "-m", "condense_cli", "sessions", *options]
    started, used = time.perf_counter(), seconds_of_children()
    subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=True, env=environment)
    return Seconds(time.perf_counter() - started, seconds_of_children() - used)


def median(home: Path, rounds: int, *options: str, cold: bool) -> Seconds:
    runs = []
    for _ in range(rounds):
        if cold:
            shutil.rmtree(home / ".cache", ignore_errors=True)
        runs.append(seconds(home, *options))
    return Seconds(*map(statistics.median, zip(*runs, strict=True)))


def main() -> None:
    parser = argparse.ArgumentParser(description="Time condense sessions.")
    parser.add_argument("--sessions", type=int, default=1_000)
    parser.add_argument("--mixed", action="store_true", help="sessions of eight clients")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        total = make_sessions(home, arguments.sessions, time.time(), mixed=arguments.mixed)
        print(f"{arguments.sessions:,} sessions, {total / 1e6:,.0f} MB")
        rounds = arguments.rounds
        rows = (
            ("the newest 20, cold", median(home, rounds, cold=True)),
            ("the newest 20, warm", median(home, rounds, cold=False)),
            ("all, cold (once)", median(home, 1, "--limit", "0", cold=True)),
            ("all, warm", median(home, rounds, "--limit", "0", cold=False)),
        )
        for name, taken in rows:
            print(f"{name:<24}{taken.real:>8.2f} s{taken.processor:>8.2f} s of processor")


if __name__ == "__main__":
    main()
