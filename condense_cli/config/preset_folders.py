"""Where presets are: files by their names, in the project, in the user's own folder, and in the package.

Shells ask for the names while a person types: nothing heavy is imported for them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

from ..core.wording import nearest, quoted
from ..errors import ConfigurationError

DEFAULT_PRESET = "balanced"
_ENDINGS: Final = (".json", ".yaml", ".yml")
"""The first goes before the others."""


@cache
def presets_folder() -> Path:
    """Where the presets of the package are: inside an installed one, or beside it in a source tree."""
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
        """The file of the preset of that name; anything that looks like a path is one. Raises ConfigurationError."""
        found = self._file(name)
        if found is not None:
            return found
        if Path(name).suffix or "/" in name or "\\" in name:
            return Path(name)
        raise self._unknown(name, " A path to a YAML or JSON file works too.")

    def read(self, name: str) -> bytes:
        """The file of the preset of that name as it is. Raises ConfigurationError."""
        found = self._file(name)
        if found is None:
            raise self._unknown(name)
        try:
            return found.read_bytes()
        except OSError as error:
            raise ConfigurationError(f"Cannot read the preset {found}: {error.strerror}.") from None

    def folder_of(self, name: str) -> Path | None:
        """The folder that a preset is in; None for those of the package."""
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
    """The names of the package's presets."""
    return PACKAGE.names()
