"""Where settings and presets are: the user's own, and the project's in the current folder or the nearest one above it.

Folders outside the user's home and outside the repository are not looked into: in a folder that everybody writes to,
anybody could leave one.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ..core.user_folders import config_folder

FILE_NAME: Final = "condense.yaml"
PROJECT_PRESETS: Final = Path(".condense") / "presets"


def user_configuration_path() -> Path:
    """Where the user's own configuration is: ~/.config/condense/condense.yaml, or as XDG_CONFIG_HOME says."""
    return Path(config_folder()) / FILE_NAME


def find_project_file(folder: Path, home: Path, own: Path) -> Path | None:
    """The nearest file at or above the folder; `own` is the user's, which is no project's.

    The way up ends at the root of a repository, else at the home.
    """
    own = own.resolve()
    # A link that leads nowhere is an error when it is read: what it should say must not be passed over.
    files = (place / FILE_NAME for place in _up(folder, home))
    return next((file for file in files if (file.is_file() or file.is_symlink()) and file.resolve() != own), None)


def find_project_presets(folder: Path, home: Path) -> Path | None:
    """The nearest folder of presets at or above the folder, as far up as the project's file may be."""
    folders = (place / PROJECT_PRESETS for place in _up(folder, home))
    return next((found for found in folders if found.is_dir()), None)


def _up(folder: Path, home: Path) -> Iterator[Path]:
    folder, home = folder.resolve(), home.resolve()
    top = _top(folder, home)
    for place in (folder, *folder.parents) if top else ():
        yield place
        if place == top:
            return


def _top(folder: Path, home: Path) -> Path | None:
    for place in (folder, *folder.parents):
        if (place / ".git").exists():
            return place
    return home if home in (folder, *folder.parents) else None
