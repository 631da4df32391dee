"""Read recorded sessions as the requests their clients sent: messages, times, and results of compactions."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from condense_cli import api
from condense_cli.core.factor import factor_of
from condense_cli.core.tokens import Counter
from condense_cli.core.transcript import Transcript
from condense_cli.formats.compacted import compactions, stretches

SECONDS = 20.0
"""Seconds between requests if the file has no times."""
MARK = {"cache_control": {"type": "ephemeral"}}


class Session(NamedTuple):
    """Messages, model, its tokens per token of ours, and the second of each answer by position.

    If the client compacted the conversation, it sent `left` in place of the first `compacted` messages.
    """

    messages: list[Any]
    model: str
    factor: float
    times: dict[int, float]
    compacted: int | None = None
    left: list[Any] | None = None


def session(path: Path) -> Session:
    """Read a file; with several compactions, the conversation around the first."""
    transcript = api.load(path)
    factor = factor_of(transcript, Counter.of(transcript)).value
    model = transcript.model or "claude-opus-4-6"
    first = next(iter(stretches(transcript, compactions(transcript.source, transcript.format) or ())), None)
    if first is None or first.before is None or first.is_undone:
        messages = _messages(transcript)
        return Session(messages, model, factor, _times(path, messages))
    before = _messages(first.before)
    whole = [*before, *_messages(replace(transcript, messages=first.later))]
    left = _messages(replace(transcript, messages=first.after))
    return Session(whole, model, factor, _times(path, whole), len(before), left)


def requests_of(messages: Sequence[Any]) -> Iterator[tuple[int, list[Any]]]:
    """Yield the position of each answer, and the request that the client sent for it."""
    for position, message in enumerate(messages):
        if position and message["role"] == "assistant" and messages[position - 1]["role"] != "assistant":
            request = copy.deepcopy([*messages[:position]])
            last = request[-1]
            if isinstance(last["content"], str):
                last["content"] = [{"type": "text", "text": last["content"]}]
            last["content"][-1].update(MARK)
            yield position, request


def _messages(transcript: Transcript) -> list[Any]:
    found = json.loads(api.convert(transcript, "anthropic").data)
    found = found if isinstance(found, list) else found["messages"]
    return [message for message in found if message["role"] in ("user", "assistant") and message["content"]]


def _times(path: Path, messages: Sequence[Any]) -> dict[int, float]:
    """Map positions of answers to seconds, by the ids of calls in records with a time."""
    known: dict[str, float] = {}
    for line in path.read_bytes().splitlines():
        try:
            record = json.loads(line)
            second = datetime.fromisoformat(record["timestamp"]).timestamp()
        except (ValueError, KeyError, TypeError):
            continue
        for name in _ids(record):
            known.setdefault(name, second)
    found = {}
    for position, message in enumerate(messages):
        if message["role"] == "assistant":
            seconds = [known[name] for name in _ids(message) if name in known]
            if seconds:
                found[position] = seconds[0]
    return found


def _ids(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, each in value.items():
            if key in ("id", "call_id") and isinstance(each, str):
                yield each
            else:
                yield from _ids(each)
    elif isinstance(value, list):
        for each in value:
            yield from _ids(each)
