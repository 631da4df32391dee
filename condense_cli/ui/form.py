"""The settings of a part of a configuration as a form, made from the schema: one field in each line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final, Literal

from msgspec import Struct

from ..config.effective import configuration_schema
from ..config.positions import KeyPath, is_at, value_at
from ..config.yaml_editing import in_line

Kind = Literal["choice", "switch", "number", "text", "texts", "yaml", "section"]
_PATH: Final = re.compile(r" at ([A-Za-z_][\w.\[\]]*)\.$", re.MULTILINE)
_STEP: Final = re.compile(r"([A-Za-z_]\w*)|\[(\d+)\]")
_PLACE: Final = re.compile(r"^.*?:\d+:\d+: ")


class Field(Struct, frozen=True):
    """A setting: where it is, how deep in the form, what it takes, its value, and whether the file says that.

    A section has settings of its own; one that `may_be_absent` is there only where the file has it.
    """

    path: KeyPath
    depth: int
    kind: Kind
    value: Any
    default: Any
    is_set: bool
    choices: tuple[str, ...] = ()
    about: str = ""
    may_be_absent: bool = False

    @property
    def name(self) -> str:
        return str(self.path[-1])

    @property
    def shown(self) -> str:
        """The value as it is written in YAML."""
        if self.kind == "section":
            return "" if self.is_set or not self.may_be_absent else "(none)"
        if self.kind == "text":
            return " ".join(str(self.value or "").split())
        return "" if self.value is None else in_line(self.value)

    @property
    def expects(self) -> str:
        """What may be given, for people."""
        match self.kind:
            case "choice":
                wanted = "one of " + ", ".join(self.choices)
            case "switch":
                wanted = "true or false"
            case "texts":
                wanted = "texts with commas between them" + (f": {', '.join(self.choices)}" if self.choices else "")
            case "section":
                wanted = "settings of its own" if not self.may_be_absent else "Enter adds it, Delete removes it"
            case other:
                wanted = {"number": "a number", "text": "a text"}.get(other, "YAML in one line")
        default = "" if self.kind == "section" or self.default is None else f"; default {in_line(self.default)}"
        return f"{self.about} ({wanted}{default})" if self.about else f"{wanted}{default}"


class FieldFault(Struct, frozen=True):
    """What is wrong with a configuration, and where."""

    path: KeyPath
    said: str

    @classmethod
    def of(cls, message: str, hint: str = "") -> FieldFault:
        """The fault that an error of the loader tells."""
        found = _PATH.search(message)
        path: KeyPath = ()
        if found:
            path = tuple(name or int(number) for name, number in _STEP.findall(found[1]))
        return cls(path, f"{_PLACE.sub('', message)} {hint}".rstrip())


@cache
def _schema() -> dict[str, Any]:
    return configuration_schema()


class _Shape(Struct, frozen=True):
    """What the schema says of a value, without references and without null."""

    schema: Mapping[str, Any]
    may_be_null: bool


def _shape(schema: Mapping[str, Any]) -> _Shape:
    options = schema.get("anyOf", [])
    may_be_null = {"type": "null"} in options
    if options:
        rest = [option for option in options if option != {"type": "null"}]
        schema = {**(rest[0] if len(rest) == 1 else {}), **{k: v for k, v in schema.items() if k != "anyOf"}}
    reference = schema.get("$ref")
    if reference:
        schema = {**_schema()["$defs"][reference.rpartition("/")[2]], **schema}
    return _Shape(schema, may_be_null)


def _at(path: KeyPath) -> Mapping[str, Any]:
    """The schema of the value at a path."""
    schema = _shape({"$ref": _schema()["$ref"]}).schema
    for step in path:
        schema = _shape(schema["items"] if isinstance(step, int) else schema["properties"][step]).schema
    return schema


def sections_of_whole() -> list[str]:
    """The keys of a configuration that have settings of their own, but for the passes."""
    properties = _at(())["properties"]
    return [key for key, schema in properties.items() if "properties" in _shape(schema).schema]


def fields(path: KeyPath, values: Mapping[str, Any]) -> list[Field]:
    """The form of what is at a path: for the whole configuration the settings that are no sections."""
    left_out = {"passes", *sections_of_whole()} if not path else set()
    return list(_fields(path, values, 0, left_out))


def _fields(path: KeyPath, values: Mapping[str, Any], depth: int, left_out: set[str]) -> Iterator[Field]:
    schema = _at(path)
    required = set(schema.get("required", ()))
    names = [name for name in schema["properties"] if name not in left_out]
    for name in names:
        yield from _field((*path, name), values, depth, is_required=name in required)


def _field(path: KeyPath, values: Mapping[str, Any], depth: int, *, is_required: bool) -> Iterator[Field]:
    schema = _at(path[:-1])["properties"][path[-1]]
    shape = _shape(schema)
    is_set = is_at(values, path)
    default = schema.get("default")
    value = value_at(values, path) if is_set else default
    kind = _kind(shape.schema)
    about = " ".join(str(shape.schema.get("description", "")).split()) if kind == "section" else ""
    absent = kind == "section" and not is_required and (shape.may_be_null or "default" not in schema)
    choices = tuple(shape.schema.get("enum") or shape.schema.get("items", {}).get("enum") or ())
    yield Field(path, depth, kind, value, default, is_set, choices, about, absent)
    if kind == "section" and (is_set or not absent) and (value is None or isinstance(value, Mapping)):
        yield from _fields(path, values, depth + 1, set())


def _kind(schema: Mapping[str, Any]) -> Kind:
    if "enum" in schema:
        return "choice"
    match schema.get("type"):
        case "object" if "properties" in schema:
            return "section"
        case "boolean":
            return "switch"
        case "integer" | "number":
            return "number"
        case "string":
            return "text"
        case "array" if schema["items"].get("type") == "string" or "enum" in schema["items"]:
            return "texts"
        case _:
            return "yaml"


def fault_at(fault: FieldFault | None, found: Sequence[Field]) -> int | None:
    """The line of a form where a fault is shown: that of the nearest setting around it."""
    if fault is None:
        return None
    fitting = [number for number, field in enumerate(found) if fault.path[: len(field.path)] == field.path]
    return max(fitting, key=lambda number: len(found[number].path), default=None)
