"""Frozen parts of a configuration that refuse unknown keys: numbers, limits, settings of providers.

A project's file has none of them: it could raise what its user set.
"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from functools import cache
from types import UnionType
from typing import Annotated, Any, Final, Union, get_args, get_origin

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import asdict

from ..core.wording import count_in, percent_in, quoted

Count = Annotated[int, Meta(ge=0, le=1_000_000_000)]
Positive = Annotated[int, Meta(ge=1, le=1_000_000_000)]
Percent = Annotated[str, Meta(min_length=2, max_length=12)]
"""A share such as `0.5%`, in a type that needs no pattern when it is imported."""


class Base(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    pass


class SummaryCheck(Base, frozen=True, kw_only=True):
    """What a model's summary must still hold: `min_facts` is a share of the main facts; 0 asks for nothing."""

    min_facts: Annotated[float, Meta(ge=0, le=1)] = 0.2


def parts_of(kind: Any) -> list[Any]:
    """Return the alternatives of a declared type."""
    if get_origin(kind) in (Union, UnionType):
        return [part for argument in get_args(kind) for part in parts_of(argument)]
    return [kind]


@cache
def types_of(kind: type[Struct]) -> dict[str, Any]:
    """Return the declared types of a struct's fields. Cached: finding them takes longer than reading values."""
    return {field.name: field.type for field in msgspec.structs.fields(kind)}


def with_numbers(value: Any, kind: Any) -> Any:
    """Return plain values with numbers for the texts that the type wants as numbers, such as `60k`."""
    kinds = parts_of(kind)
    if isinstance(value, str):
        return next((number for each in kinds if (number := _number(value, each)) is not None), value)
    if isinstance(value, dict):
        for each in kinds:
            if isinstance(each, type) and issubclass(each, msgspec.Struct):
                types = types_of(each)
                return {key: with_numbers(item, types.get(key, Any)) for key, item in value.items()}
            if get_origin(each) is dict:
                return {key: with_numbers(item, get_args(each)[1]) for key, item in value.items()}
    if isinstance(value, list):
        for each in kinds:
            if get_origin(each) in (tuple, list):
                return [with_numbers(item, get_args(each)[0]) for item in value]
    return value


def _number(text: str, kind: Any) -> float | None:
    bounds = get_args(kind)[1:] if get_origin(kind) is Annotated else ()
    plain = get_args(kind)[0] if bounds else kind
    if plain is int:
        return count_in(text)
    percent = percent_in(text) if plain is float else None
    is_fraction = any(getattr(bound, "le", None) == 1 for bound in bounds)
    return percent / 100 if percent is not None and is_fraction else percent


class ProviderSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`priority` orders lists, the highest first, and decides who stands in for an active one that is not enabled.

    `config` are settings of the provider, each for configurations that do not give it.
    """

    enabled: bool = True
    priority: int = 0
    config: dict[str, Any] | None = None


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
        """Return these limits, and those below for the missing ones. If one of them masks secrets, the result does."""
        mine = {key: value for key, value in asdict(self).items() if value is not None and value is not False}
        return Limits(**{**asdict(below), **mine})

    @property
    def is_any(self) -> bool:
        return self != Limits()


LIMITS: Final = Limits.__struct_fields__
"""Limits of calls, which variables and the user's own file set."""

DOLLARS: Final = ("max_cost", "max_cost_per_conversation", "max_cost_per_day")

HINTS: Final = {
    **dict.fromkeys(DOLLARS, "Write dollars such as 0.50."),
    "max_summary_tokens": "Write a number of tokens such as 60000 or 60k.",
    "redact": "Write true or false.",
}


def dollars_in(text: str) -> Decimal | None:
    """Parse an amount such as 0.5 or $0.50; None if it is none or negative."""
    try:
        amount = Decimal(text.strip().removeprefix("$"))
    except InvalidOperation:
        return None
    return amount if amount.is_finite() and amount >= 0 else None


def fault_of(key: str, value: Any) -> tuple[str, str] | None:
    """Return the fault of a limit in a file and a hint, or None. An amount may be a text."""
    if key not in DOLLARS:
        is_negative = key != "redact" and isinstance(value, int) and value < 0
        return (f"{value} is below 0", HINTS[key]) if is_negative else None
    if value is None or (isinstance(value, str | int | float) and dollars_in(str(value)) is not None):
        return None
    return f"{quoted(value)} is not an amount of dollars", HINTS[key]
