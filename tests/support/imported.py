"""Runs the command in a process of its own and lists the modules that it imported."""

import subprocess
import sys
from pathlib import Path
from typing import Final

PROBE: Final = """
import sys
sys.path.append(sys.argv.pop(1))
from condense_cli.cli import main
try:
    main()
finally:
    sys.stdout.flush()
    sys.stderr.write("\\nMODULES " + " ".join(sys.modules))
"""


def outcome(stand_ins: Path, *arguments: str) -> tuple[str, set[str]]:
    """What the command prints, and the top-level names of all modules that it imported."""
    command = [sys.executable, "-c", PROBE, str(stand_ins), *arguments]
    process = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", check=False)
    said, mark, modules = process.stderr.rpartition("\nMODULES ")
    assert process.returncode == 0, process.stderr
    assert mark, said
    return process.stdout, {module.partition(".")[0] for module in modules.split()}
