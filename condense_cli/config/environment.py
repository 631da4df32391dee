"""Settings from environment variables, as typed values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

import msgspec
from msgspec import Struct

from ..core.wording import quoted
from ..errors import ConfigurationError
from .loading import Loaded, in_words, over
from .models import FileConfiguration
from .positions import KeyPath
from .presets import Presets
from .variables import given_in, variable_of


class Variables(Struct, frozen=True):
    """What the variables say; `base` is the preset that one of them names."""

    value: dict[str, Any]
    base: Loaded | None = None

    @property
    def title(self) -> str:
        return "CONDENSE_* variables"

    @property
    def values(self) -> dict[str, Any]:
        return over(self.base, self.value)

    def origin(self, path: KeyPath) -> str | None:
        if path[0] in self.value:
            return variable_of(str(path[0]))
        return self.base.origin(path) if self.base else None


def read_variables(environment: Mapping[str, str], presets: Presets) -> Variables | None:
    """The variables that say something; None where none does. Raises ConfigurationError."""
    given = given_in(environment)
    if not given:
        return None
    types = {field.name: field.type for field in msgspec.structs.fields(FileConfiguration)}
    values = {key: _typed(key, text, types[key]) for key, text in given.items()}
    preset = values.pop("preset", None)
    return Variables(values, presets.named(preset) if preset else None)


def _typed(key: str, text: str, kind: Any) -> Any:
    try:
        return msgspec.convert(text, kind, strict=False)
    except msgspec.ValidationError as error:
        choices = get_args(kind)
        if str(error).startswith("Invalid enum value"):
            what = f"{quoted(text)} is not one of {', '.join(choices)}"
        else:
            what = f"{in_words(str(error)).partition(', got')[0]}, not {quoted(text)}"
        raise ConfigurationError(f"{variable_of(key)}: {what}.") from None
