"""The tokens of a request, as the API that answered it reports them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..core.arguments import is_integer
from ..errors import UsageError

_INPUT = ("input_tokens", "prompt_tokens", "input")
_OUTPUT = ("output_tokens", "completion_tokens", "output")
_BESIDE = ("cache_creation_input_tokens", "cache_read_input_tokens")
"""Anthropic's input tokens exclude those; the others' include what they call cached."""


def tokens_of(usage: Any) -> int:
    """Input, cached or not, and output of the last request. `usage` is a number, a dict or an object of an SDK.

    Raises UsageError for anything else.
    """
    if is_integer(usage):
        return usage
    values = usage if isinstance(usage, Mapping) else getattr(usage, "__dict__", None)
    if values is not None:
        found = [
            next((values[name] for name in names if is_integer(values.get(name))), None) for names in (_INPUT, _OUTPUT)
        ]
        if found[0] is not None:
            beside = sum(values[name] for name in _BESIDE if is_integer(values.get(name)))
            return int(found[0]) + int(found[1] or 0) + int(beside)
    raise UsageError("The usage holds no input_tokens and no prompt_tokens.", "Give usage as the API returned it.")
