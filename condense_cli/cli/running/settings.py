"""Which settings hold for a command: flags, then variables, then the project's file, then the user's own."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import ConfigurationError, UsageError
from ..console import say

if TYPE_CHECKING:
    from ...config.overrides import Layer, Settings
    from ...config.presets import Presets
    from ...core.tokens import CounterName


def settings_for(
    preset: str | None, config: Path | None, *, no_config: bool = False, flags: Layer | None = None
) -> Settings:
    """The settings of a run. `no_config` leaves the project's file and the user's settings out.

    `flags` say what is done where neither a preset nor a configuration does.

    Raises ConfigurationError, and UsageError when both a preset and a configuration are given.
    """
    if preset is not None and config is not None:
        raise UsageError("--preset and --config cannot be used together.", "Use one of them.")
    from ...config.loading import load_with_positions
    from ...config.overrides import settle

    has_variables = any(name.startswith("CONDENSE_") for name in os.environ)
    if has_variables:
        from ...config.base import unknown_in

        for warning in unknown_in(os.environ):
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
    layers = _files(no_config, presets)
    if has_variables:
        from ...config.effective import read_variables

        layers.append(read_variables(os.environ, presets))
    layers.append(named)
    return settle([layer for layer in layers if layer is not None], named, presets=presets)


def settings_if_any(*, no_config: bool = False) -> Settings | None:
    """The settings that somebody wrote down; None where nobody did. Reading YAML takes longer than to look for it."""
    from ...config.base import given_in

    project, own = _paths()
    is_written = not no_config and (project is not None or os.path.lexists(own))
    return settings_for(None, None, no_config=no_config) if is_written or given_in(os.environ) else None


def counter_of(flag: CounterName | None, settings: Settings | None) -> CounterName:
    """What counts in a command that runs no settings: what the flag names, or else what the settings do."""
    from ...core.tokens import BUILT_IN

    if flag is not None:
        return flag
    return settings.configuration.counter if settings else BUILT_IN


def _files(no_config: bool, presets: Presets) -> list[Layer | None]:
    """What the user's own file says, then what the project's does."""
    from ...config.loading import load_with_positions
    from ...config.preset_folders import FILE_NAME
    from ...storage.files import is_same_file

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
        from ...config.files import load_user_settings

        found.append(load_user_settings(own, presets))
    if project is not None:
        project = Path(os.path.relpath(project))
        # Reading it could wait for ever, and nobody asked for it.
        if project.exists() and not (project.is_file() or project.is_dir()):
            raise ConfigurationError(f"The project's {project} leads to a device or a pipe.", "Make it a file.")
        found.append(load_with_positions(project, presets))
    return found


def _paths() -> tuple[Path | None, Path]:
    """The project's file, if there is one, and where the user's own would be."""
    from ...config.preset_folders import find_project_file, user_configuration_path

    own = user_configuration_path()
    try:
        return find_project_file(Path.cwd(), Path(os.path.expanduser("~")), own), own
    except OSError:  # The current folder is gone, or one above it may not be looked into.
        return None, own


def presets_here() -> Presets:
    """The presets that commands know: the project's, then the user's own, then those of the package."""
    from ...config.presets import Presets

    return Presets(*_preset_folders())


def preset_names_here() -> list[str]:
    """Their names, which a shell asks for while a person types."""
    from ...config.preset_folders import PresetFolders

    return PresetFolders(*_preset_folders()).names()


def _preset_folders() -> list[Path]:
    """Folders of presets beside the package's, the first of which goes before the others."""
    from ...config.preset_folders import find_project_presets, user_configuration_path

    own = user_configuration_path().parent / "presets"
    try:
        project = find_project_presets(Path.cwd(), Path(os.path.expanduser("~")))
    except OSError:  # The current folder is gone, or one above it may not be looked into.
        project = None
    return [*([project] if project else []), own]
