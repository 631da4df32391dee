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
        """Return the preset of that name, or the configuration at that path. Raises ConfigurationError."""
        return self.named(name).configuration

    def named(self, name: str) -> Loaded:
        """As `load`, with the origins of its values. Raises ConfigurationError."""
        loaded = load_with_positions(self.find(name))
        return replace(loaded, preset=name) if self._file(name) else loaded


PACKAGED: Final = Presets()


def load_preset(name: str) -> Configuration:
    """Return the package's preset of that name, or the configuration at that path. Raises ConfigurationError."""
    return _of_package(name) if name in _names() else PACKAGED.load(name)


@cache
def _of_package(name: str) -> Configuration:
    """Return a preset of the package, which does not change while a process runs."""
    return PACKAGED.load(name)


@cache
def _names() -> frozenset[str]:
    return frozenset(PACKAGED.names())
