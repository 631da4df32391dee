"""Where settings are: the user's own file, and the project's in the current folder or the nearest one above it.

Folders outside the user's home and outside the repository are not looked into: in a folder that everybody writes to,
anybody could leave one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

FILE_NAME: Final = "condense.yaml"


def user_configuration_path() -> Path:
    """Where the user's own configuration is: ~/.config/condense/condense.yaml, or as XDG_CONFIG_HOME says."""
    from platformdirs import user_config_path

    return user_config_path("condense", appauthor=False) / FILE_NAME


def find_project_file(folder: Path, home: Path, own: Path) -> Path | None:
    """The nearest file at or above the folder; `own` is the user's, which is no project's.

    The way up ends at the root of a repository, else at the home.
    """
    folder, home, own = folder.resolve(), home.resolve(), own.resolve()
    top = _top(folder, home)
    if top is None:
        return None
    for place in (folder, *folder.parents):
        file = place / FILE_NAME
        # A link that leads nowhere is an error when it is read: what it should say must not be passed over.
        if (file.is_file() or file.is_symlink()) and file.resolve() != own:
            return file
        if place == top:
            break
    return None


def _top(folder: Path, home: Path) -> Path | None:
    for place in (folder, *folder.parents):
        if (place / ".git").exists():
            return place
    return home if home in (folder, *folder.parents) else None
