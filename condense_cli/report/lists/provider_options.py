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


def options_of(settings: type[Struct], prefix: str = "", values: Struct | None = None) -> Iterator[Option]:
    """Every setting, then those inside of others; where a whole part may be missing, its defaults.

    `values` are the defaults where they are not those of the type.
    """
    found = types.type_info(settings)
    assert isinstance(found, types.StructType)
    for field in sorted(found.fields, key=lambda field: _struct_in(field.type) is not None):
        key = f"{prefix}{field.encode_name}"
        default = _default(field) if values is None else getattr(values, field.name)
        part = _struct_in(field.type)
        if part is not None:
            yield from options_of(part, f"{key}.", default if isinstance(default, part) else None)
        else:
            yield Option(key, msgspec.to_builtins(default), takes(field.type))


def _struct_in(kind: types.Type) -> type[Struct] | None:
    members = kind.types if isinstance(kind, types.UnionType) else (kind,)
    structs = [member.cls for member in members if isinstance(member, types.StructType)]
    return structs[0] if len(structs) == 1 else None


def _default(field: types.Field) -> Any:
    value = field.default_factory() if field.default_factory is not msgspec.NODEFAULT else field.default
    return None if value is msgspec.NODEFAULT or value is msgspec.UNSET else value


def takes(kind: types.Type) -> str:
    """What a setting takes, in words."""
    if isinstance(kind, types.UnionType):
        # "text", not "text or nothing": what is not given is shown as the default.
        return " or ".join(takes(member) for member in kind.types if not isinstance(member, types.NoneType))
    if isinstance(kind, types.LiteralType):
        *others, last = map(str, kind.values)
        return f"{', '.join(others)} or {last}" if others else last
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
    (types.StructType, "mappings"),
    (types.DictType, "mapping"),
)
_LARGE = 1_000_000
"""A bound beyond this guards against nonsense and is not worth a word."""


def _bounds(kind: types.IntType | types.FloatType) -> str:
    most = kind.le if kind.le is not None else kind.lt
    if most is None or most > _LARGE:
        return "" if kind.ge is None else f", {kind.ge:g} or more"
    low = f" from {kind.ge:g}" if kind.ge is not None else f" above {kind.gt:g}" if kind.gt is not None else ""
    return f"{low} {'to' if kind.le is not None else 'and below'} {most:g}"
