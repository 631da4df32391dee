"""What every part of a configuration is made of: frozen values that refuse unknown keys, numbers, what parts share."""

from __future__ import annotations

from functools import cache
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import msgspec
from msgspec import Meta, Struct

from ..core.wording import count_in, percent_in

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
    """The types that a declared type allows."""
    if get_origin(kind) in (Union, UnionType):
        return [part for argument in get_args(kind) for part in parts_of(argument)]
    return [kind]


@cache
def types_of(kind: type[Struct]) -> dict[str, Any]:
    """The declared types of the fields of a struct; to find them takes longer than to read what they hold."""
    return {field.name: field.type for field in msgspec.structs.fields(kind)}


def with_numbers(value: Any, kind: Any) -> Any:
    """Plain values with the texts that a type wants as numbers as these; what is none of it stays as it is."""
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
