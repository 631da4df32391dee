"""A configuration that is edited: its parts, and what a key does to them. Every edit gives another text."""

from __future__ import annotations

from typing import Any, Final

import yaml
from msgspec import Struct
from msgspec.structs import replace

from ..config.loading import Loaded
from ..config.positions import KeyPath, value_at
from ..config.yaml_editing import ConfigurationDocument
from ..core.wording import plural
from ..errors import ConfigurationError, UsageError
from .configurations import Configurations
from .form import Field, FieldFault, fields, sections_of_whole

_RECENT: Final = {"type": "preserve_recent", "keep_recent_count": 5}
TEMPLATES: Final[dict[str, dict[str, Any]]] = {
    "extract": {"selection": _RECENT, "mode": "extract", "extract_config": {"min_worth": 0.18}},
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
"""A pass of each mode that works as it is."""


class EditedPart(Struct, frozen=True):
    """A part of the configuration that has a form: where it is, and what it is called."""

    path: KeyPath
    title: str

    @property
    def index(self) -> int | None:
        """The number of a pass; None for other parts."""
        return self.path[1] if len(self.path) == 2 and isinstance(self.path[1], int) else None


class Edited:
    """The text of a configuration, and what it comes to. Immutable; `fault` is None where it is valid."""

    def __init__(self, text: str, configurations: Configurations) -> None:
        """Raises ConfigurationError where the text is no YAML mapping: nothing could be edited."""
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
        """The values of the text, with the passes of its preset where it has none of its own."""
        values = self.document.value
        if "passes" not in values and self.loaded is not None and self.loaded.base is not None:
            return {**values, "passes": self.loaded.base.values.get("passes", [])}
        return values

    @property
    def passes(self) -> list[dict[str, Any]]:
        passes = self.values.get("passes")
        return passes if isinstance(passes, list) else []

    def parts(self) -> list[EditedPart]:
        """The whole, each pass, and the sections, those that are set first."""
        passes = [EditedPart(("passes", index), pass_title(config)) for index, config in enumerate(self.passes)]
        sections = sorted(sections_of_whole(), key=lambda key: key not in self.values)
        return [
            EditedPart((), "Configuration"),
            *passes,
            *(EditedPart((key,), key.replace("_", " ")) for key in sections),
        ]

    def form(self, part: EditedPart) -> list[Field]:
        """The form of a part; a text that names something is one of the names that there are."""
        return [self._of_names(field) for field in fields(part.path, self.values)]

    def _of_names(self, field: Field) -> Field:
        names = self._configurations.known(field.name) if field.kind == "text" else ()
        return replace(field, kind="choice", choices=names) if names else field

    def with_value(self, path: KeyPath, value: Any) -> Edited:
        return self._of(self._owning(path).with_value(path, value))

    def without(self, path: KeyPath) -> Edited:
        return self._of(self._owning(path).without(path))

    def with_pass(self, index: int, mode: str) -> Edited:
        """One more pass of a mode, in front of the one at an index."""
        known = {config.get("id") for config in self.passes if isinstance(config, dict)}
        pass_id = next(name for number in range(1, 10_000) if (name := f"{mode}-{number}") not in known)
        return self._of(self._owning(("passes",)).with_item(("passes",), index, {"id": pass_id, **TEMPLATES[mode]}))

    def with_moved(self, index: int, to: int) -> Edited:
        return self._of(self._owning(("passes",)).with_moved(("passes",), index, to))

    def switched(self, index: int) -> Edited:
        """The same with a pass switched off, or on again."""
        path = ("passes", index, "enabled")
        return self.with_value(path, False) if is_enabled(self.passes[index]) else self.without(path)

    def typed(self, field: Field, text: str) -> Edited:
        """The same with a setting as somebody typed it. Raises UsageError where it cannot be that."""
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
        """The document, with the passes of its preset written out where one of them is to be edited."""
        is_of_preset = path[0] == "passes" and "passes" not in self.document.value and self.passes
        return self.document.with_value(("passes",), self.passes) if is_of_preset else self.document

    def _of(self, document: ConfigurationDocument) -> Edited:
        return Edited(document.text, self._configurations)


def pass_title(config: Any) -> str:
    """What a pass is called in the list."""
    if not isinstance(config, dict):
        return "?"
    return str(config.get("id", "?"))


def is_enabled(config: Any) -> bool:
    return not isinstance(config, dict) or config.get("enabled", True) is not False


def _value_of(field: Field, text: str) -> Any:
    """What a person typed as the value that it is meant to be. Raises YAMLError, UsageError."""
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
    """Whether a configuration is valid, in a line."""
    return f"valid: {plural(passes, 'pass', 'passes')}" if fault is None else f"! {fault.said}"
