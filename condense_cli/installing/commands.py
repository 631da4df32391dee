"""The command lines that clients run: absolute, whatever folder or shell they run them in; and which are ours."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

_NAME: Final = re.compile(r"(?:^|[/\\])condense(?:\.exe)?$")


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
    """Whether an entry of a client's settings runs our hook and nothing else, of this or an earlier installation."""
    words = _words(command)
    return words[-3:-1] in (["hook", "claude-code"], ["hook", "codex"]) and _is_condense(words[:-3])


def is_our_server(entry: object) -> bool:
    """Whether an entry of a client's servers starts ours."""
    arguments = entry.get("args") if isinstance(entry, dict) else None
    if not isinstance(entry, dict) or not isinstance(arguments, list) or arguments[-1:] != ["mcp"]:
        return False
    return _is_condense([str(entry.get("command")), *arguments[:-1]])


def _is_condense(words: Sequence[object]) -> bool:
    if len(words) == 1:
        return _NAME.search(str(words[0])) is not None
    return list(words[1:]) in (["-P", "-m", "condense_cli"], ["-m", "condense_cli"])


def _words(command: object) -> list[str]:
    try:
        words = shlex.split(command, posix=sys.platform != "win32") if isinstance(command, str) else []
    except ValueError:
        return []
    return [word.strip('"') for word in words]


def runs(command: str) -> bool:
    """Whether the program of a command line is there."""
    words = _words(command)
    return bool(words) and Path(words[0]).is_file()
