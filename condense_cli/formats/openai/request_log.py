"""Logs of chat-completions calls, a request or an answer per line. They are only read.

Every request holds the whole conversation so far: that of the last one, and its answer, are the conversation. What
condensed messages would mean for the requests before nobody can say.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from ...core import json_text
from ...core.transcript import Transcript
from ...errors import UnknownFormatError
from ..engine.base import Evidence, FileFault, Format
from ..engine.container import Document, with_beside_of, with_records_at
from . import chat


def evidence(value: Any) -> Evidence:
    if not isinstance(value, dict):
        return Evidence.NO
    if value.get("type") == "request":
        return Evidence.YES if _messages(value) is not None else Evidence.NO
    return Evidence.YES if value.get("type") == "response" and _answer(value) is not None else Evidence.NO


def _messages(value: Any) -> list[Any] | None:
    request = value.get("request_params") if isinstance(value, dict) else None
    messages = request.get("messages") if isinstance(request, dict) else None
    return messages if isinstance(messages, list) else None


def _answer(value: Any) -> dict[str, Any] | None:
    response = value.get("response") if isinstance(value, dict) else None
    choices = response.get("choices") if isinstance(response, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    return message if isinstance(message, dict) else None


def _lacking(value: Any) -> str:
    """Name a call, or an answer, without what its kind needs; empty for one that is whole, or tells of an error."""
    if not isinstance(value, dict) or _messages(value) is not None or _answer(value) is not None:
        return ""
    response = value.get("response")
    if value.get("error") or (isinstance(response, dict) and response.get("error")):
        return ""
    return f"{value.get('type')} without {'messages' if value.get('type') == 'request' else 'an answer'}"


def read(document: Document, values: Iterator[Any]) -> Transcript:
    records = list(values)
    asked = [record for record, value in enumerate(records) if _messages(value)]
    if not asked:
        raise UnknownFormatError("It holds no request with messages.", "Name a log that has the requests too.")
    last = asked[-1]
    request = records[last]["request_params"]
    answers = [n for n, value in enumerate(records) if n > last and _answer(value)]
    conversation = with_records_at(document, last, ("request_params", "messages"))
    if answers:
        path = ("response", "choices", 0, "message")
        conversation = with_beside_of(conversation, document.source.spans[answers[0]], [path])
    messages = [*request["messages"], *([_answer(records[answers[0]])] if answers else [])]
    listed = replace(conversation, source=replace(conversation.source, beside=0))
    transcript = chat.read(listed, iter(messages))
    tools, model = request.get("tools"), request.get("model")
    # What comes before the last request is in it.
    unknown = Tally(filter(None, map(_lacking, records[last + 1 :])))
    return replace(
        transcript,
        format="request-log",
        model=model if isinstance(model, str) else None,
        envelope=json_text.dump_compact(tools) if tools else "",
        unknown=tuple(unknown.items()),
        warnings=_warnings([_messages(records[record]) or [] for record in asked]),
    )


def _warnings(requests: list[list[Any]]) -> tuple[str, ...]:
    """Requests that begin otherwise than the last one belong to another conversation."""
    others = sum(messages[:2] != requests[-1][:2] for messages in requests)
    return (f"Requests of other conversations are ignored ({others}).",) if others else ()


def _ending_understood(transcript: Transcript) -> Iterator[FileFault]:
    for name, number in transcript.unknown:
        last = len(transcript.source.spans) - 1
        yield FileFault("messages_understood", last, f"what follows the last request is not read: {number} {name}")


FORMAT = Format(
    "request-log",
    chat.FORMAT.family,
    "Logs of chat-completions requests and answers, read-only",
    evidence,
    read,
    rules=(_ending_understood,),
    is_writable=False,
)
