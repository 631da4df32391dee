"""Find processes that hold a file open for writing."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct

_PROCESSES: Final = Path("/proc")
_LSOF_SECONDS: Final = 10
"""lsof can hang on a network file system that does not answer."""


class WritingProcess(Struct, frozen=True):
    """Number of a process, and name of its program."""

    process: int
    program: str

    def __str__(self) -> str:
        return f"{self.program} (process {self.process})"


def writers(path: Path) -> list[WritingProcess]:
    """List other processes that hold the file open for writing, as far as this user may see them."""
    if (_PROCESSES / "self" / "fdinfo").is_dir():
        return list(_from_proc(path))
    return list(_from_lsof(path))


def is_alive(process: int) -> bool:
    """Check if a process runs; True if the system offers no harmless way to ask."""
    if os.name != "posix":
        return True
    try:
        os.kill(process, 0)
    except PermissionError:
        return True
    except OSError:
        return False
    return True


def _from_proc(path: Path) -> Iterator[WritingProcess]:
    name = f"/{path.name}"
    for folder in _PROCESSES.iterdir():
        if not folder.name.isdecimal() or int(folder.name) == os.getpid():
            continue
        # A process may end, or close a file, meanwhile; those of other users are not readable.
        with contextlib.suppress(OSError):
            for link in (folder / "fd").iterdir():
                with contextlib.suppress(OSError, ValueError):
                    # By name first: asking for the status of an open file can hang on a network file system.
                    if os.readlink(link).endswith(name) and link.samefile(path) and _is_for_writing(folder, link.name):
                        yield WritingProcess(int(folder.name), (folder / "comm").read_text().strip())
                        break


def _is_for_writing(process: Path, descriptor: str) -> bool:
    """Read `flags`, which are those of open(2), in octal (proc_pid_fdinfo(5))."""
    for line in (process / "fdinfo" / descriptor).read_text().splitlines():
        key, _, value = line.partition(":")
        if key == "flags":
            return int(value, 8) & os.O_ACCMODE in (os.O_WRONLY, os.O_RDWR)
    return False


def _from_lsof(path: Path) -> Iterator[WritingProcess]:
    program = shutil.which("lsof")
    if program is None:
        return
    try:
        # One field a line, its letter first: process, command, access (lsof(8), "OUTPUT FOR OTHER PROGRAMS").
        done = subprocess.run(
            [program, "-nP", "-Fpca", "--", str(path)], capture_output=True, text=True, timeout=_LSOF_SECONDS
        )
    except (OSError, subprocess.SubprocessError):
        return
    process, command = 0, ""
    for line in done.stdout.splitlines():
        field, value = line[:1], line[1:]
        if field == "p":
            process = int(value)
        elif field == "c":
            command = value
        elif field == "a" and value in ("w", "u") and process != os.getpid():
            yield WritingProcess(process, command)
