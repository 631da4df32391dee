"""Read configurations, from files and by name: every error names file, line, column, key and what was expected."""

from __future__ import annotations

import json
import re
from copy import deepcopy
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final, Literal, TypeVar, get_args, get_origin

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ..core.lazy_pattern import lazy_pattern
from ..core.markers import content_hash
from ..core.wording import nearest, percent_in, quoted
from ..errors import ConfigurationError, all_together
from .base import with_numbers
from .checks import problems
from .models import NOT_IN_FILES, Configuration, FileConfiguration
from .positions import KeyPath, Positions, fields_at, is_at, types_at, unknown_key, value_at
from .preset_folders import PACKAGE, PresetFolders, presets_folder

PACKED: Final = Path(__file__).with_name("packaged") / "presets"
"""The package's presets as values, plain ones in `.json` and typed ones in `.py`."""
_MOST_FAULTS: Final = 50
LARGEST: Final = 1_000_000
"""Characters of a configuration; a device or a pipe may have no end."""
_PATH_STEP: Final = lazy_pattern(r"\.([A-Za-z_][A-Za-z0-9_]*)|\[(\d+|\.\.\.)\]")
"""A step of a path in a message of msgspec. `[...]` is a value of a mapping; which one is not told."""
_ANY: Final = -1
"""In place of a key that is not told: the value has none."""
_UNKNOWN: Final = lazy_pattern(r"Object contains unknown field `(.*)`", re.DOTALL)
_MISSING: Final = lazy_pattern(r"Object missing required field `(.*)`")
_EXPECTED: Final = lazy_pattern(
    r"Expected `(?P<wanted>[^`]++)`(?: (?P<bound>[<>]=?) (?P<limit>[^\s,]++))?(?:, got `(?P<got>[^`]++)`)?"
)
_WORDS: Final = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "array": "a list",
    "object": "a mapping",
    "null": "nothing",
}
TARGETS: Final = ("target_tokens", "target_reduction_percent")
"""Keys of which a run uses one."""

_BOUNDS: Final = {">=": "of at least", ">": "above", "<=": "of at most", "<": "below"}


class Layer(Struct, frozen=True):
    """A source of settings: its plain values, over those of its `base`.

    `source` is what gives them, a flag or a preset; empty for a file, of which each value has a line. `assigned` are
    paths whose values come from something else, with its name.
    """

    title: str
    value: dict[str, Any]
    source: str = ""
    base: Loaded | None = None
    assigned: tuple[tuple[KeyPath, str], ...] = ()

    @property
    def values(self) -> dict[str, Any]:
        """Return its values over those of its base."""
        return over(self.base, self.value)

    def origin(self, path: KeyPath) -> str | None:
        """Return the preset, the file and line, the flag or the variable of a value; None for a default."""
        by = next((name for given, name in self.assigned if path[: len(given)] == given), None)
        if by is None and path[0] not in self.value:
            return self.base.origin(path) if self.base else None
        return by or (self.place(path) if is_at(self.value, path) else None)

    def place(self, path: KeyPath) -> str:
        """Return what gives the value at a path."""
        return self.source


class Loaded(Layer, frozen=True, kw_only=True):
    """A configuration with the plain values of its file and their positions; `base` is the preset that it names."""

    configuration: Configuration
    positions: Positions

    def place(self, path: KeyPath) -> str:
        return self.source or self.positions.place(path)


def over(base: Loaded | None, value: dict[str, Any]) -> dict[str, Any]:
    """Values and, where they say nothing, those of a preset. A target takes the place of either kind of target."""
    under = base.values if base else {}
    if any(key in value for key in TARGETS):
        under = {key: item for key, item in under.items() if key not in TARGETS}
    return {**under, **value}


def load_with_positions(path: Path, presets: PresetFolders | None = None) -> Loaded:
    """Read a configuration in YAML or JSON, with the positions of its values. It may name one of the presets.

    Raises ConfigurationError.
    """
    return _parsed(path, path.parent, presets)


def plain_values(path: Path) -> tuple[Any, Positions]:
    """Read the values of a configuration file, right or wrong. Raises ConfigurationError."""
    return read_values(read_text(path), str(path))


def read_values(text: str, name: str) -> tuple[Any, Positions]:
    """Parse YAML or JSON into plain values with the position of each key. Raises ConfigurationError."""
    from .yaml_reading import read_yaml  # With the parser: the package's presets do without.

    return read_yaml(text, name)


