"""Measure how long the hooks in clients take when there is nothing to do.

    python benchmarks/hooks.py --runs 20

Hooks and a bare interpreter run in turns, so that other load affects all alike. Prints medians of wall time and of
processor time, which is the hooks' own work. Python must be allowed to keep compiled modules.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any, Final

from processes import environment, in_turns
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


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--runs", type=int, default=20)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        session = Path(folder) / "session.jsonl"
        session.write_bytes((SAMPLES / "bugfix-session.jsonl").read_bytes())
        commands = {"bare Python": [sys.executable, "-c", "pass"]}
        given = {}
        for name, values in events(str(session)).items():
            commands[name] = [*program(), "hook", "claude-code", name]
            given[name] = Path(folder) / f"{name}.json"
            given[name].write_text(json.dumps(values))
        variables = environment(Path(folder) / "bytecode") | {"XDG_CACHE_HOME": folder}
        taken = in_turns(commands, options.runs, variables, given)
    print("| | " + " | ".join(taken) + " |")
    print("| --- |" + " ---: |" * len(taken))
    for name, field in (("passed", "seconds"), ("processor", "processor")):
        medians = (1_000 * median(getattr(one, field) for one in found) for found in taken.values())
        print(f"| {name}, ms | " + " | ".join(f"{value:.0f}" for value in medians) + " |")


if __name__ == "__main__":
    main()
