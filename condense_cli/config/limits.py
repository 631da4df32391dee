"""What calls of models may use: keys of the user's own configuration, variables and flags of the same names.

A project's file has none of them: it could raise what its user set.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import asdict

from ..core.wording import count_in, quoted
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

DOLLARS: Final = ("max_cost", "max_cost_per_conversation", "max_cost_per_day")

_HINTS: Final = {
    **dict.fromkeys(DOLLARS, "Write dollars such as 0.50."),
    "max_summary_tokens": "Write a number of tokens such as 60000 or 60k.",
    "redact": "Write true or false.",
}


def dollars_in(text: str) -> Decimal | None:
    """The amount that a text is: 0.5, $0.50; None where it is none, or below 0."""
    try:
        amount = Decimal(text.strip().removeprefix("$"))
    except InvalidOperation:
        return None
    return amount if amount.is_finite() and amount >= 0 else None


def limits_in(environment: Mapping[str, str]) -> Limits:
    """What the variables say. Raises ConfigurationError."""
    found: dict[str, Any] = {}
    for key in LIMITS:
        text = environment.get(variable_of(key), "").strip()
        if text:
            found[key] = _typed(key, text)
    return Limits(**found)


def fault_of(key: str, value: Any) -> tuple[str, str] | None:
    """Why a value of a file cannot be a limit, and what to write; None where it can. A text may be an amount."""
    if key not in DOLLARS:
        is_negative = key != "redact" and isinstance(value, int) and value < 0
        return (f"{value} is below 0", _HINTS[key]) if is_negative else None
    if value is None or (isinstance(value, str | int | float) and dollars_in(str(value)) is not None):
        return None
    return f"{quoted(value)} is not an amount of dollars", _HINTS[key]


def _typed(key: str, text: str) -> Any:
    value: Any
    if key in DOLLARS:
        value = dollars_in(text)
    elif key == "max_summary_tokens":
        value = count_in(text)
    else:
        value = {"true": True, "1": True, "false": False, "0": False}.get(text.lower())
    if value is None:
        raise ConfigurationError(f"{variable_of(key)} cannot be {quoted(text)}.", _HINTS[key])
    return value
