"""Settings in environment variables: `CONDENSE_` and a key that one word can say, or a limit of calls."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Final, get_args, get_origin

import msgspec
from msgspec import Struct

from ..core.wording import count_in, nearest, quoted
from ..errors import ConfigurationError
from .base import DOLLARS, HINTS, LIMITS, Limits, dollars_in, parts_of, types_of
from .loading import Loaded, in_words, over
from .models import FileConfiguration
from .positions import KeyPath
from .presets import Presets

_PREFIX: Final = "CONDENSE_"
_OTHERS: Final = tuple(f"{_PREFIX}{name}" for name in ("DEBUG", "COMPACT", "COMPACT_TOKENS"))


@cache
def keys() -> tuple[str, ...]:
    """Return the keys of a configuration that a variable can give: those that are no mapping and no list."""
    return tuple(
        key
        for key, kind in types_of(FileConfiguration).items()
        if key not in ("name", "description") and all(map(_is_plain, parts_of(kind)))
    )


def _is_plain(kind: Any) -> bool:
    if get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    return get_origin(kind) not in (tuple, list, dict) and not (isinstance(kind, type) and issubclass(kind, Struct))


def variable_of(key: str) -> str:
    return f"{_PREFIX}{key.upper()}"


def has_variables(environment: Mapping[str, str]) -> bool:
    """Whether a variable gives a key of the configuration. An empty one gives nothing."""
    return bool(_given(environment))


def _given(environment: Mapping[str, str]) -> dict[str, str]:
    if not any(name.startswith(_PREFIX) for name in environment):  # The usual case.
        return {}
    return {key: text for key in keys() if (text := environment.get(variable_of(key), "").strip())}


def unknown_variables(environment: Mapping[str, str]) -> list[str]:
    """Return a sentence for each variable whose name is nearly that of a known one."""
    names = sorted(name for name in environment if name.startswith(_PREFIX))
    known = [*map(variable_of, (*keys(), *LIMITS)), *_OTHERS] if names else []
    near = ((name, nearest(name, known)) for name in names if name not in known)
    return [f"There is no variable {name}. Did you mean {other}?" for name, other in near if other]


class Variables(Struct, frozen=True):
    """The values of variables; `base` is the preset that one of them names."""

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
    """Return the values of the variables, or None if there are none. Raises ConfigurationError."""
    given = _given(environment)
    if not given:
        return None
    types = types_of(FileConfiguration)
    values = {key: _typed(key, text, types[key]) for key, text in given.items()}
    preset = values.pop("preset", None)
    return Variables(values, presets.named(preset) if preset else None)


def _typed(key: str, text: str, kind: Any) -> Any:
    try:
        return msgspec.convert(text, kind, strict=False)
    except msgspec.ValidationError as error:
        if str(error).startswith("Invalid enum value"):
            what = f"{quoted(text)} is not one of {', '.join(get_args(kind))}"
        else:
            what = f"{in_words(str(error)).partition(', got')[0]}, not {quoted(text)}"
        raise ConfigurationError(f"{variable_of(key)}: {what}.") from None


def limits_in(environment: Mapping[str, str]) -> Limits:
    """Return the limits that variables set. Raises ConfigurationError."""
    given = {key: text for key in LIMITS if (text := environment.get(variable_of(key), "").strip())}
    return Limits(**{key: _limit(key, text) for key, text in given.items()})


def _limit(key: str, text: str) -> Any:
    value: Any
    if key in DOLLARS:
        value = dollars_in(text)
    elif key == "max_summary_tokens":
        value = count_in(text)
    else:
        value = {"true": True, "1": True, "false": False, "0": False}.get(text.lower())
    if value is None:
        raise ConfigurationError(f"{variable_of(key)} cannot be {quoted(text)}.", HINTS[key])
    return value
