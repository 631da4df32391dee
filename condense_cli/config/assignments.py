"""Values given one by one on the command line, `key=value`, as typed values of a struct."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from ..core.wording import quoted
from ..errors import ConfigurationError, UsageError
from .loading import as_typed
from .positions import KeyPath, Positions, snake_case
from .unknown_keys import types_at

T = TypeVar("T", bound=Struct)


def assigned(values: T, assignments: Sequence[str]) -> T:
    """The struct with these values; a key with dots leads into it, and numbers into lists.

    A value is written as in YAML, and text needs no quotes. Raises UsageError and ConfigurationError.
    """
    for assignment in assignments:
        key, equals, text = assignment.partition("=")
        if not equals or not key.strip():
            raise UsageError(f"--set needs KEY=VALUE, not {quoted(assignment)}.", "For example --set keep_recent=5.")
        positions = Positions(f"--set {assignment}", is_file=False)
        plain = msgspec.json.decode(msgspec.json.encode(values))
        path = _put(plain, key.strip().split("."), text.strip(), type(values), positions)
        positions.spellings[path] = key.strip().rpartition(".")[2]
        values = as_typed(plain, type(values), positions)
    return values


def _put(plain: Any, keys: list[str], text: str, root: type[Struct], positions: Positions) -> KeyPath:
    """Put the value into the plain ones, and return its path."""
    path: list[str | int] = []
    for number, key in enumerate(keys):
        if isinstance(plain, list):
            if not (key.isdecimal() and int(key) < len(plain)):
                raise positions.error(tuple(path), f"there is no number {key} in a list of {len(plain)}")
            path.append(int(key))
        else:
            path.append(snake_case(key))
        if number == len(keys) - 1:
            plain[path[-1]] = _value(text, list(types_at(root, tuple(path))))
            break
        if not isinstance(plain, list) and not isinstance(plain.get(path[-1]), dict | list):
            plain[path[-1]] = {}
        plain = plain[path[-1]]
    return tuple(path)


def _value(text: str, kinds: list[Any]) -> Any:
    """What the text says as YAML, or the text itself, whichever the key takes."""
    try:
        from .yaml_reading import read_yaml  # With the parser.

        value, _ = read_yaml(text, "value")
    except ConfigurationError:
        value = text
    return next((found for found in (value, text) for kind in kinds if _is_of(found, kind)), value)


def _is_of(value: Any, kind: Any) -> bool:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return False
    return True
