"""Show long texts in the user's pager."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from contextlib import suppress


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
