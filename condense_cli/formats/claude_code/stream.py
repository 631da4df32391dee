"""What `claude -p --output-format stream-json` prints: one event per line. It is only read.

Events of the types `assistant` and `user` hold the messages, one block each; those of a subagent name the call that
started it. The prompt that began the run is not among them. No client reads such a file back.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterator
from typing import Any, Final

from ...core.transcript import Transcript
from ...core.values import Family, Role
from ..anthropic import ROLES, BlockReader, merged
from ..engine.base import Evidence, Format, messages_understood
from ..engine.container import Document, as_lazy

_SAID: Final = ("assistant", "user")
_OTHERS: Final = frozenset({"system", "stream_event", "result", "rate_limit_event", "control_request", "tool_progress"})


def evidence(value: Any) -> Evidence:
    if not isinstance(value, dict) or "session_id" not in value or "parentUuid" in value:
        return Evidence.NO
    kind = value.get("type")
    if kind in _SAID:
        return Evidence.YES if isinstance(value.get("message"), dict) else Evidence.NO
    if kind == "system" and value.get("subtype") == "init":
        return Evidence.YES
    return Evidence.MAYBE if isinstance(kind, str) and kind in _OTHERS else Evidence.NO


def read(document: Document, values: Iterator[Any]) -> Transcript:
    reader = BlockReader()
    turns = []
    unknown = Tally[str]()
    model = None
    for record, value in enumerate(values):
        if not isinstance(value, dict):
            continue
        if value.get("subtype") == "init" and isinstance(value.get("model"), str):
            model = value["model"]
        kind = value.get("type")
        if lacking := _lacking(value):
            unknown[f"event {kind} without {lacking}"] += 1
        elif kind not in _SAID and str(kind) not in _OTHERS:
            unknown[f"event {kind}"] += 1
        if lacking or kind not in _SAID or value.get("parent_tool_use_id"):
            continue
        role = ROLES[kind]
        content = reader.content(
            value["message"].get("content"), record, ("message", "content"), is_user=role is Role.USER
        )
        blocks = list(as_lazy(content, document.source))
        if blocks:
            turns.append((role, blocks))
    return Transcript(
        "claude-stream-json",
        Family.ANTHROPIC,
        merged(turns),
        document.source,
        model=model,
        unknown=tuple(unknown.items()),
    )


def _lacking(value: Any) -> str:
    """Name what an event lacks that may be a message; empty for one that is whole, or no message."""
    if not isinstance(value, dict):
        return ""
    is_said, has_message = value.get("type") in _SAID, isinstance(value.get("message"), dict)
    if is_said:
        return "" if has_message else "message"
    return "a known type" if has_message else ""


FORMAT = Format(
    "claude-stream-json",
    Family.ANTHROPIC,
    "Output of claude -p --output-format stream-json, read-only",
    evidence,
    read,
    rules=(messages_understood(_lacking),),
    is_writable=False,
)
