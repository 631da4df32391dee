"""Shorten rows of a conversation one by one, for a gateway that puts them back in their places.

The shape is that of LiteLLM's guardrail: it sends rows without those of the assistant and the system, and needs one row
back for each that it sent. https://docs.litellm.ai/docs/proxy/guardrails/headroom
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from .. import api
from ..config.loading import load_preset
from ..config.models import Configuration, Predicates
from ..config.options import Overrides
from ..config.overrides import without_summaries
from ..config.preset_folders import DEFAULT_PRESET, preset_names
from ..errors import UsageError

_RESULTS: Final = ("tool", "function")
_ROLES: Final = ("system", "developer", "user", "assistant", *_RESULTS)


class CompressOrder(Struct, frozen=True):
    """A request: rows as in Chat Completions, the model that will read them, and options."""

    messages: list[dict[str, Any]]
    model: str | None = None
    config: dict[str, Any] | None = None


class Compressed(Struct, frozen=True):
    """An answer: as many rows, in the same order, and figures in the model's tokens."""

    messages: list[dict[str, Any]]
    tokens_before: int
    tokens_after: int
    tokens_saved: int
    compression_ratio: float
    transforms_applied: list[str]


def order_of(data: bytes) -> CompressOrder:
    """Read a request. Raises UsageError, which quotes no content, if it is invalid."""
    try:
        order = msgspec.json.decode(data, type=CompressOrder)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        words = str(error) if isinstance(error, msgspec.ValidationError) else "it is not JSON"
        raise UsageError(f"The body cannot be used: {words}.") from None
    for number, row in enumerate(order.messages):
        if row.get("role") not in _ROLES:
            raise UsageError(f"Row {number} of messages has no role of Chat Completions.")
    return order


def compressed(order: CompressOrder) -> Compressed:
    """Shorten the results among the rows. Raises UsageError for an invalid configuration."""
    name, overrides = _how(order.config or {})
    rows = order.messages
    chat, positions = _with_calls(rows)
    if chat == rows:
        return _answer(rows, 0, 0, name)
    transcript = replace(api.loads(chat, format="openai-chat"), model=order.model)
    result = api.condense(transcript, _in_rows(load_preset(name)), overrides=overrides)
    new = api.dump_messages(result)
    if len(new) != len(chat):
        return _answer(rows, result.tokens_before, result.tokens_before, name)
    kept = [
        {**row, "content": new[position]["content"]} if row["role"] in _RESULTS else row
        for row, position in zip(rows, positions, strict=True)
    ]
    return _answer(kept, result.tokens_before, result.tokens_after, name)


def unchanged(order: CompressOrder) -> Compressed:
    return _answer(order.messages, 0, 0, "")


def _how(config: dict[str, Any]) -> tuple[str, Overrides]:
    """Read a built-in preset and numbers from the options; ignore the rest. Raises UsageError."""
    name = config.get("preset", DEFAULT_PRESET)
    if name not in preset_names():
        raise UsageError("config.preset is none of " + ", ".join(preset_names()) + ".")
    numbers: dict[str, int | None] = {}
    for key, least in (("target_tokens", 1), ("keep_recent", 0)):
        value = config.get(key)
        if value is not None and (type(value) is not int or value < least):
            raise UsageError(f"config.{key} has to be a number of at least {least}.")
        numbers[key] = value
    return name, Overrides(keep_recent=numbers["keep_recent"], target_tokens=numbers["target_tokens"])


def _in_rows(configuration: Configuration) -> Configuration:
    """Return a configuration for single rows: no summaries, and no references, whose calls are not among the rows."""
    prelude = replace(configuration.lossless_prelude, enabled=False)
    pins = (*configuration.pins, Predicates(roles=("user", "assistant", "system")))
    return replace(without_summaries(configuration), lossless_prelude=prelude, pins=pins)


def _with_calls(rows: Sequence[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[int]]:
    """Return the rows as a conversation, with a call before each result, and the position of each row in it."""
    chat: list[dict[str, Any]] = []
    positions: list[int] = []
    for number, row in enumerate(rows):
        if row["role"] in _RESULTS:
            name = row.get("name")
            function = {"name": name if isinstance(name, str) and name else "tool", "arguments": "{}"}
            call = {"id": f"call_{number}", "type": "function", "function": function}
            chat.append({"role": "assistant", "content": None, "tool_calls": [call]})
            row = {"role": "tool", "tool_call_id": call["id"], "content": row.get("content")}
        positions.append(len(chat))
        chat.append(row)
    return chat, positions


def _answer(rows: list[dict[str, Any]], before: int, after: int, name: str) -> Compressed:
    ratio = round(after / before, 4) if before else 1.0
    return Compressed(rows, before, after, before - after, ratio, [name] if after < before else [])
