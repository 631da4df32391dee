"""Edit a configuration: a form made from its schema, and edits that each give a new text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final, Literal

import yaml
from msgspec import Struct
from msgspec.structs import replace

from ..config.effective import configuration_schema
from ..config.loading import Loaded
from ..config.positions import KeyPath, is_at, value_at
from ..config.yaml_editing import ConfigurationDocument, in_line
from ..core.wording import plural
from ..errors import ConfigurationError, UsageError
from .choice import Configurations

Kind = Literal["choice", "switch", "number", "text", "texts", "yaml", "section"]
_PATH: Final = re.compile(r" at ([A-Za-z_][\w.\[\]]*)\.$", re.MULTILINE)
_STEP: Final = re.compile(r"([A-Za-z_]\w*)|\[(\d+)\]")
_PLACE: Final = re.compile(r"^.*?:\d+:\d+: ")


class Field(Struct, frozen=True):
    """A setting: its path, its depth in the form, its kind, its value, and if the file sets it.

    A section has settings of its own; one that `may_be_absent` exists only if the file has it.
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
        """The value as YAML."""
        if self.kind == "section":
            return "" if self.is_set or not self.may_be_absent else "(none)"
        if self.kind == "text":
            return " ".join(str(self.value or "").split())
        return "" if self.value is None else in_line(self.value)

    @property
    def expects(self) -> str:
        """Description of allowed values."""
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
    """A fault of a configuration, and its place."""

    path: KeyPath
    said: str

    @classmethod
    def of(cls, message: str, hint: str = "") -> FieldFault:
        """Read the place from an error of the loader."""
        found = _PATH.search(message)
        path: KeyPath = ()
        if found:
            path = tuple(name or int(number) for name, number in _STEP.findall(found[1]))
        return cls(path, f"{_PLACE.sub('', message)} {hint}".rstrip())


_schema: Final = cache(configuration_schema)


class _Shape(Struct, frozen=True):
    """Schema of a value, references resolved and null taken out."""

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
    """Return the schema of the value at a path."""
    schema = _shape({"$ref": _schema()["$ref"]}).schema
    for step in path:
        schema = _shape(schema["items"] if isinstance(step, int) else schema["properties"][step]).schema
    return schema


def sections_of_whole() -> list[str]:
    """List the keys of a configuration that have settings of their own, except the passes."""
    properties = _at(())["properties"]
    return [key for key, schema in properties.items() if "properties" in _shape(schema).schema]


def fields(path: KeyPath, values: Mapping[str, Any]) -> list[Field]:
    """Return the form of the value at a path; for the whole configuration only settings that are no sections."""
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
    """Return the line of a form that shows a fault: the innermost setting around it."""
    if fault is None:
        return None
    fitting = [number for number, field in enumerate(found) if fault.path[: len(field.path)] == field.path]
    return max(fitting, key=lambda number: len(found[number].path), default=None)


_RECENT: Final = {"type": "preserve_recent", "keep_recent_count": 5}
TEMPLATES: Final[dict[str, dict[str, Any]]] = {
    "extract": {"selection": _RECENT, "mode": "extract", "extract_config": {"min_worth": 0.3}},
    "individual": {
        "selection": _RECENT,
        "mode": "individual",
        "individual_config": {
            "defaults": {"tool_results": {"operation": "truncate", "params": {"truncate": {"max_lines": 5}}}}
        },
    },
    "batch": {"selection": _RECENT, "mode": "batch", "batch_config": {"operation": "summarize"}},
    "target": {"mode": "target"},
}
"""A working pass of each mode."""


class EditedPart(Struct, frozen=True):
    """A part of the configuration with a form: its path and title."""

    path: KeyPath
    title: str

    @property
    def index(self) -> int | None:
        """Number of a pass; None for other parts."""
        return self.path[1] if len(self.path) == 2 and isinstance(self.path[1], int) else None


