"""Measure how long the hooks in clients take when there is nothing to do.

    python benchmarks/hooks.py --runs 20

Hooks and a bare interpreter run in turns, so that other load affects all alike. Prints medians of wall time and of
processor time, which is the hooks' own work. Python must be allowed to keep compiled modules.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any, Final

from processes import seconds_of_children
from recorded import SAMPLES

from condense_cli.clients.settings import program

SESSION: Final = "0b7e63aa-0000-4000-8000-000000000001"


def events(session: str) -> dict[str, dict[str, Any]]:
    """Return the values a client passes with each event when there is nothing to do: a snapshot already exists."""
    given = {"session_id": SESSION, "transcript_path": session}
    window = {"total_input_tokens": 42_000, "context_window_size": 200_000, "used_percentage": 21}
    return {
        "stop": given,
        "status-line": given | {"context_window": window, "prompt_cache": {"warm": True, "expires_at": 1}},
        "session-start": given | {"source": "startup"},
        "pre-compact": given,
    }


def seconds(command: list[str], given: dict[str, Any], cache: str) -> tuple[float, float]:
    """Return wall seconds and processor seconds."""
    started, used = time.perf_counter(), seconds_of_children()
    subprocess.run(
        command,
        input=json.dumps(given).encode(),
        env={name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        | {"XDG_CACHE_HOME": cache},
        stdout=subprocess.DEVNULL,
        check=True,
    )
    return time.perf_counter() - started, seconds_of_children() - used


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--runs", type=int, default=20)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        session = Path(folder) / "session.jsonl"
        session.write_bytes((SAMPLES / "bugfix-session.jsonl").read_bytes())
        commands = {name: [*program(), "hook", "claude-code", name] for name in events("")}
        commands = {"bare Python": [sys.executable, "-c", "pass"], **commands}
        taken: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
        for run in range(options.runs + 1):
            for name, command in commands.items():
                passed = seconds(command, events(str(session)).get(name, {}), folder)
                if run:  # The first run warms caches.
                    taken[name].append(passed)
    print("| | " + " | ".join(taken) + " |")
    print("| --- |" + " ---: |" * len(taken))
    for name, number in (("passed", 0), ("processor", 1)):
        medians = (1_000 * median(each[number] for each in found) for found in taken.values())
        print(f"| {name}, ms | " + " | ".join(f"{value:.0f}" for value in medians) + " |")


if __name__ == "__main__":
    main()
