"""Start another program in the foreground: a client in place of this command, or the pager."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress

from ..errors import UsageError


def run_in_foreground(
    command: Sequence[str], *, environment: Mapping[str, str] | None = None, folder: str | None = None
) -> int:
    """Run a client and return its exit status; signals are for it. Raises UsageError if it cannot be started."""
    try:
        process = subprocess.Popen(command, env=environment, cwd=folder)
    except OSError as error:
        if folder is not None and not os.path.isdir(folder):
            raise UsageError(
                f"The folder of the session, {folder}, is missing, and {command[0]} resumes it from there.",
                f"Make it again, then: cd {shlex.quote(folder)} && {shlex.join(command)}",
            ) from None
        raise UsageError(f"Cannot start {command[0]} ({error.strerror}).") from None
    # The terminal sends Ctrl-C to both; what is sent to this process alone is passed on.
    before = (
        signal.signal(signal.SIGINT, signal.SIG_IGN),
        signal.signal(signal.SIGTERM, lambda *_: process.terminate()),
    )
    try:
        status = process.wait()
    finally:
        for number, handler in zip((signal.SIGINT, signal.SIGTERM), before, strict=True):
            signal.signal(number, handler)
    return status if status >= 0 else 128 - status


def page(text: str) -> None:
    """Show a text in the user's pager, or in `less`; print it if there is neither."""
    words = shlex.split(os.environ.get("PAGER") or "less")
    program = shutil.which(words[0]) if words else None
    if program is None:
        sys.stdout.write(text)
        return
    colours = {"LESS": os.environ.get("LESS", "FRX")}
    # An interrupt is for the pager.
    with (
        suppress(KeyboardInterrupt),
        subprocess.Popen([program, *words[1:]], stdin=subprocess.PIPE, env={**os.environ, **colours}) as pager,
    ):
        pager.communicate(text.encode("utf-8", "replace"))
