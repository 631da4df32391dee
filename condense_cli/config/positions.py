"""Paths of keys in plain values and in files, and which known key an unknown one meant."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, get_args, get_origin

import msgspec
from msgspec import Struct, field

from ..core.wording import brief, nearest, quoted
from ..errors import ConfigurationError
from .base import LIMITS, parts_of

KeyPath = tuple[str | int, ...]
_LONGEST: Final = 200
"""Characters of a path in a message."""


class Positions(Struct, frozen=True):
    """Line and column (from 1) of every key of a file by its path, and the key's spelling in the file.

    Values from outside a file have only the name of their source.
    """

    name: str
    marks: dict[KeyPath, tuple[int, int]] = field(default_factory=dict)
    spellings: dict[KeyPath, str] = field(default_factory=dict)
    is_file: bool = True

    def mark(self, path: KeyPath) -> tuple[int, int]:
        """Return line and column of a key, or of the nearest one around it: values behind an alias have none."""
        while path and path not in self.marks:
            path = path[:-1]
        return self.marks.get(path, (1, 1))

    def place(self, path: KeyPath) -> str:
        """File and line of a key."""
        return f"{self.name}:{self.mark(path)[0]}"

    def error(self, path: KeyPath, what: str, hint: str = "") -> ConfigurationError:
        line, column = self.mark(path)
        steps = [path[: length + 1] for length in range(len(path))]
        text = "".join(f"[{step[-1]}]" if isinstance(step[-1], int) else f".{self.spelling(step)}" for step in steps)
        spelled = text.removeprefix(".")
        is_said = not self.is_file and spelled in self.name  # As in "--set max_lines=3".
        where = f" at {brief(spelled, _LONGEST)}" if path and not is_said else ""
        place = f"{self.name}:{line}:{column}" if self.is_file else self.name
        return ConfigurationError(f"{place}: {what}{where}.", hint)

    def spelling(self, path: KeyPath) -> str:
        return self.spellings.get(path, str(path[-1]) if path else "")


def spelled(path: KeyPath) -> str:
    """Return the path as errors spell it: passes[0].selection.type."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")


def value_at(value: Any, path: KeyPath) -> Any:
    """Return the value at a path of plain values, or None."""
    for step in path:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def is_at(value: Any, path: KeyPath) -> bool:
    """Whether there is a value at the path."""
    around = value_at(value, path[:-1])
    if isinstance(around, dict):
        return path[-1] in around
    return isinstance(around, list) and isinstance(path[-1], int) and path[-1] < len(around)


def snake_case(key: str) -> str:
    return re.sub(r"(?<=[a-z0-9])[A-Z]", lambda match: "_" + match.group().lower(), key)


_HINT_USER: Final = (
    "A preset or project file must not decide where transcripts are sent. "
    "It may name a profile: `profile: NAME`. See docs/models.md."
)
_OF_THE_USER: Final = {
    **dict.fromkeys(("profiles", "allow_calls", "base_url", "key_variable"), _HINT_USER),
    **dict.fromkeys(LIMITS, "Limits of calls are set in your own configuration. See docs/models.md."),
    "providers": "It may name a provider, `provider: NAME`, with its settings. See docs/configuration.md.",
}
_OF_ROO_CODE: Final = {
    "profile_thresholds": "Your own configuration has it for each profile: `profiles: {NAME: {threshold: 80}}`.",
    "condensing_api_config_id": "It is called `profile: NAME` here, or `native: {api_profile: NAME}`.",
    "custom_condensing_prompt": "It is called `native: {custom_prompt: ...}` here.",
}
"""Settings of Roo Code that have other names here."""
_SELECTORS: Final = {
    "keep_recent": "keep: [last:{}]",
    "keep_last": "keep: [last:{}]",
    "pin": "keep: [/{}/]",
    "except_tools": "keep: [tool:{}]",
    "only_tools": "keep: [not:tool:{}]",
    "range": "keep: [not:{}]",
}
"""The hint for a selector at the top of a configuration."""
_DEEPEST: Final = 9


def unknown_key(
    key: str, value: Any, positions: Positions, root: type[Struct], inside: KeyPath, at: KeyPath
) -> ConfigurationError:
    """Return the error for an unknown key `inside` a part of the file's plain `value`."""
    path = (*inside, key)
    spelled = positions.spelling((*at, *path))
    if "profiles" not in root.__struct_fields__ and key in _OF_THE_USER:
        what = f"the key {quoted(spelled)} belongs in your own configuration only"
        return positions.error(path, what, _OF_THE_USER[key])
    given = value_at(value, path)
    return positions.error((*at, *path), f"unknown key {quoted(spelled)}", _hint(key, given, root, inside))


def _hint(key: str, given: Any, root: type[Struct], inside: KeyPath) -> str:
    if key in _OF_ROO_CODE:
        return _OF_ROO_CODE[key]
    is_short = isinstance(given, str | int | float) and len(str(given)) < 40
    shown = str(given).lower() if isinstance(given, bool) else str(given) if is_short else "..."
    if not inside and key in _SELECTORS:
        return f"Did you mean `{_SELECTORS[key].format(shown)}`?"
    known = sorted(fields_at(root, inside))
    deeper = next((path for kind in types_at(root, inside) for path in _paths_to(key, kind)), None)
    if deeper is not None:
        return f"It belongs deeper: `{_shape(deeper, shown)}`."
    near = nearest(key, known)
    whole = next(_paths_to(key, root), None)
    if whole is not None:
        return f"It belongs elsewhere: `{_shape(whole, shown)}`."
    return f"Did you mean {near}?" if near else f"Known keys: {', '.join(known)}."


def _paths_to(key: str, root: Any) -> Iterator[tuple[str, ...]]:
    """Return the paths of keys with that name below a type, the shortest first; `[]` is an element of a list."""
    level: list[tuple[tuple[str, ...], Any]] = [((), root)]
    for _ in range(_DEEPEST):
        following: list[tuple[tuple[str, ...], Any]] = []
        for path, kind in level:
            for part in parts_of(kind):
                if isinstance(part, type) and issubclass(part, Struct):
                    # Whoever looks for an operation most often means that of results.
                    fields = sorted(msgspec.structs.fields(part), key=lambda field: field.name != "tool_results")
                    for field in fields:
                        if field.name == key:
                            yield (*path, key)
                        following.append(((*path, field.name), field.type))
                elif get_origin(part) is tuple:
                    following.append(((*path, "[]"), get_args(part)[0]))
        level = following


def _shape(path: tuple[str, ...], value: str) -> str:
    """Return a value at a path as YAML in one line."""
    text = value
    for number, step in reversed([*enumerate(path)]):
        inner = f"{step}: {text}"
        text = f"[{text}]" if step == "[]" else inner if number == 0 else f"{{{inner}}}"
    return text


def types_at(root: type[Struct], path: KeyPath) -> Iterator[Any]:
    """Return the declared types at a path of the configuration."""
    types: list[Any] = [root]
    for step in path:
        following: list[Any] = []
        for kind in types:
            if isinstance(step, int):
                following += [item for item in get_args(kind) if item is not Ellipsis]
            elif isinstance(kind, type) and issubclass(kind, msgspec.Struct):
                following += [field.type for field in msgspec.structs.fields(kind) if field.name == step]
        types = [part for kind in following for part in parts_of(kind)]
    yield from types


def fields_at(root: type[Struct], path: KeyPath) -> list[str]:
    """Return the keys that are known at a path of the configuration."""
    return [
        field.name
        for kind in types_at(root, path)
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct)
        for field in msgspec.structs.fields(kind)
    ]
