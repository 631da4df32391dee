"""Ways to condense a session, by the command that users run."""

import json
import subprocess
from pathlib import Path

from helpers import COMMAND
from real import PROJECT

from condense_cli.config.preset_folders import preset_names

WAYS = {
    **{name: ["--preset", name] for name in preset_names()},
    "lossless": ["--lossless-only"],
    "summary": ["--config", str(Path(__file__).with_name("native.yaml"))],
    "no thinking": ["--preset", "quality", "--drop-thinking"],
}


def condensed_beside(path: Path, destination: str, way: str = "speed") -> Path:
    """The file that the command wrote where the client looks for its sessions."""
    command = [*COMMAND, "run", str(path), *WAYS[way], destination, "--json"]
    done = subprocess.run(command, check=True, capture_output=True, cwd=PROJECT)
    return Path(json.loads(done.stdout)["output"])


def condensed(data: bytes, way: str, folder: Path) -> bytes:
    before, after = folder / "before.jsonl", folder / "after.jsonl"
    before.write_bytes(data)
    command = [*COMMAND, "run", str(before), *WAYS[way], "--output", str(after)]
    subprocess.run(command, check=True, capture_output=True, cwd=PROJECT)
    return after.read_bytes()