def _parsed(path: Path, folder: Path | None, presets: PresetFolders | None) -> Loaded:
    text = read_text(path)
    return packaged(path, text) or parse_with_positions(text, str(path), folder, presets)


@lru_cache(maxsize=32)
def packaged(path: Path, text: str) -> Loaded | None:
    """Return a preset of the package as it was written down when it was packed: with it, a run need not import the
    parser of YAML, nor learn all types. Of any other file, and of one that changed since, nothing is known."""
    known = _written_down().get(path.name, {}) if path.parent == presets_folder() else {}
    if known.get("hash") != content_hash(text):
        return None
    from .packaged.presets import PRESETS  # Here, so that it can be written anew when types have changed.

    return Loaded(str(path), known["values"], configuration=PRESETS[path.name], positions=Positions(str(path)))


@cache
def _written_down() -> dict[str, dict[str, Any]]:
    return dict(json.loads(PACKED.with_suffix(".json").read_bytes()))


def read_text(path: Path) -> str:
    """Text of a configuration file. Raises ConfigurationError."""
    try:
        with path.open(encoding="utf-8-sig", newline=None) as file:
            text = file.read(LARGEST + 1)
    except (OSError, UnicodeDecodeError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ConfigurationError(f"Cannot read the configuration {path}: {reason}.") from None
    if len(text) > LARGEST:
        raise ConfigurationError(
            f"The configuration {path} has more than {LARGEST:,} characters.", "Is it the right file?"
        )
    return text


def parse_configuration(text: str, name: str = "configuration") -> Configuration:
    """Configuration in a YAML or JSON text; keys in snake_case or camelCase. Raises ConfigurationError."""
    return parse_with_positions(text, name).configuration


def parse_with_positions(
    text: str, name: str, folder: Path | None = Path(), presets: PresetFolders | None = None
) -> Loaded:
    """As `parse_configuration`, with positions. Paths of presets are relative to the folder; without one there are
    none.
    """
    value, positions = read_values(text, name)
    if not isinstance(value, dict):
        found = "found nothing" if value is None else "and not a list or a single value"
        raise positions.error((), f"expected a mapping with keys such as passes, {found}", "See docs/configuration.md.")
    return typed_file(value, FileConfiguration, positions, folder, presets)


def typed_file(
    value: dict[str, Any],
    kind: type[FileConfiguration],
    positions: Positions,
    folder: Path | None,
    presets: PresetFolders | None = None,
) -> Loaded:
    """Read a file as this kind of struct; its other keys are checked. Raises ConfigurationError."""
    value = with_numbers(value, kind)
    faults, value, typed = _faults(value, kind, positions, ())
    found = [error for _, error in faults]
    if typed is None:
        raise all_together(found)
    preset = typed.preset
    if preset is not None and folder is None:
        raise positions.error(("preset",), "this file is used as a preset and cannot name one itself")
    known = {field.name for field in msgspec.structs.fields(Configuration)}
    own = {key: item for key, item in value.items() if key in known}
    base = None if preset is None or folder is None else _base(preset, positions, folder, presets)
    configuration = msgspec.convert(over(base, own), Configuration)
    for path, what, hint in problems(configuration):
        # What was left out because it is wrong may be missing now in what is around it.
        if not any(fault[: len(path)] == path for fault, _ in faults):
            found.append(positions.error(path, what, hint))
    if found:
        raise all_together(found)
    return Loaded(positions.name, own, base=base, configuration=configuration, positions=positions)


def _base(preset: str, positions: Positions, folder: Path, presets: PresetFolders | None) -> Loaded:
    presets = presets or PACKAGE
    try:
        path = presets.find(preset)
    except ConfigurationError as error:
        raise positions.error(("preset",), error.message.removesuffix("."), error.hint) from None
    if not (folder / path).is_file():  # Of a device there is no end.
        raise positions.error(("preset",), f"there is no file {preset}", "The path is relative to this file's folder.")
    # It must name no preset itself, or two could name each other.
    loaded = _parsed(folder / path, None, None)
    return _as_preset(loaded, preset) if preset in presets.names() else loaded


def _as_preset(loaded: Loaded, name: str) -> Loaded:
    """Return a configuration whose values come from the name of a preset, not from lines of its file."""
    return replace(loaded, title=name, source=f"preset {name}")


T = TypeVar("T", bound=Struct)


def as_typed(value: Any, kind: type[T], positions: Positions, at: KeyPath = ()) -> T:
    """Return plain values at a path of a file as a struct. Raises ConfigurationError with all mistakes."""
    value = with_numbers(value, kind)
    faults, _, typed = _faults(value, kind, positions, at)
    if faults or typed is None:
        raise all_together(error for _, error in faults)
    return typed


def _faults(
    value: Any, kind: type[T], positions: Positions, at: KeyPath
) -> tuple[list[tuple[KeyPath, ConfigurationError]], Any, T | None]:
    """Return all mistakes, each with the path that was left out to find the next; and the values without them, plain
    and as a struct, None if they are none yet.
    """
    found: list[tuple[KeyPath, ConfigurationError]] = []
    while len(found) < _MOST_FAULTS:
        try:
            return found, value, msgspec.convert(value, kind)
        except msgspec.ValidationError as error:
            value = value if found else deepcopy(value)
            explained = _explained(str(error), positions, value, kind, at)
            found.append((_leave_out(value, str(error)), explained))
            if not found[-1][0]:
                break
    return found, value, None


def _leave_out(value: Any, message: str) -> KeyPath:
    """Take the value that a message of msgspec is about out of plain values; return its path, empty if unknown.

    For a missing key that is its parent. An item of a list stays, so that the others keep their indices.
    """
    what, _, where = message.partition(" - at `$")
    unknown = _UNKNOWN.fullmatch(what)
    path = (*_steps(where), *([unknown[1]] if unknown else ()))
    while path and isinstance(path[-1], int):
        path = path[:-1]
    if not path or not is_at(value, path):
        return ()
    del value_at(value, path[:-1])[path[-1]]
    return path


def _steps(where: str) -> KeyPath:
    return tuple(key or (_ANY if index == "..." else int(index)) for key, index in _PATH_STEP.findall(where))


def _explained(message: str, positions: Positions, value: Any, root: type[Struct], at: KeyPath) -> ConfigurationError:
    """msgspec's message ("Expected `int`, got `str` - at `$.passes[0].id`") with position and a hint."""
    what, _, where = message.partition(" - at `$")
    path = _steps(where)
    unknown = _UNKNOWN.fullmatch(what)
    if unknown:
        return unknown_key(unknown[1], value, positions, root, path, at)
    missing = _MISSING.fullmatch(what)
    if missing:
        return positions.error((*at, *path), f"the key {missing[1]!r} is missing")
    if what.startswith("Invalid enum value"):
        found, choices = value_at(value, path), _choices_at(root, path)
        near = nearest(str(found), choices)
        hint = f"Did you mean {near}?" if near else ""
        return positions.error((*at, *path), f"{quoted(found)} is not one of {', '.join(choices)}", hint)
    percent = percent_in(str(value_at(value, path))) if path == ("target_tokens",) else None
    if percent is not None and 0 < percent < 100:
        hint = f"Percentages: `target_reduction_percent: {100 - percent:g}` cuts down to {percent:g}%."
        return positions.error((*at, *path), in_words(what), hint)
    keys = sorted(fields_at(root, path)) if what.startswith("Expected `object`") else []
    return positions.error((*at, *path), in_words(what), f"Its keys: {', '.join(keys)}." if keys else "")


def in_words(what: str) -> str:
    """Return an error of msgspec in plain words."""
    match = _EXPECTED.fullmatch(what)
    if not match:
        return what[0].lower() + what[1:].replace("`", "")
    wanted = [_WORDS.get(kind, kind) for kind in match["wanted"].split(" | ") if kind != "null"]
    text = f"expected {' or '.join(wanted)}"
    if match["bound"]:
        text += f" {_BOUNDS[match['bound']]} {match['limit']}"
    return f"{text}, got {_WORDS.get(match['got'], match['got'])}" if match["got"] else text


def _choices_at(root: type[Struct], path: KeyPath) -> list[str]:
    literals = [kind for kind in types_at(root, path) if get_origin(kind) is Literal]
    return [choice for kind in literals for choice in get_args(kind) if choice != NOT_IN_FILES]


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
        return _as_preset(loaded, name) if self._file(name) else loaded


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
