"""Find the provider of a command: --provider and --set, and the registry as the user configures it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from ...config.checks import problems
from ...config.effective import assigned
from ...config.loading import Layer, Loaded
from ...config.models import Configuration
from ...config.overrides import Settings
from ...config.own import load_user_configuration, load_user_settings
from ...config.positions import KeyPath, Positions, snake_case
from ...config.preset_folders import user_configuration_path
from ...core.wording import visible
from ...errors import ConfigurationError
from ...passes.condensation import Condensation
from ...plugins import Installed
from ...providers.registry import Registry
from ..console import DEBUG_VARIABLE, say
from ..options import Configuring
from .settings import settings_for


def registry_of_user() -> Registry:
    """Return the providers, ordered and configured by the user's own file."""
    if not os.path.lexists(user_configuration_path()):
        return Registry(installed=Installed())
    registry = Registry(load_user_configuration().providers, installed=Installed())
    for warning in registry.unknown:
        say(f"condense: warning: {visible(str(user_configuration_path()))}: {visible(warning)}")
    return registry


def settings_with(asked: Configuring, registry: Registry) -> Settings:
    """Return the settings of a run with these options, checked by the provider. Raises CondenseError."""
    provider, assignments = asked.provider, asked.assignments
    flags = None
    if provider is not None:
        found = registry.get(provider)
        if asked.preset is None and asked.config is None:
            flags = _flags(found.default_configuration())
    settings = settings_for(asked.preset, asked.config, no_config=asked.no_config, flags=flags)
    configuration, name, layers = settings.configuration, settings.name, settings.layers
    if provider is not None and flags is None:
        configuration, name = replace(configuration, provider=provider), f"{name}, provider {provider}"
        layers = _assigned(layers, "--provider", [("provider",)])
    check(configuration, registry, settings.layers)
    configuration, layers = _filled(configuration, layers, registry)
    if assignments:
        section = registry.get(configuration.provider).section
        configuration = with_assignments(configuration, assignments, registry)
        name = f"{name}, {', '.join(assignments)}"
        layers = _assigned(layers, "--set", [_path_of(each, section) for each in assignments])
    return replace(settings, configuration=configuration, name=name, layers=layers)


def _filled(
    configuration: Configuration, layers: dict[str, Layer], registry: Registry
) -> tuple[Configuration, dict[str, Layer]]:
    """Write out the settings of the provider; return the configuration, and the layers with their origins."""
    provider = registry.get(configuration.provider)
    configuration = replace(configuration, provider=provider.id)
    section = provider.section
    if section == "passes":  # Its settings are what a run does, which is taken as a whole.
        return configuration, layers
    layer = layers.get(section)
    given = (layer.values.get(section) if layer else None) or {}
    own = registry.settings(provider.id).config or {}
    for key in own.keys() - given.keys():
        layers = _assigned(layers, _place_of_own(("providers", provider.id, "config", key)), [(section, key)])
    return registry.filled(configuration, given), layers


def _place_of_own(path: KeyPath) -> str:
    """Return file and line of a value in the user's own file."""
    file = user_configuration_path()
    loaded = load_user_settings(file)
    return loaded.positions.place(path) if loaded else str(file)


def check(configuration: Configuration, registry: Registry, layers: Mapping[str, Layer]) -> None:
    """Raise ConfigurationError if a name in the configuration is unknown, or a provider's settings are wrong.

    The error names the place that the `layers` know.
    """
    of_provider = _positions(layers, "provider")
    provider = registry.get(configuration.provider, of_provider)
    of_settings = _positions(layers, provider.section)
    provider.validate_config(registry.configured(configuration), of_settings)
    for number, config in enumerate(configuration.passes):
        if config.selection.selector is not None:
            _check_selector(config.selection.selector, number, _positions(layers, "passes"))


def _check_selector(name: str, number: int, positions: Positions | None) -> None:
    try:
        Installed().selector(name)
    except ConfigurationError as error:
        if positions is None:
            raise
        what = f"{error.message[0].lower()}{error.message[1:].removesuffix('.')}"
        raise positions.error(("passes", number, "selection", "selector"), what, error.hint) from None


def _positions(layers: Mapping[str, Layer], key: str) -> Positions | None:
    """Return the positions of the file that gives a key, possibly the preset that another file names."""
    layer = layers.get(key)
    while isinstance(layer, Loaded) and key not in layer.value:
        layer = layer.base
    return layer.positions if isinstance(layer, Loaded) else None


def checked(loaded: Loaded, registry: Registry) -> Configuration:
    """Return the configuration of a file or a preset. Raises ConfigurationError."""
    check(loaded.configuration, registry, dict.fromkeys(loaded.values, loaded))
    return loaded.configuration


def with_assignments(configuration: Configuration, assignments: Sequence[str], registry: Registry) -> Configuration:
    """Apply the values of --set to the settings of the provider. Raises CondenseError."""
    provider = registry.get(configuration.provider)
    configuration = registry.configured(configuration)
    settings = assigned(provider.validate_config(configuration), assignments)
    configuration = provider.with_settings(configuration, settings)
    provider.validate_config(configuration)
    for path, what, hint in problems(configuration):
        raise Positions("--set", is_file=False).error(path, what, hint)
    return configuration


def provider_with(provider_id: str, assignments: Sequence[str] | None, registry: Registry) -> Configuration:
    """Return a provider with its own defaults and the values of --set. Raises CondenseError."""
    configuration = registry.get(provider_id).default_configuration()
    return with_assignments(configuration, assignments, registry) if assignments else configuration


def say_error(result: Condensation) -> None:
    """Say which error stopped the provider, if any."""
    if result.error is None:
        return
    say(f"condense: {result.error}" + ("" if result.transcript.is_changed else "\nThe transcript is unchanged."))
    if os.environ.get(DEBUG_VARIABLE):
        say(result.error.traceback)


def _assigned(layers: Mapping[str, Layer], flag: str, paths: Sequence[KeyPath]) -> dict[str, Layer]:
    """Return the layers with the flag as the origin of the values at these paths."""
    found = dict(layers)
    for path in paths:
        layer = found.get(str(path[0])) or Layer(flag, {})
        found[str(path[0])] = replace(layer, assigned=((path, flag), *layer.assigned))
    return found


def _path_of(assignment: str, section: str) -> KeyPath:
    """Return the path of one `--set` in a configuration. The settings of `smart` are its keys themselves."""
    keys = assignment.partition("=")[0].strip().split(".")
    path = tuple(int(key) if key.isdecimal() else snake_case(key) for key in keys)
    return path if section == "passes" else (section, *path)


def _flags(configuration: Configuration) -> Layer:
    usual = Configuration()
    given = {
        name: msgspec.to_builtins(value)
        for name in configuration.__struct_fields__
        if (value := getattr(configuration, name)) != getattr(usual, name)
    }
    return Layer(f"provider {configuration.provider}", {**given, "provider": configuration.provider}, "--provider")
