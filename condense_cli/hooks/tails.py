"""How full a session is by its last answer, read from the end of its file alone."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

_FIRST: Final = 256 * 1024
_MOST: Final = 16 * 1024 * 1024
"""Bytes of the end that are read; more of them only where the last answer is not among these."""

_USES: Final = (b'"usage"', b'"compact_boundary"', b'"token_count"', b'"compacted"')
_MESSAGES: Final = (b'"user"', b'"assistant"')
"""What is in the records that are looked for; hardly any other has to be read."""

_WAITS: Final = 15
_SECONDS: Final = 0.02


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
        for record in _records_from_end(path, size, take, _USES):
            found = read(record)
            if found is not None:
                return found if found.tokens else None
        if take >= min(size, _MOST):
            return None
        take *= 8


def wait_for_answer(path: str) -> None:
    """Until the newest message in a file of Claude Code is an answer, or for a moment.

    Claude Code 2.1.330 tells of the end of a turn just before, or after, it writes down the last answer.
    """
    for _ in range(_WAITS):
        records = _records_from_end(path, os.path.getsize(path), _FIRST, _MESSAGES)
        kinds = (record.get("type") for record in records if not record.get("isSidechain"))
        if next((kind for kind in kinds if kind in ("user", "assistant")), "assistant") == "assistant":
            return
        time.sleep(_SECONDS)


def _records_from_end(path: str, size: int, take: int, marks: Sequence[bytes]) -> Iterator[dict[str, Any]]:
    """Records with one of these marks in them, the last one first."""
    with open(path, "rb") as file:
        file.seek(max(0, size - take))
        lines = file.read(take).splitlines()
    for line in reversed(lines if take >= size else lines[1:]):
        if any(mark in line for mark in marks):
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):  # The client is writing it.
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
