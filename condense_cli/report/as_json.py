"""Reports as JSON text, and the version of their shape."""

from __future__ import annotations

import json
from typing import Any, Final

import msgspec

SHAPE: Final = 2
"""Version of the JSON report; it rises when a key goes or changes its meaning."""


def to_json_line(value: Any) -> str:
    """JSON text in one line, without a line break."""
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:
        return json.dumps(msgspec.to_builtins(value))


def to_json(value: Any) -> str:
    """Indented JSON text with a final line break."""
    try:
        return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"
    except UnicodeEncodeError:  # A name or a text with a lone surrogate: JSON can spell it.
        return json.dumps(msgspec.to_builtins(value), indent=2) + "\n"
