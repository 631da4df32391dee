"""The settings of a provider as a list: each with its key, its default and what it takes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct
from msgspec import inspect as types


class Option(Struct, frozen=True):
    """One setting; `key` has dots where it lies inside another one. `default` is a plain value."""

    key: str
    default: Any
    takes: str


def options_of(settings: type[Struct], prefix: str = "") -> Iterator[Option]:
    """Every setting, those inside of others included; where a whole part may be missing, its defaults."""
    found = types.type_info(settings)
    assert isinstance(found, types.StructType)
    for field in found.fields:
        key = f"{prefix}{field.encode_name}"
        part = _struct_in(field.type)
        if part is not None:
            yield from options_of(part, f"{key}.")
        else:
            yield Option(key, _default(field), takes(field.type))


def _struct_in(kind: types.Type) -> type[Struct] | None:
    members = kind.types if isinstance(kind, types.UnionType) else (kind,)
    structs = [member.cls for member in members if isinstance(member, types.StructType)]
    return structs[0] if len(structs) == 1 else None


def _default(field: types.Field) -> Any:
    value = field.default_factory() if field.default_factory is not msgspec.NODEFAULT else field.default
    return None if value in (msgspec.NODEFAULT, msgspec.UNSET) else msgspec.to_builtins(value)


def takes(kind: types.Type) -> str:
    """What a setting takes, in words."""
    if isinstance(kind, types.UnionType):
        return " or ".join(takes(member) for member in kind.types)
    if isinstance(kind, types.LiteralType):
        return ", ".join(map(str, kind.values))
    if isinstance(kind, types.IntType | types.FloatType):
        name = "whole number" if isinstance(kind, types.IntType) else "number"
        return f"{name}{_bounds(kind)}"
    if isinstance(kind, types.ListType | types.SetType | types.VarTupleType):
        return f"list of {takes(kind.item_type)}"
    for known, words in _WORDS:
        if isinstance(kind, known):
            return words
    return "any value"


_WORDS = (
    (types.BoolType, "true or false"),
    (types.StrType, "text"),
    (types.NoneType, "nothing"),
    (types.StructType, "mappings"),
    (types.DictType, "mapping"),
)
_LARGE = 1_000_000
"""A bound beyond this guards against nonsense and is not worth a word."""


def _bounds(kind: types.IntType | types.FloatType) -> str:
    low = f"{kind.ge:g}" if kind.ge is not None else f"above {kind.gt:g}" if kind.gt is not None else ""
    most = kind.le if kind.le is not None else kind.lt
    if most is None or most > _LARGE:
        return f", {low} or more" if kind.ge is not None else f" {low}" if low else ""
    high = f"{most:g}" if kind.le is not None else f"below {most:g}"
    return f" from {low} to {high}" if kind.ge is not None and kind.le is not None else f", {low}, {high}"
