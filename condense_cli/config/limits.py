"""What calls of models may use: keys of the user's own configuration, variables and flags of the same names.

A project's file has none of them: it could raise what its user set.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import asdict

from ..errors import ConfigurationError
from .variables import LIMITS, variable_of


class Limits(Struct, frozen=True):
    """US dollars for a run, for a conversation over all runs, and for a day; tokens that the calls of a run read and
    write; whether secrets are masked before anything is sent. None is no limit.
    """

    max_cost: Decimal | None = None
    max_cost_per_conversation: Decimal | None = None
    max_cost_per_day: Decimal | None = None
    max_summary_tokens: int | None = None
    redact: bool = False

    def over(self, below: Limits) -> Limits:
        """These, and where they say nothing those below. What one of them masks is masked."""
        mine = {key: value for key, value in asdict(self).items() if value is not None and value is not False}
        return Limits(**{**asdict(below), **mine})

    @property
    def is_any(self) -> bool:
        return self != Limits()


assert Limits.__struct_fields__ == LIMITS

_HINT: Final = "Write dollars such as 0.50, or a whole number of tokens."


def limits_in(environment: Mapping[str, str]) -> Limits:
    """What the variables say. Raises ConfigurationError."""
    found: dict[str, Any] = {}
    for key in LIMITS:
        text = environment.get(variable_of(key), "").strip()
        if text:
            found[key] = _typed(key, text)
    return Limits(**found)


def fault_of(key: str, value: Any) -> str:
    """Why a value cannot be a limit, or nothing."""
    if isinstance(value, Decimal) and not value.is_finite():
        return f"{value} is not an amount"
    return f"{value} is below 0" if not isinstance(value, bool | None) and value < 0 else ""


def _typed(key: str, text: str) -> Any:
    kind = {field.name: field.type for field in msgspec.structs.fields(Limits)}[key]
    try:
        value = msgspec.convert(text.removeprefix("$"), kind, strict=False)
        fault = fault_of(key, value)
    except msgspec.ValidationError:
        value, fault = None, f"{text!r} is none"
    if fault:
        hint = "Write true or false." if key == "redact" else _HINT
        raise ConfigurationError(f"{variable_of(key)}: {fault}.", hint)
    return value
