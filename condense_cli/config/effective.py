"""A configuration with every default filled in, and for each value where it came from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, Protocol

import msgspec
from msgspec import Struct

from .loading import TARGETS
from .models import Configuration
from .overrides import Overrides, apply
from .positions import KeyPath, is_at, value_at

DEFAULT: Final = "default"
COMPILED: Final = "compiled"
"""The origin of what provider settings or phases became."""

_FLAG_OF_KEY: Final = {
    "type": "--keep-recent",
    "keep_recent_count": "--keep-recent",
    "keep_percentage": "--keep-recent",
    "keep_recent": "--keep-recent",
    "remove_obsolete_state": "--only-tools",
    "only_tools": "--only-tools",
    "keep": "--keep",
    "cut": "--cut",
    "match": "--cut",
    "range": "--range",
}

_FLAG_OF_PATH: Final[dict[KeyPath, str]] = {
    ("thinking",): "--drop-thinking",
    ("provider",): "--lossless-only",
    ("passes",): "--lossless-only",
    ("keep_first",): "--lossless-only",
    ("lossless_prelude", "enabled"): "--lossless-only",
}


class Settled(Protocol):
    """A configuration that knows where its values are from: of one file, or of several layers."""

    @property
    def configuration(self) -> Configuration: ...

    def origin(self, path: KeyPath) -> str | None:
        """The preset, the file and line, or the variable that a value comes from; None for a default."""


class Effective(Struct, frozen=True):
    """The values as plain values; `origins` by the path of each value that is no mapping and no list of mappings."""

    configuration: Configuration
    values: dict[str, Any]
    origins: dict[KeyPath, str]


def effective(settled: Settled, overrides: Overrides, compiled: Configuration | None = None) -> Effective:
    """The configuration as a run with these flags would use it. Values of a preset name it, others file and line.

    `compiled` are the passes that the settled one becomes, to be shown in its place, without what they leave open.
    """
    base = compiled or settled.configuration
    configuration = apply(base, overrides)
    given, before = _plain(settled.configuration), _plain(base)
    of_target = "--target-percent" if overrides.target_percent is not None else "--target-tokens"
    values = _plain(configuration, brief=compiled is not None)
    origins = {}
    for path, value in leaves(values):
        if not _is(before, path, value):
            origins[path] = of_target if path[0] in TARGETS else _flag(path, value)
        elif not _is(given, path, value):
            origins[path] = COMPILED
        else:
            origins[path] = settled.origin(path) or DEFAULT
    return Effective(configuration, values, origins)


def leaves(value: Any, path: KeyPath = ()) -> Iterator[tuple[KeyPath, Any]]:
    """Every value that is shown in one line: scalars, empty lists, lists of scalars."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, (*path, key))
    elif isinstance(value, list) and any(isinstance(item, dict) for item in value):
        for index, item in enumerate(value):
            yield from leaves(item, (*path, index))
    else:
        yield path, value


def _plain(value: Any, *, brief: bool = False) -> Any:
    """Mappings, lists and scalars; what an override leaves open is left out, and if `brief`, every empty default."""
    if isinstance(value, msgspec.Struct):
        fields = [(field, getattr(value, field.name)) for field in msgspec.structs.fields(value)]
        return {
            field.name: _plain(item, brief=brief)
            for field, item in fields
            if item is not msgspec.UNSET and not (brief and item in (None, "", ()) and item == field.default)
        }
    return [_plain(item, brief=brief) for item in value] if isinstance(value, tuple) else value


def _is(values: Any, path: KeyPath, value: Any) -> bool:
    return is_at(values, path) and bool(value_at(values, path) == value)


def _flag(path: KeyPath, value: Any) -> str:
    """The flag that set a value which the configuration does not have."""
    if path in _FLAG_OF_PATH:
        return _FLAG_OF_PATH[path]
    for step in reversed(path):
        if step == "tools":
            is_pin = path[0] == "pins"
            by = "--except-tools" if is_pin and path[-1] == "include" else "--only-tools"
            return by if value else DEFAULT
        if step in _FLAG_OF_KEY:
            # A predicate that a new pin leaves open is not set by any flag; a key that a flag emptied is.
            is_open = value is None and step in ("match", "range", "only_tools") and path[-1] != "end"
            return DEFAULT if is_open else _FLAG_OF_KEY[step]
    return DEFAULT
