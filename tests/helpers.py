"""A session to condense, and ways to run the command: as a process, and on a pseudo-terminal."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

COMMAND = (sys.executable, "-m", "condense_cli")


@dataclass(frozen=True)
class Outcome:
    """How a process ended and what it said."""

    status: int
    stdout: bytes
    stderr: str

    @property
    def text(self) -> str:
        return self.stdout.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.stdout)


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a process: the test's own, without what would decide about colours and width."""
    dropped = {"NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "TERM", "PYTHONUNBUFFERED", "PYTHONIOENCODING"}
    return {**{key: value for key, value in os.environ.items() if key not in dropped}, **(extra or {})}


def condense(
    *arguments: str | Path,
    stdin: bytes | None = None,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    stdout: Any = subprocess.PIPE,
    timeout: float = 60,
) -> Outcome:
    """Run `condense` in a process of its own, with pipes for its three streams."""
    done = subprocess.run(
        [*COMMAND, *map(str, arguments)],
        input=stdin if stdin is not None else b"",
        stdout=stdout,
        stderr=subprocess.PIPE,
        env=environment(env),
        cwd=cwd,
        timeout=timeout,
        check=False,
    )
    return Outcome(done.returncode, done.stdout or b"", done.stderr.decode())


def condense_on_terminal(
    *arguments: str | Path, columns: int = 80, env: Mapping[str, str] | None = None, timeout: float = 60
) -> Outcome:
    """Run `condense` with a pseudo-terminal of the given width as its input, output and messages."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    process = subprocess.Popen(
        [*COMMAND, *map(str, arguments)],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment({"TERM": "xterm-256color", **(env or {})}),
        close_fds=True,
    )
    os.close(theirs)
    pieces: list[bytes] = []
    deadline = time.monotonic() + timeout
    try:
        while time.monotonic() < deadline:
            if not select.select([ours], [], [], 0.2)[0]:
                continue
            try:
                piece = os.read(ours, 65_536)
            except OSError:  # Linux says so when the other end is closed.
                break
            if not piece:
                break
            pieces.append(piece)
        status = process.wait(timeout=max(1.0, deadline - time.monotonic()))
    finally:
        os.close(ours)
        with contextlib.suppress(ProcessLookupError):
            process.kill()
    return Outcome(status, b"".join(pieces).replace(b"\r\n", b"\n"), "")
