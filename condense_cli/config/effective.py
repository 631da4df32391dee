"""Assigned values, the schema of a configuration, and a configuration with every default filled in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, Protocol, TypeVar

import msgspec
from msgspec import Struct

from ..core.wording import quoted
from ..errors import ConfigurationError, UsageError
from .checks import limit_to_usual
from .loading import TARGETS, as_typed, read_values
from .models import NOT_IN_FILES, Configuration, FileConfiguration
from .options import Overrides
from .overrides import apply
from .own import OwnFile
from .positions import KeyPath, Positions, is_at, snake_case, types_at, value_at
from .profiles import Profile

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
    "must_keep": "--must-keep",
    "match": "--cut",
    "range": "--range",
}

_FLAG_OF_PATH: Final[dict[KeyPath, str]] = {
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
        """Return the preset, the file and line, or the variable of a value; None for a default."""


class Effective(Struct, frozen=True):
    """The values as plain values; `origins` by the path of each value that is no mapping and no list of mappings."""

    configuration: Configuration
    values: dict[str, Any]
    origins: dict[KeyPath, str]


def effective(settled: Settled, overrides: Overrides, compiled: Configuration | None = None) -> Effective:
    """Return the configuration that a run with these options uses, with the origin of each value.

    `compiled` are passes to show in place of the settled configuration, without empty defaults.
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
    """Yield every value that takes one line: scalars, empty lists, lists of scalars."""
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
    """Return the flag that set a value which the configuration does not have."""
    if path == ("thinking",):
        return f"--{value}-thinking"
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


T = TypeVar("T", bound=Struct)


def assigned(values: T, assignments: Sequence[str]) -> T:
    """Return the struct with these values; a key with dots leads into it, and numbers into lists.

    A value is written as in YAML, and text needs no quotes. Raises UsageError and ConfigurationError.
    """
    for assignment in assignments:
        key, equals, text = assignment.partition("=")
        if not equals or not key.strip():
            raise UsageError(f"--set needs KEY=VALUE, not {quoted(assignment)}.", "For example --set keep_recent=5.")
        positions = Positions(f"--set {assignment}", is_file=False)
        plain = msgspec.json.decode(msgspec.json.encode(values))
        path = _put(plain, key.strip().split("."), text.strip(), type(values), positions)
        positions.spellings[path] = key.strip().rpartition(".")[2]
        values = as_typed(plain, type(values), positions)
    return values


def _put(plain: Any, keys: list[str], text: str, root: type[Struct], positions: Positions) -> KeyPath:
    """Put the value into the plain ones, and return its path."""
    path: list[str | int] = []
    for number, key in enumerate(keys):
        if isinstance(plain, list):
            if not (key.isdecimal() and int(key) < len(plain)):
                raise positions.error(tuple(path), f"there is no number {key} in a list of {len(plain)}")
            path.append(int(key))
        else:
            path.append(snake_case(key))
        if number == len(keys) - 1:
            plain[path[-1]] = _value(text, list(types_at(root, tuple(path))))
            break
        if not isinstance(plain, list) and not isinstance(plain.get(path[-1]), dict | list):
            plain[path[-1]] = {}
        plain = plain[path[-1]]
    return tuple(path)


def _value(text: str, kinds: list[Any]) -> Any:
    """Return the text as YAML, or as it is, whichever the key takes."""
    try:
        value, _ = read_values(text, "value")
    except ConfigurationError:
        value = text
    return next((found for found in (value, text) for kind in kinds if _is_of(found, kind)), value)


def _is_of(value: Any, kind: Any) -> bool:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return False
    return True


DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


def configuration_schema() -> dict[str, Any]:
    """Schema of a configuration and of a project's file, keys in snake_case.

    Like the loader it refuses other keys. Unlike the loader, which warns, it refuses unusual values: editors mark them.
    """
    schema = msgspec.json.schema(FileConfiguration)
    limit_to_usual(schema["$defs"])
    schema["$defs"]["BatchConfig"]["properties"]["operation"]["enum"].remove(NOT_IN_FILES)
    return {
        "$schema": DIALECT,
        "title": "Configuration of condense",
        "description": "What `condense run` does with --config FILE or a project's condense.yaml.",
        **schema,
    }


def own_schema() -> dict[str, Any]:
    """Schema of the user's own file, which defines profiles and may permit calls."""
    (own, profile), definitions = msgspec.json.schema_components((OwnFile, Profile), ref_template="#/$defs/{name}")
    limit_to_usual(definitions)
    properties = definitions["OwnFile"]["properties"]
    properties["profiles"] = {"type": "object", "additionalProperties": profile, "default": {}}
    return {
        "$schema": DIALECT,
        "title": "Your own configuration of condense",
        "description": "Your settings for `condense`, your profiles of models, and whether models may be called.",
        **own,
        "$defs": definitions,
    }
