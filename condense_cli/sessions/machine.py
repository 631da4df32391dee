"""This machine, as the rooms below see it: where its sessions are, and where what was found out is kept."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ..core import user_folders

if TYPE_CHECKING:
    from .places import SessionPlace


def session_places() -> list[SessionPlace]:
    """Every folder in which a client of this user may keep sessions."""
    from .places import places

    return places(_home(), os.environ, sys.platform)


def cache_folder() -> Path:
    """The user's folder for what can be made again."""
    return Path(user_folders.cache_folder())


def tilde(path: str) -> str:
    """A path as people write it."""
    home = str(_home())
    return f"~{path[len(home) :]}" if path.startswith(home + os.sep) else path


def _home() -> Path:
    return Path(os.path.expanduser("~"))
