"""Locate the user's folders for this program, as `platformdirs` does.

On Linux `platformdirs` is imported only if in doubt: the import takes longer than reading all files in the folders.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # Type checkers read it as true. Hooks import this file, and not `typing`.
if TYPE_CHECKING:
    from typing import Literal

_NAME = "condense"


def config_folder() -> str:
    """Return the folder for settings: ~/.config/condense, or below XDG_CONFIG_HOME."""
    return _folder("config", "XDG_CONFIG_HOME", ".config")


def cache_folder() -> str:
    """Return the folder for caches: ~/.cache/condense, or below XDG_CACHE_HOME."""
    return _folder("cache", "XDG_CACHE_HOME", ".cache")


def _folder(kind: Literal["config", "cache"], variable: str, default: str) -> str:
    """Return the folder by the XDG base directory specification if that applies."""
    if sys.platform == "linux" and "ANDROID_ROOT" not in os.environ:
        given, home = os.environ.get(variable, ""), os.environ.get("HOME", "")
        if not os.path.isabs(given):
            given = os.path.join(home, default)
        if os.path.isabs(given):
            return os.path.join(given, _NAME)
    import platformdirs

    find = platformdirs.user_config_dir if kind == "config" else platformdirs.user_cache_dir
    return find(_NAME, appauthor=False)
