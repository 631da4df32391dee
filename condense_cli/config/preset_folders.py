"""Find presets and configurations in the project, in the user's own folder, and in the package.

Folders outside the user's home and outside the repository are not looked into: in a folder that everybody writes to,
anybody could leave one.

Shells ask for the names while a person types: nothing heavy is imported for them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

from ..core.user_folders import config_folder
from ..core.wording import nearest, quoted
from ..errors import ConfigurationError

DEFAULT_PRESET = "balanced"
_ENDINGS: Final = (".json", ".yaml", ".yml")
"""The first goes before the others."""


@cache
def presets_folder() -> Path:
    """Return the folder of the package's presets: inside an installed one, or beside it in a source tree."""
    package = Path(__file__).resolve().parent.parent
    installed = package / "presets"
    return installed if installed.is_dir() else package.parent / "presets"


class PresetFolders:
    """The files of presets in some folders, the first of which goes before the others, and the package's behind all."""

    def __init__(self, *folders: Path) -> None:
        self._folders = (*folders, presets_folder())

    def names(self) -> list[str]:
        return sorted({path.stem for folder in self._folders for path in _in(folder)})

    def find(self, name: str) -> Path:
        """Return the file of a preset; a name like a path is one. Raises ConfigurationError."""
        found = self._file(name)
        if found is not None:
            return found
        if Path(name).suffix or "/" in name or "\\" in name:
            return Path(name)
        raise self._unknown(name, " A path to a YAML or JSON file works too.")

    def read(self, name: str) -> bytes:
        """Read the file of a preset. Raises ConfigurationError."""
        found = self._file(name)
        if found is None:
            raise self._unknown(name)
        try:
            return found.read_bytes()
        except OSError as error:
            raise ConfigurationError(f"Cannot read the preset {found}: {error.strerror}.") from None

    def folder_of(self, name: str) -> Path | None:
        """Return the folder of a preset; None for those of the package."""
        found = self._file(name)
        return None if found is None or found.parent == self._folders[-1] else found.parent

    def _file(self, name: str) -> Path | None:
        if os.path.basename(name) != name:
            return None
        paths = (folder / (name + ending) for folder in self._folders for ending in _ENDINGS)
        return next((path for path in paths if os.path.isfile(path)), None)

    def _unknown(self, name: str, more: str = "") -> ConfigurationError:
        near = nearest(name, self.names())
        hint = f"Did you mean {near}? " if near else ""
        return ConfigurationError(
            f"There is no preset named {quoted(name)}.", f"{hint}Presets: {', '.join(self.names())}.{more}"
        )


def _in(folder: Path) -> Iterator[Path]:
    try:
        yield from sorted(path for path in folder.iterdir() if path.suffix in _ENDINGS and path.is_file())
    except OSError:  # No such folder, or one that may not be looked into.
        return


PACKAGE: Final = PresetFolders()


def preset_names() -> list[str]:
    """Return the names of the package's presets."""
    return PACKAGE.names()


FILE_NAME: Final = "condense.yaml"
PROJECT_PRESETS: Final = Path(".condense") / "presets"


def user_configuration_path() -> Path:
    """Return the path of the user's own file: ~/.config/condense/condense.yaml, or below XDG_CONFIG_HOME."""
    return Path(config_folder()) / FILE_NAME


def find_project_file(folder: Path, home: Path, own: Path) -> Path | None:
    """Return the nearest configuration at or above the folder; `own` is the user's, not a project's.

    The search ends at the root of a repository, else at the home.
    """
    own = own.resolve()
    # A link that leads nowhere is an error when it is read: what it should say must not be passed over.
    files = (place / FILE_NAME for place in _up(folder, home))
    return next((file for file in files if (file.is_file() or file.is_symlink()) and file.resolve() != own), None)


def find_project_presets(folder: Path, home: Path) -> Path | None:
    """Return the nearest folder of presets at or above the folder, no higher than a project's file may be."""
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