class Edited:
    """The text of a configuration, parsed. Immutable; `fault` is None if it is valid."""

    def __init__(self, text: str, configurations: Configurations) -> None:
        """Raises ConfigurationError if the text is not a YAML mapping, which cannot be edited."""
        self._configurations = configurations
        self.document = ConfigurationDocument(text)
        self.fault: FieldFault | None = None
        self.loaded: Loaded | None = None
        try:
            self.loaded = configurations.loaded(text, "configuration")
        except ConfigurationError as error:
            self.fault = FieldFault.of(error.message, error.hint)

    @property
    def text(self) -> str:
        return self.document.text

    @property
    def values(self) -> dict[str, Any]:
        """Values of the text, with the passes of its preset if it has none."""
        values = self.document.value
        if "passes" not in values and self.loaded is not None and self.loaded.base is not None:
            return {**values, "passes": self.loaded.base.values.get("passes", [])}
        return values

    @property
    def passes(self) -> list[dict[str, Any]]:
        passes = self.values.get("passes")
        return passes if isinstance(passes, list) else []

    def parts(self) -> list[EditedPart]:
        """List the whole configuration, each pass, and the sections, those that are set first."""
        passes = [EditedPart(("passes", index), pass_title(config)) for index, config in enumerate(self.passes)]
        sections = sorted(sections_of_whole(), key=lambda key: key not in self.values)
        return [
            EditedPart((), "Configuration"),
            *passes,
            *(EditedPart((key,), key.replace("_", " ")) for key in sections),
        ]

    def form(self, part: EditedPart) -> list[Field]:
        """Return the form of a part; settings that name something offer the known names."""
        return [self._of_names(field) for field in fields(part.path, self.values)]

    def _of_names(self, field: Field) -> Field:
        names = self._configurations.known(field.name) if field.kind == "text" else ()
        return replace(field, kind="choice", choices=names) if names else field

    def with_value(self, path: KeyPath, value: Any) -> Edited:
        return self._of(self._owning(path).with_value(path, value))

    def without(self, path: KeyPath) -> Edited:
        return self._of(self._owning(path).without(path))

    def with_pass(self, index: int, mode: str) -> Edited:
        """Add a pass of a mode before the one at an index."""
        known = {config.get("id") for config in self.passes if isinstance(config, dict)}
        pass_id = next(name for number in range(1, 10_000) if (name := f"{mode}-{number}") not in known)
        return self._of(self._owning(("passes",)).with_item(("passes",), index, {"id": pass_id, **TEMPLATES[mode]}))

    def with_moved(self, index: int, to: int) -> Edited:
        return self._of(self._owning(("passes",)).with_moved(("passes",), index, to))

    def switched(self, index: int) -> Edited:
        """Switch a pass off, or on again."""
        path = ("passes", index, "enabled")
        return self.with_value(path, False) if is_enabled(self.passes[index]) else self.without(path)

    def typed(self, field: Field, text: str) -> Edited:
        """Set a setting as typed. Raises UsageError for an invalid value."""
        try:
            value = _value_of(field, text)
            edited = self.with_value(field.path, value)
        except (ConfigurationError, yaml.YAMLError) as error:
            raise UsageError(f"{text!r} cannot be read ({str(error).splitlines()[0]}).") from None
        fault = edited.fault
        if fault is not None and fault.path[: len(field.path)] == field.path:
            raise UsageError(fault.said)
        return edited

    def _owning(self, path: KeyPath) -> ConfigurationDocument:
        """Return the document, with its preset's passes written out if one of them is to be edited."""
        is_of_preset = path[0] == "passes" and "passes" not in self.document.value and self.passes
        return self.document.with_value(("passes",), self.passes) if is_of_preset else self.document

    def _of(self, document: ConfigurationDocument) -> Edited:
        return Edited(document.text, self._configurations)


def pass_title(config: Any) -> str:
    """Return the name of a pass in the list."""
    if not isinstance(config, dict):
        return "?"
    return str(config.get("id", "?"))


def pass_settings(config: Mapping[str, Any]) -> str:
    """Describe the mode of a pass and when it runs, with its threshold."""
    mode = str(config.get("mode", "individual"))
    execution = config.get("execution", {})
    if not isinstance(execution, Mapping):  # What is edited may be invalid.
        return f"{mode} · ?"
    condition = execution.get("condition") or {}
    kind = "target" if mode == "target" else execution.get("type", "always")
    when = {"target": "with a target", "conditional": f"if > {_threshold(condition)} tokens"}
    return f"{mode} · {when.get(kind, kind)}"


def _threshold(condition: Any) -> str:
    value = condition.get("token_threshold") if isinstance(condition, Mapping) else None
    return f"{value:,}" if isinstance(value, int) else "?"


def is_enabled(config: Any) -> bool:
    return not isinstance(config, dict) or config.get("enabled", True) is not False


def _value_of(field: Field, text: str) -> Any:
    """Parse what was typed for a field. Raises YAMLError, UsageError."""
    match field.kind:
        case "text" | "choice":
            return text
        case "texts":
            return [part.strip() for part in text.split(",") if part.strip()] if "[" not in text[:1] else _yaml(text)
        case _:
            return _yaml(text)


def _yaml(text: str) -> Any:
    value = ConfigurationDocument(f"value: {text}\n").value
    if len(value) != 1:
        raise UsageError(f"{text!r} is more than one value.")
    return value_at(value, ("value",))


def fault_text(fault: FieldFault | None, passes: int) -> str:
    """Describe in a line if a configuration is valid."""
    return f"valid: {plural(passes, 'pass', 'passes')}" if fault is None else f"! {fault.said}"
