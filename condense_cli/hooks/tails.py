"""How full a session is by its last answer, read from the end of its file alone."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

_FIRST: Final = 256 * 1024
_MOST: Final = 16 * 1024 * 1024
"""Bytes of the end that are read; more of them only where the last answer is not among these."""


class Use(NamedTuple):
    """Tokens in use after the last answer, its model, and the window where the file names it."""

    tokens: int
    model: str
    window: int


def use_of(client: str, path: str) -> Use | None:
    """None where nothing was answered yet, or not since the last compaction. Raises OSError."""
    read = _claude if client == "claude-code" else _codex
    size = os.path.getsize(path)
    take = _FIRST
    while True:
        for record in _records_from_end(path, size, take):
            found = read(record)
            if found is not None:
                return found if found.tokens else None
        if take >= min(size, _MOST):
            return None
        take *= 8


def _records_from_end(path: str, size: int, take: int) -> Iterator[dict[str, Any]]:
    with open(path, "rb") as file:
        file.seek(max(0, size - take))
        lines = file.read(take).splitlines()
    for line in reversed(lines if take >= size else lines[1:]):
        if b'"usage"' in line or b'"compact_boundary"' in line or b'"token_count"' in line or b'"compacted"' in line:
            try:
                record = json.loads(line)
            except ValueError:  # The client is writing it.
                continue
            if isinstance(record, dict):
                yield record


_NOTHING: Final = Use(0, "", 0)


def _claude(record: dict[str, Any]) -> Use | None:
    if record.get("subtype") == "compact_boundary":
        return _NOTHING
    message = record.get("message")
    if record.get("type") != "assistant" or record.get("isSidechain") or not isinstance(message, dict):
        return None
    model, usage = message.get("model"), message.get("usage")
    if not isinstance(usage, dict) or model == "<synthetic>":
        return None
    keys = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
    return Use(sum(_number(usage.get(key)) for key in keys), str(model), 0)


def _codex(record: dict[str, Any]) -> Use | None:
    if record.get("type") == "compacted":
        return _NOTHING
    payload = record.get("payload")
    if record.get("type") != "event_msg" or not isinstance(payload, dict) or payload.get("type") != "token_count":
        return None
    info = payload.get("info")
    last = info.get("last_token_usage") if isinstance(info, dict) else None
    if not isinstance(info, dict) or not isinstance(last, dict):
        return None
    tokens = _number(last.get("input_tokens")) + _number(last.get("output_tokens"))
    return Use(tokens, "", _number(info.get("model_context_window"))) if tokens else None


def _number(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
