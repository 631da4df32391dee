"""Find the requests that a recorded conversation consists of: what was sent, when, to which model, and what was billed.

Usage is what the client noted with each answer: Claude Code, opencode, pi, and Codex in a record that follows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import zip_longest
from typing import Any

from msgspec import Struct

from ..core import json_text
from ..core.json_text import value_in
from ..core.transcript import Message, Source, Transcript
from ..core.values import Role
from ..money.bill import Billed
from .compacted import compactions, stretches
from .engine.base import is_count


class RecordedRequest(Struct, frozen=True):
    """A request with the first `sent` of the messages, which the next one answers; of it, what the file tells.

    `at` is in seconds since 1970. With `is_first` the conversation begins, or begins again after a compaction, which
    left the `taken_over` first messages.
    """

    messages: Sequence[Message]
    taken_over: int
    sent: int
    at: float | None = None
    model: str | None = None
    billed: Billed | None = None
    is_first: bool = False


def phases(transcript: Transcript) -> Iterator[tuple[Sequence[Message], int]]:
    """Yield the conversation up to each compaction and behind the last one, and how many messages it took over."""
    found = [*stretches(transcript, compactions(transcript.source, transcript.format) or ())]
    if not found:
        yield transcript.messages, 0
    for number, stretch in enumerate(found):
        if number == 0 and stretch.before is not None:
            yield stretch.before.messages, 0
        yield (*stretch.after, *stretch.later), len(stretch.after)


def recorded_requests(transcript: Transcript) -> Iterator[RecordedRequest]:
    """Yield all requests of a conversation, in order. Those for summaries are not in the file."""
    for messages, taken_over in phases(transcript):
        answers = [
            number
            for number in range(max(1, taken_over), len(messages))
            if messages[number].role is Role.ASSISTANT and messages[number - 1].role is not Role.ASSISTANT
        ]
        for sent, following in zip_longest(answers, answers[1:]):
            blocks = () if following is None else messages[following].blocks
            at, model, billed = _told(transcript.source, messages[sent], blocks[0].place.record if blocks else None)
            model = model or transcript.model
            yield RecordedRequest(messages, taken_over, sent, at, model, billed, is_first=sent == answers[0])


_Told = tuple[float | None, str | None, Billed | None]


def _told(source: Source, answer: Message, end: int | None) -> _Told:
    """Read what the file tells of an answer. The next one begins in record `end`."""
    records = [block.place.record for block in answer.blocks]
    value = _record(source, records[0]) if records else None
    model = value_in(value, "message", "model") or value_in(value, "info", "modelID") or value_in(value, "model")
    billed = _billed(value_in(value, "message", "usage"), value_in(value, "info", "tokens"))
    if billed is None and value_in(value, "type") == "response_item":
        billed = _noted_behind(source, range(max(records) + 1, len(source.spans) if end is None else end))
    return _time(value), model if isinstance(model, str) else None, billed


def _billed(usage: Any, tokens: Any) -> Billed | None:
    """Read usage as Anthropic's API or pi write it, or as opencode does."""
    written = _count(usage, "cache_creation_input_tokens")
    found = Billed(
        _count(usage, "cache_read_input_tokens") or _count(usage, "cacheRead"),
        written or _count(usage, "cacheWrite"),
        _count(usage, "input_tokens") or _count(usage, "input"),
        min(_count(usage, "cache_creation", "ephemeral_1h_input_tokens"), written),
    )
    if not found.tokens:
        found = Billed(_count(tokens, "cache", "read"), _count(tokens, "cache", "write"), _count(tokens, "input"))
    return found if found.tokens else None


def _noted_behind(source: Source, records: Iterable[int]) -> Billed | None:
    """Read the usage in the first of the records of Codex that has one."""
    for record in records:
        payload = value_in(_record(source, record), "payload")
        if value_in(payload, "type") == "token_count":
            usage = value_in(payload, "info", "last_token_usage")
            read, written = _count(usage, "cached_input_tokens"), _count(usage, "cache_write_input_tokens")
            found = Billed(read, written, max(0, _count(usage, "input_tokens") - read - written))
            return found if found.tokens else None
    return None


def _record(source: Source, record: int) -> Any:
    is_there = record < len(source.spans) and record not in source.unparsed
    return json_text.parse(source.raw(record)) if is_there else None


def _count(holder: Any, *keys: str) -> int:
    found = value_in(holder, *keys)
    return found if is_count(found) else 0


def _time(value: Any) -> float | None:
    """Return the time of a record: ISO 8601, or milliseconds."""
    time = value_in(value, "timestamp") or value_in(value, "info", "time", "created")
    if isinstance(time, str):
        try:
            said = datetime.fromisoformat(time)
            return (said if said.tzinfo else said.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError):
            return None
    is_milliseconds = isinstance(time, int | float) and 1e12 < time < 1e13
    return time / 1000 if is_milliseconds else None
