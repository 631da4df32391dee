"""Writing a wire log of Kimi Code: texts change where they are; once messages go, the context is built anew.

That is done with the client's own events, behind all others: `context.clear`, and then once more the events of what is
left. All lines before stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any, Final

from ...core import json_text
from ...core.transcript import Message, Transcript
from ..engine import repeats
from ..engine.base import Rewrite, records_of

MESSAGE: Final = "context.append_message"
EVENT: Final = "context.append_loop_event"
SUMMARY: Final = "compaction_summary"
"""The origin of a message that stands for earlier ones."""
_COUNTED: Final = "usage"
"""Of a step: what was counted is not the size of what is left."""


def _shown(transcript: Transcript) -> Iterator[repeats.Shown]:
    """What a log holds beside the context: prompts, messages as events, how a call is shown."""
    for record, value in records_of(transcript.source):
        if not isinstance(value, dict) or value.get("type") == MESSAGE:
            continue
        event = value.get("event") if value.get("type") == EVENT else None
        if isinstance(event, dict):
            yield record, ("event", "display"), event.get("display")
        elif not str(value.get("type")).startswith("context."):
            yield record, (), value


complete: Final = repeats.completing(_shown)


def write(rewrite: Rewrite) -> bytes:
    source = rewrite.transcript.source
    steps: dict[Any, dict[str, dict[str, Any]]] = {}
    about: dict[str, Any] = {}
    for _, value in records_of(source):
        if isinstance(value, dict):
            about = {key: value[key] for key in ("agentId", "time") if key in value} or about
            event = value.get("event")
            if isinstance(event, dict) and event.get("type") in ("step.begin", "step.end"):
                steps.setdefault(event.get("uuid"), {})[event["type"]] = value
    lines = [{"type": "context.clear", **about}, *_said(rewrite, steps, about)]
    texts = "".join(f"{rewrite.style.dump(line)}\n" for line in lines)
    return source.data + (b"" if source.data.endswith(b"\n") else b"\n") + json_text.encode(texts)


def _said(rewrite: Rewrite, steps: dict[Any, dict[str, Any]], about: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The events of what is left, in order. A step ends behind the results of its calls."""
    step: dict[str, dict[str, Any]] = {}
    for message in rewrite.transcript.messages:
        values = [_summary(message, about)] if message.is_inserted else list(_records(message, rewrite, about))
        begun = next((steps.get(value["event"].get("stepUuid")) for value in values if value["type"] == EVENT), None)
        if not message.answers_calls:
            yield from _end(step)
            step = begun or {}
            yield from (value for kind, value in step.items() if kind == "step.begin")
        yield from values
    yield from _end(step)


def _end(step: dict[str, dict[str, Any]]) -> Iterator[dict[str, Any]]:
    if value := step.get("step.end"):
        yield {**value, "event": {key: known for key, known in value["event"].items() if key != _COUNTED}}


def _records(message: Message, rewrite: Rewrite, about: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for record, _ in groupby(message.blocks, key=lambda block: block.place.record):
        value = json_text.parse_text(rewrite.record(record))
        yield value if value["type"] in (MESSAGE, EVENT) else _summary(message, about)


def _summary(message: Message, about: dict[str, Any]) -> dict[str, Any]:
    text = {"type": "text", "text": message.blocks[0].text}
    said = {"role": "user", "content": [text], "toolCalls": [], "origin": {"kind": SUMMARY}}
    return {"type": MESSAGE, "message": said, **about}
