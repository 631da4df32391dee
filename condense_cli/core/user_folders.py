"""Locate the user's folders for this program, as `platformdirs` does.

On Linux `platformdirs` is imported only if in doubt: the import takes longer than reading all files in the folders.
"""

from __future__ import annotations

import os
import sys

_NAME = "condense"


def config_folder() -> str:
    """Return the folder for settings: ~/.config/condense, or below XDG_CONFIG_HOME."""
    found = _on_linux("XDG_CONFIG_HOME", ".config")
    if found is not None:
        return found
    from platformdirs import user_config_dir

    return user_config_dir(_NAME, appauthor=False)


def cache_folder() -> str:
    """Return the folder for caches: ~/.cache/condense, or below XDG_CACHE_HOME."""
    found = _on_linux("XDG_CACHE_HOME", ".cache")
    if found is not None:
        return found
    from platformdirs import user_cache_dir

    return user_cache_dir(_NAME, appauthor=False)


def _on_linux(variable: str, default: str) -> str | None:
    """Return the folder by the XDG base directory specification. None if only `platformdirs` knows it."""
    if sys.platform != "linux" or "ANDROID_ROOT" in os.environ:
        return None
    given, home = os.environ.get(variable, ""), os.environ.get("HOME", "")
    if not os.path.isabs(given):
        given = os.path.join(home, default)
    return os.path.join(given, _NAME) if os.path.isabs(given) else None
