"""How long `condense sessions` takes on a machine with many sessions. Prints seconds.

    python benchmarks/sessions.py --sessions 1000

The sessions are Claude Code's, of 10 to 1,000 KB, in a throw-away home. Each row is the median of a few runs of the
command: cold, with nothing remembered, and warm, with everything.
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
import uuid
from pathlib import Path
from random import Random
from typing import Final

from synthetic import write_transcript

KILOBYTES: Final = (10, 30, 50, 80, 120, 200, 400, 1_000)
"""Sizes of the sessions, taken in turns."""
PROJECTS: Final = 40


def make_sessions(home: Path, number: int) -> int:
    """Write so many sessions, the first the oldest; bytes altogether."""
    random = Random(1)
    models = [home / f"{size}.jsonl" for size in KILOBYTES]
    for model, size in zip(models, KILOBYTES, strict=True):
        write_transcript(model, size / 1_000, "claude-code")
    total, now = 0, time.time()
    for count in range(number):
        project = home / ".claude" / "projects" / f"-home-user-project{count % PROJECTS}"
        project.mkdir(parents=True, exist_ok=True)
        path = project / f"{uuid.UUID(int=random.getrandbits(128), version=4)}.jsonl"
        shutil.copyfile(models[count % len(models)], path)
        changed = now - 600 * (number - count)
        os.utime(path, (changed, changed))
        total += path.stat().st_size
    for model in models:
        model.unlink()
    return total


def seconds(home: Path, *options: str) -> float:
    """One run of the command, its output going to a pipe."""
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "PYTHONPATH", "SYSTEMROOT")}
    environment = kept | {"HOME": str(home), "USERPROFILE": str(home), "XDG_CACHE_HOME": str(home / ".cache")}
    command = [sys.executable, "-m", "condense_cli", "sessions", *options]
    started = time.perf_counter()
    subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=True, env=environment)
    return time.perf_counter() - started


def median(home: Path, rounds: int, *options: str, cold: bool) -> float:
    times = []
    for _ in range(rounds):
        if cold:
            shutil.rmtree(home / ".cache", ignore_errors=True)
        times.append(seconds(home, *options))
    return statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description="Time condense sessions.")
    parser.add_argument("--sessions", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        total = make_sessions(home, arguments.sessions)
        print(f"{arguments.sessions:,} sessions, {total / 1e6:,.0f} MB")
        rounds = arguments.rounds
        rows = (
            ("the newest 20, cold", median(home, rounds, cold=True)),
            ("the newest 20, warm", median(home, rounds, cold=False)),
            ("all, cold (once)", median(home, 1, "--limit", "0", cold=True)),
            ("all, warm", median(home, rounds, "--limit", "0", cold=False)),
            ("the largest 20, warm", median(home, rounds, "--sort", "largest", cold=False)),
        )
        for name, taken in rows:
            print(f"{name:<24}{taken:>8.2f} s")


if __name__ == "__main__":
    main()
