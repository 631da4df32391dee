"""The command lines that clients run: absolute, whatever folder or shell they run them in; and which are ours."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

_OURS: Final = re.compile(r"(?:\bcondense(?:\.exe)?|-m condense_cli)['\"]? hook (?:claude-code|codex) [a-z-]+")


def program() -> list[str]:
    """How to run condense from anywhere: the script beside this Python, or the package with it.

    Never with the current folder among those that Python imports from: it belongs to a project.
    """
    name = "condense.exe" if sys.platform == "win32" else "condense"
    script = Path(sys.executable).with_name(name)
    return [str(script)] if script.is_file() else [sys.executable, "-P", "-m", "condense_cli"]


def hook_command(client: str, event: str) -> str:
    return line_of([*program(), "hook", client, event])


def line_of(words: Sequence[str]) -> str:
    return subprocess.list2cmdline(words) if sys.platform == "win32" else shlex.join(words)


def is_ours(command: object) -> bool:
    """Whether an entry of a client's settings runs our hook, of this installation or of an earlier one."""
    return isinstance(command, str) and _OURS.search(command) is not None


def runs(command: str) -> bool:
    """Whether the program of a command line is there."""
    try:
        words = shlex.split(command, posix=sys.platform != "win32")
    except ValueError:
        return False
    return bool(words) and Path(words[0].strip('"')).is_file()
