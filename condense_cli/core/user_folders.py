"""The folders that this user has for programs, as `platformdirs` says.

On Linux it is asked only in doubt: importing it takes longer than all files that are looked for in them.
"""

from __future__ import annotations

import os
import sys

_NAME = "condense"


def config_folder() -> str:
    """For settings: ~/.config/condense, or as XDG_CONFIG_HOME says."""
    found = _on_linux("XDG_CONFIG_HOME", ".config")
    if found is not None:
        return found
    from platformdirs import user_config_dir

    return user_config_dir(_NAME, appauthor=False)


def cache_folder() -> str:
    """For what can be made again: ~/.cache/condense, or as XDG_CACHE_HOME says."""
    found = _on_linux("XDG_CACHE_HOME", ".cache")
    if found is not None:
        return found
    from platformdirs import user_cache_dir

    return user_cache_dir(_NAME, appauthor=False)


def _on_linux(variable: str, default: str) -> str | None:
    """The folder by the XDG base directory specification; None where only `platformdirs` knows."""
    if sys.platform != "linux" or "ANDROID_ROOT" in os.environ:
        return None
    given, home = os.environ.get(variable, ""), os.environ.get("HOME", "")
    if not os.path.isabs(given):
        given = os.path.join(home, default)
    return os.path.join(given, _NAME) if os.path.isabs(given) else None
