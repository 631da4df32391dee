"""Packages that a few functions need: the error where one is missing, with the command that installs it here."""

from __future__ import annotations

import shlex
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from ..errors import UsageError

DISTRIBUTION: Final = "condense-cli"


def missing(what: str, extra: str) -> UsageError:
    """Return the error for a package that is not installed; `what` needs it, and `extra` names it."""
    return UsageError(f"{what}, which is not installed.", how_to_install(extra))


def how_to_install(extra: str) -> str:
    """Return the command that installs an extra where this program runs: with pipx, uv or pip.

    It names the packages themselves, so that it works from a checkout too.
    """
    packages = " ".join(shlex.quote(package) for package in _packages(extra))
    folders = Path(sys.prefix).parts
    if "pipx" in folders:
        return f"pipx inject {DISTRIBUTION} {packages}"
    python = shlex.quote(sys.executable)
    if find_spec("pip") is None:  # As in the environments that uv makes.
        return f"uv pip install --python {python} {packages}"
    return f"{python} -m pip install {packages}"


def _packages(extra: str) -> list[str]:
    """Return the requirements of an extra, or the extra itself if this program is not installed."""
    from importlib.metadata import PackageNotFoundError, requires  # Slow to import, and only errors need it.

    try:
        known = requires(DISTRIBUTION) or []
    except PackageNotFoundError:
        known = []
    marker = (f'extra == "{extra}"', f"extra == '{extra}'")
    found = [line.partition(";")[0].strip() for line in known if line.rstrip().endswith(marker)]
    return found or [f"{DISTRIBUTION}[{extra}]"]
