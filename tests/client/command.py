"""The command `condense`, as its user runs it in the throw-away home of a client."""

import subprocess
import sys
from pathlib import Path

from helpers import COMMAND

from .install import environment


def condense(home: Path, *arguments: str, cwd: Path | None = None, **more: str) -> subprocess.CompletedProcess[str]:
    home.mkdir(exist_ok=True)
    folders = {"CLAUDE_CONFIG_DIR": str(home / ".claude"), "CODEX_HOME": str(home / ".codex")}
    return subprocess.run(
        [sys.executable, "-P", *COMMAND[1:], *arguments],
        env=environment(home) | folders | more,
        cwd=cwd or home,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
