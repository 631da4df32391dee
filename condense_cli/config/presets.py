"""Finding presets: configurations that come with the package, by name.

Shells ask for the names while a person types: nothing heavy is imported for them.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ConfigurationError
from ..nearest import nearest

if TYPE_CHECKING:
    from .loading import Loaded
    from .models import Configuration

DEFAULT_PRESET = "cost"


def presets_folder() -> Path:
    """Where the presets are: inside an installed package, or beside it in a source tree."""
    package = Path(__file__).resolve().parent.parent
    installed = package / "presets"
    return installed if installed.is_dir() else package.parent / "presets"


def preset_names() -> list[str]:
    return sorted(path.stem for path in presets_folder().glob("*.yaml"))


def load_preset(name: str) -> Configuration:
    """The preset of that name, or the configuration in the file of that path. Raises ConfigurationError."""
    return load_named(name).configuration


def load_named(name: str) -> Loaded:
    """The same, with where its values come from. Raises ConfigurationError."""
    from msgspec.structs import replace

    from .loading import load_with_positions

    loaded = load_with_positions(find_preset(name))
    return replace(loaded, preset=name) if name in preset_names() else loaded


def find_preset(name: str) -> Path:
    """The file of the preset of that name; anything that looks like a path is one. Raises ConfigurationError."""
    if name in preset_names():
        return presets_folder() / f"{name}.yaml"
    if Path(name).suffix or "/" in name or "\\" in name:
        return Path(name)
    raise _unknown(name, " A path to a YAML or JSON file works too.")


def read_preset(name: str) -> bytes:
    """The file of the preset of that name as it is. Raises ConfigurationError."""
    if name not in preset_names():
        raise _unknown(name)
    return (presets_folder() / f"{name}.yaml").read_bytes()


def _unknown(name: str, more: str = "") -> ConfigurationError:
    near = nearest(name, preset_names())
    hint = f"Did you mean {near}? " if near else ""
    return ConfigurationError(
        f"There is no preset named {name!r}.", f"{hint}Presets: {', '.join(preset_names())}.{more}"
    )
