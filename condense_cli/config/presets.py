"""Presets: configurations by name."""

from __future__ import annotations

from functools import cache
from typing import Final

from msgspec.structs import replace

from .loading import Loaded, load_with_positions
from .models import Configuration
from .preset_folders import PresetFolders


class Presets(PresetFolders):
    """Those of some folders, and of the package.

    The package's alone are what the Python API knows, so that its results depend on nothing that it is not given.
    """

    def load(self, name: str) -> Configuration:
        """The preset of that name, or the configuration in the file of that path. Raises ConfigurationError."""
        return self.named(name).configuration

    def named(self, name: str) -> Loaded:
        """The same, with where its values come from. Raises ConfigurationError."""
        loaded = load_with_positions(self.find(name))
        return replace(loaded, preset=name) if self._file(name) else loaded


PACKAGED: Final = Presets()


def load_preset(name: str) -> Configuration:
    """The package's preset of that name, or the configuration in the file of that path. Raises ConfigurationError."""
    return _of_package(name) if name in _names() else PACKAGED.load(name)


@cache
def _of_package(name: str) -> Configuration:
    """A preset of the package, which stays as it is while a process runs."""
    return PACKAGED.load(name)


@cache
def _names() -> frozenset[str]:
    return frozenset(PACKAGED.names())
