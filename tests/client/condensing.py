"""Ways to condense a session, by the command that users run."""

from __future__ import annotations

import subprocess
from pathlib import Path

from helpers import COMMAND
from real import PROJECT

from condense_cli.config.presets import preset_names

WAYS = {
    **{name: ["--preset", name] for name in preset_names()},
    "lossless": ["--lossless-only"],
    "no thinking": ["--preset", "quality", "--drop-thinking"],
}


def condensed(data: bytes, way: str, folder: Path) -> bytes:
    before, after = folder / "before.jsonl", folder / "after.jsonl"
    before.write_bytes(data)
    command = [*COMMAND, "run", str(before), *WAYS[way], "--output", str(after)]
    subprocess.run(command, check=True, capture_output=True, cwd=PROJECT)
    return after.read_bytes()
