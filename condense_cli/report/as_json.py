"""Reports as JSON text, and the version of their shape."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any, Final

import msgspec

SHAPE: Final = 2
"""Version of the JSON report; it rises when a key goes or changes its meaning."""


_encode: Final = msgspec.json.Encoder(decimal_format="number").encode
"""Money is a number, as exact as it is known."""


def to_json_line(value: Any) -> str:
    """JSON text in one line, without a line break."""
    try:
        return _encode(value).decode()
    except UnicodeEncodeError:
        return _escaped(value)


def _escaped(value: Any, indent: int | None = None) -> str:
    """JSON text of a name or a text with a lone surrogate: JSON can spell it."""
    return json.dumps(msgspec.to_builtins(value, builtin_types=(Decimal,)), indent=indent, default=float)


def to_json(value: Any) -> str:
    """Indented JSON text with a final line break."""
    try:
        return msgspec.json.format(_encode(value), indent=2).decode() + "\n"
    except UnicodeEncodeError:
        return _escaped(value, indent=2) + "\n"
