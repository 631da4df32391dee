"""Settings from several places: a higher one holds over those below it, key by key.

What a run does (provider, passes, prelude) comes as a whole from the highest place that says anything of it, or names a
preset: passes of one file with the prelude of another would be a configuration that nobody wrote. The other keys
(targets, thresholds, pins, profile) are taken one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

import msgspec
from msgspec import Struct

from .loading import TARGETS, Loaded
from .models import Configuration
from .positions import KeyPath, is_at
from .preset_folders import DEFAULT_PRESET
from .presets import PACKAGED, Presets

_SHOWN: Final = frozenset({*TARGETS, "keep_first", "min_saving", "thinking", "counter", "keep", "cut", "pins"})
"""Keys that adjust what comes of a run that does its work: reports name where they are from.

In whose tokens numbers are is said beside them."""

ONE_BY_ONE: Final = _SHOWN | {
    "profile",
    "auto_condense_context",
    "auto_condense_context_percent",
    "auto_condense_context_above",
    "fallback",
    "count",
}
"""Keys that adjust whatever is done; all others are what is done."""

_NAMES: Final = frozenset({"name", "description"})


class Layer(Protocol):
    """One place that settings come from."""

    @property
    def title(self) -> str: ...

    @property
    def value(self) -> dict[str, Any]: ...

    @property
    def base(self) -> Loaded | None: ...

    @property
    def values(self) -> dict[str, Any]: ...

    def origin(self, path: KeyPath) -> str | None: ...


class Flags(Struct, frozen=True):
    """What a flag of the command says about what is done."""

    title: str
    value: dict[str, Any]
    flag: str

    @property
    def base(self) -> None:
        return None

    @property
    def values(self) -> dict[str, Any]:
        return self.value

    def origin(self, path: KeyPath) -> str | None:
        return self.flag if is_at(self.value, path) else None


class Assigned(Struct, frozen=True):
    """A layer below, of which a flag gave the values at some paths."""

    below: Layer | None
    flag: str
    paths: tuple[KeyPath, ...]

    @property
    def title(self) -> str:
        return self.below.title if self.below else self.flag

    @property
    def value(self) -> dict[str, Any]:
        return self.below.value if self.below else {}

    @property
    def base(self) -> Loaded | None:
        return self.below.base if self.below else None

    @property
    def values(self) -> dict[str, Any]:
        return self.below.values if self.below else {}

    def origin(self, path: KeyPath) -> str | None:
        if any(path[: len(given)] == given for given in self.paths):
            return self.flag
        return self.below.origin(path) if self.below else None


class Settings(Struct, frozen=True):
    """The settings in use. `layers` by the key that they give; `name` is what the configuration is called in reports.

    `has_own_target` tells that the target is not that of the preset or file whose passes run: these then work only
    until it is reached.
    """

    configuration: Configuration
    name: str
    layers: dict[str, Layer]
    has_own_target: bool

    def origin(self, path: KeyPath) -> str | None:
        layer = self.layers.get(str(path[0]))
        return layer.origin(path) if layer else None

    @property
    def files(self) -> set[str]:
        """The files that give any of the settings."""
        return {name for layer in self.layers.values() for name in _files_of(layer)}


def settle(layers: Sequence[Layer], whole: Layer | None = None, *, presets: Presets = PACKAGED) -> Settings:
    """The settings of these layers, the lowest first. `whole` is one that says all of what is done, even if nothing.

    Where no layer says what is done, the default preset does. Raises ConfigurationError.
    """
    chosen = whole or next((layer for layer in reversed(layers) if _says_what_is_done(layer)), None)
    if chosen is None:
        chosen = presets.named(DEFAULT_PRESET)
        layers = (chosen, *layers)
    found: dict[str, Layer] = {}
    for layer in layers:
        given = [key for key in layer.values if layer is chosen or key in ONE_BY_ONE]
        if any(key in TARGETS for key in given):  # Of two targets only one would be used, and perhaps not this one.
            found = {key: other for key, other in found.items() if key not in TARGETS}
        found.update(dict.fromkeys(given, layer))
    configuration = _configuration(chosen, found)
    shown = [layer for key, layer in found.items() if key in _SHOWN and layer is not chosen]
    used = [layer for layer in layers if any(layer is other for other in shown)]
    return Settings(configuration, _name(chosen, used), found, _has_own_target(found, chosen))


def _configuration(chosen: Layer, found: Mapping[str, Layer]) -> Configuration:
    """The values of these layers, typed: of one file alone they are so already."""
    if isinstance(chosen, Loaded) and all(layer is chosen for layer in found.values()):
        return chosen.configuration
    return msgspec.convert({key: layer.values[key] for key, layer in found.items()}, Configuration)


def _files_of(layer: Layer | None) -> Iterator[str]:
    while isinstance(layer, Assigned):
        layer = layer.below
    while isinstance(layer, Loaded):
        if layer.positions.is_file:
            yield layer.name
        layer = layer.base


def _says_what_is_done(layer: Layer) -> bool:
    return layer.base is not None or bool(layer.value.keys() - ONE_BY_ONE - _NAMES)


def _name(chosen: Layer, used: Sequence[Layer]) -> str:
    first = chosen.base.title if chosen.base else chosen.title
    others = [*([chosen.title] if chosen.base and chosen.value else []), *(layer.title for layer in used)]
    return f"{first} with {', '.join(others)}" if others else first


def _has_own_target(found: dict[str, Layer], chosen: Layer) -> bool:
    layer = next((found[key] for key in TARGETS if key in found), None)
    if layer is None:
        return False
    return layer is not chosen or (layer.base is not None and any(key in layer.value for key in TARGETS))
