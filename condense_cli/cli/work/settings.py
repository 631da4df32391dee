"""Find the settings of a command: flags, then variables, then the project's file, then the user's own."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from ...config.loading import Layer, Presets, load_with_positions
from ...config.overrides import Settings, settle
from ...config.own import has_variables, load_user_settings, read_variables, unknown_variables
from ...config.preset_folders import FILE_NAME, find_project_file, user_configuration_path
from ...errors import ConfigurationError, UsageError
from ...storage.files import is_same_file
from ..console import say
from ..options import folders_of_presets

if TYPE_CHECKING:
    from ...tokens.counting import CounterName


def settings_for(
    preset: str | None, config: Path | None, *, no_config: bool = False, flags: Layer | None = None
) -> Settings:
    """Return the settings of a run. `no_config` leaves the project's file and the user's settings out.

    `flags` say what is done if neither a preset nor a configuration does.

    Raises ConfigurationError, and UsageError if both a preset and a configuration are given.
    """
    if preset is not None and config is not None:
        raise UsageError("--preset and --config cannot be used together.", "Use one of them.")
    for warning in unknown_variables(os.environ):
        say(f"condense: warning: {warning}")
    presets = presets_here()
    named: Layer | None = None
    if config is not None:
        if str(config) in presets.names() and not config.exists():
            raise UsageError(f"There is no file {config}.", f"It is a preset: --preset {config}.")
        named, no_config = load_with_positions(config, presets), True
    elif preset is not None:
        named = presets.named(preset)
    else:
        named = flags
    layers = [*_files(no_config, presets), read_variables(os.environ, presets), named]
    return settle([layer for layer in layers if layer is not None], named, presets=presets)


def settings_if_any(*, no_config: bool = False) -> Settings | None:
    """Return the settings in files and variables, or None: reading YAML takes longer than looking for it."""
    project, own = _paths()
    is_written = not no_config and (project is not None or os.path.lexists(own))
    return settings_for(None, None, no_config=no_config) if is_written or has_variables(os.environ) else None


def counter_of(flag: CounterName | None, settings: Settings | None) -> CounterName:
    """Return the counter that the flag or the settings name, or the default."""
    if flag is not None:
        return flag
    return settings.configuration.counter if settings else "built-in"


def _files(no_config: bool, presets: Presets) -> list[Layer | None]:
    """Read the user's own file and then the project's."""
    if no_config:
        return []
    project, own = _paths()
    if project is None and os.path.lexists(FILE_NAME) and not is_same_file(FILE_NAME, own):
        say(
            f"condense: warning: {FILE_NAME} in this folder is not used: it is outside your home folder and any "
            f"repository, so anyone could have put it there. --config {FILE_NAME} uses it."
        )
    found: list[Layer | None] = []
    if os.path.lexists(own):
        found.append(load_user_settings(own, presets))
    if project is not None:
        project = Path(os.path.relpath(project))
        # Reading it could wait for ever, and nobody asked for it.
        if project.exists() and not (project.is_file() or project.is_dir()):
            raise ConfigurationError(f"The project's {project} leads to a device or a pipe.", "Make it a file.")
        found.append(load_with_positions(project, presets))
    return found


def _paths() -> tuple[Path | None, Path]:
    """Return the project's file, or None, and the path of the user's own."""
    own = user_configuration_path()
    try:
        return find_project_file(Path.cwd(), Path(os.path.expanduser("~")), own), own
    except OSError:  # The current folder is gone, or one above it may not be looked into.
        return None, own


def presets_here() -> Presets:
    """Return the presets of this project, of the user and of the package."""
    return Presets(*folders_of_presets())
