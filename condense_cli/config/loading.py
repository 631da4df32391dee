"""Reading a configuration file (YAML or JSON), with file, line and column in every error."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, get_args

import msgspec
import yaml

from ..errors import ConfigurationError
from .checks import problems
from .models import Configuration

_PATH_STEP: Final = re.compile(r"\.([A-Za-z_][A-Za-z0-9_]*)|\[(\d+|\.\.\.)\]")
_PLAIN_TAGS: Final = frozenset(f"tag:yaml.org,2002:{tag}" for tag in ("null", "bool", "int", "float", "str"))
_MAX_DEPTH: Final = 50

KeyPath = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Positions:
    """Line and column (from 1) of every key and value of a file, by its path."""

    name: str
    marks: dict[KeyPath, tuple[int, int]]

    def error(self, path: KeyPath, what: str, hint: str = "") -> ConfigurationError:
        known = path
        while known not in self.marks and known:
            known = known[:-1]
        line, column = self.marks.get(known, (1, 1))
        where = f" at {_spell(path)}" if path else ""
        return ConfigurationError(f"{self.name}:{line}:{column}: {what}{where}.", hint)


def load_configuration(path: Path) -> Configuration:
    """Configuration in a YAML or JSON file. Raises ConfigurationError."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ConfigurationError(f"Cannot read the configuration {path}: {reason}.") from None
    return parse_configuration(text, str(path))


def parse_configuration(text: str, name: str = "configuration") -> Configuration:
    """Configuration in a YAML or JSON text; keys in snake_case or camelCase. Raises ConfigurationError."""
    value, positions = _read_yaml(text, name)
    if not isinstance(value, dict):
        raise positions.error((), "expected a mapping with keys such as passes", "See `condense presets`.")
    try:
        configuration = msgspec.convert(value, Configuration)
    except msgspec.ValidationError as error:
        raise _explained(str(error), positions, value) from None
    for path, what, hint in problems(configuration):
        raise positions.error(path, what, hint)
    return configuration


def _read_yaml(text: str, name: str) -> tuple[Any, Positions]:
    """Plain values and their positions. JSON is read as YAML, which contains it."""
    positions = Positions(name, {})
    loader = _loader()(text)
    try:
        node = loader.get_single_node()
        return _build(node, (), positions, loader), positions
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        what = error.problem or error.context or "cannot be read"
        hint = "Indent with spaces: YAML allows no tabs." if "\\t" in what else ""
        raise ConfigurationError(f"{name}:{line}:{column}: not valid YAML ({what}).", hint) from None
    except (yaml.YAMLError, RecursionError) as error:
        reason = str(error).splitlines()[0] if str(error) else "it is nested too deeply"
        raise ConfigurationError(f"{name}: not valid YAML ({reason}).") from None
    finally:
        loader.dispose()


def _loader() -> Any:
    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _build(node: yaml.Node | None, path: KeyPath, positions: Positions, loader: Any) -> Any:
    if node is None:
        return {}
    positions.marks.setdefault(path, (node.start_mark.line + 1, node.start_mark.column + 1))
    if len(path) > _MAX_DEPTH:
        raise positions.error(path[:3], "nested too deeply")
    if isinstance(node, yaml.MappingNode):
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = _snake_case(str(key_node.value))
            positions.marks[(*path, key)] = (key_node.start_mark.line + 1, key_node.start_mark.column + 1)
            if key in result:
                raise positions.error((*path, key), "the key is given twice")
            result[key] = _build(value_node, (*path, key), positions, loader)
        return result
    if isinstance(node, yaml.SequenceNode):
        return [_build(item, (*path, index), positions, loader) for index, item in enumerate(node.value)]
    if node.tag not in _PLAIN_TAGS:
        raise positions.error(path, f"the tag {node.tag} is not allowed", "Only plain values are read from a file.")
    return loader.construct_object(node)


def _snake_case(key: str) -> str:
    return re.sub(r"(?<=[a-z0-9])[A-Z]", lambda match: "_" + match.group().lower(), key)


def _spell(path: KeyPath) -> str:
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return text.removeprefix(".")


def _explained(message: str, positions: Positions, value: Any) -> ConfigurationError:
    """msgspec's message ("Expected `int`, got `str` - at `$.passes[0].id`") with position and a hint."""
    what, _, where = message.partition(" - at `$")
    path: KeyPath = tuple(
        key if key else (-1 if index == "..." else int(index)) for key, index in _PATH_STEP.findall(where)
    )
    unknown = re.fullmatch(r"Object contains unknown field `(.*)`", what)
    if unknown:
        key = unknown[1]
        known = sorted(_fields_at(path))
        near = difflib.get_close_matches(key, known, n=1)
        hint = f"Did you mean {near[0]}?" if near else f"Known keys: {', '.join(known)}."
        return positions.error((*path, key), f"unknown key {key!r}", hint)
    missing = re.fullmatch(r"Object missing required field `(.*)`", what)
    if missing:
        return positions.error(path, f"the key {missing[1]!r} is missing")
    what = what[0].lower() + what[1:]
    found = _at(value, path)
    choices = _choices_at(path) if what.startswith("invalid enum value") else ()
    if choices:
        near = difflib.get_close_matches(str(found), choices, n=1)
        what = f"{found!r} is not one of {', '.join(choices)}"
        return positions.error(path, what, f"Did you mean {near[0]}?" if near else "")
    return positions.error(path, what.replace("`", ""))


def _at(value: Any, path: KeyPath) -> Any:
    for step in path:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def _types_at(path: KeyPath) -> Iterator[Any]:
    """The declared types at a path of the configuration."""
    types: list[Any] = [Configuration]
    for step in path:
        following: list[Any] = []
        for kind in types:
            if isinstance(step, int):
                following += [item for item in get_args(kind) if item is not Ellipsis]
            elif isinstance(kind, type) and issubclass(kind, msgspec.Struct):
                following += [field.type for field in msgspec.structs.fields(kind) if field.name == step]
        types = [part for kind in following for part in _union(kind)]
    yield from types


def _union(kind: Any) -> list[Any]:
    arguments = get_args(kind)
    if arguments and type(kind).__name__ in ("UnionType", "_UnionGenericAlias"):
        return [part for argument in arguments for part in _union(argument)]
    return [kind]


def _fields_at(path: KeyPath) -> list[str]:
    return [
        field.name
        for kind in _types_at(path)
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct)
        for field in msgspec.structs.fields(kind)
    ]


def _choices_at(path: KeyPath) -> list[str]:
    return [
        choice for kind in _types_at(path) if type(kind).__name__ == "_LiteralGenericAlias" for choice in get_args(kind)
    ]
