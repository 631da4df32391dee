"""Sessions of Qwen Code (`~/.qwen/projects/*/chats/*.jsonl`): records of a tree, as Claude Code's are, with Google's
contents.

    {"uuid", "parentUuid", "sessionId", "timestamp", "type": "user" | "assistant" | "tool_result",
     "message": {"role": "user" | "model", "parts": [part, ...]}, "toolCallResult"?: {"resultDisplay"}, ...}
    {…, "type": "system", "subtype": "chat_compression", "systemPayload": {"compressedHistory": [content, ...]}}

The client sends the messages on the way to the last record; of a compression its history, then what follows.
https://github.com/QwenLM/qwen-code/blob/main/packages/core/src/services/chatRecordingService.ts
"""

from __future__ import annotations

import json
from collections import Counter as Tally
from collections.abc import Iterator
from typing import Any, Final

from msgspec.structs import replace

from ..core import json_text
from ..core.transcript import Transcript
from ..core.values import Family, Role, Usage
from .engine import repeats, writing
from .engine.base import Evidence, Format, RecordEdits, recorded, records_of
from .engine.container import Document, as_lazy
from .engine.turns import PartsReader, Turn, joined

_TYPES: Final = ("user", "assistant", "tool_result", "system")
_SHOWN: Final = "toolCallResult"
_BESIDE: Final = ("session_artifact_", "session_sources_", "managed_session_")
"""How kinds of system records begin that are no part of the conversation."""


def evidence(value: Any) -> Evidence:
    if not isinstance(value, dict) or value.get("type") not in _TYPES or not isinstance(value.get("uuid"), str):
        return Evidence.NO
    if "parentUuid" not in value or not isinstance(value.get("sessionId"), str):
        return Evidence.NO
    message = value.get("message")
    if isinstance(message, dict):
        return Evidence.YES if isinstance(message.get("parts"), list) else Evidence.NO
    return Evidence.YES if "systemPayload" in value else Evidence.MAYBE


def read(document: Document, values: Iterator[Any]) -> Transcript:
    nodes: dict[str, list[_Node]] = {}
    unknown = Tally[str]()
    for record, value in enumerate(values):
        if _is_record(value):
            nodes.setdefault(value["uuid"], []).append((record, value))
        elif record not in document.source.unparsed:
            unknown["record that is none of a session"] += 1
    path = _sent(nodes)
    begins_in_middle = bool(path) and _compressed(path[0][1]) is None and path[0][1]["parentUuid"] is not None
    reader = PartsReader()
    turns: list[Turn] = []
    usages: list[Usage] = []
    model = None
    messages = 0
    for record, value in path:
        if value.get("type") == "assistant":
            model = value["model"] if isinstance(value.get("model"), str) else model
        for role, blocks in _turns(reader, record, value):
            goes_on = role is Role.TOOL and bool(turns) and turns[-1].role is Role.TOOL
            messages += not goes_on
            if role is Role.ASSISTANT:
                usages += _usage(messages - 1, value.get("usageMetadata"), model)
            answer = None if _compressed(value) is not None else value["uuid"]
            turns.append(Turn(role, list(as_lazy(blocks, document.source)), answer))
    earlier = sum(record < path[0][0] and _is_said(value) for parts in nodes.values() for record, value in parts[:1])
    return Transcript(
        "qwen-code",
        Family.OPENAI_CHAT,
        joined(turns),
        document.source,
        model=model,
        begins_in_middle=begins_in_middle,
        usages=tuple(usages),
        unknown=tuple(unknown.items()),
        warnings=writing.not_reached(path[0][0], "parentUuid", earlier) if begins_in_middle else (),
    )


_Node = tuple[int, dict[str, Any]]


def _is_record(value: Any) -> bool:
    """Whether the client reads a record; it passes over those that do not say who they are.

    https://github.com/QwenLM/qwen-code/blob/main/packages/core/src/utils/transcript-records.ts
    """
    if not isinstance(value, dict) or value.get("type") not in _TYPES:
        return False
    has_parent = isinstance(value.get("parentUuid", ...), str | None)
    return has_parent and all(isinstance(value.get(key), str) and bool(value[key]) for key in ("uuid", "sessionId"))


def _is_said(value: dict[str, Any]) -> bool:
    return value.get("type") in _TYPES[:3]


def _is_beside(value: dict[str, Any]) -> bool:
    """Whether a record hangs on the last one and is no part of the conversation itself, which goes on without it."""
    return value["type"] == "system" and str(value.get("subtype")).startswith(_BESIDE)


def _sent(nodes: dict[str, list[_Node]]) -> list[_Node]:
    """The records on the way to the last one, from the newest compression on.

    Several of one uuid are pieces of one message, which the first of them says where to find.
    """
    path: list[list[_Node]] = []
    last = [parts for parts in nodes.values() if not _is_beside(parts[0][1])][-1:]
    at = last[0] if last else None
    seen: set[str] = set()
    while at is not None and at[0][1]["uuid"] not in seen:
        seen.add(at[0][1]["uuid"])
        path.append(at)
        if _compressed(at[0][1]) is not None:
            break
        at = nodes.get(at[0][1]["parentUuid"] or "")
    return [part for parts in reversed(path) for part in parts]


def _compressed(value: dict[str, Any]) -> list[Any] | None:
    payload = value.get("systemPayload") if value.get("subtype") == "chat_compression" else None
    history = payload.get("compressedHistory") if isinstance(payload, dict) else None
    return history if isinstance(history, list) else None


def _turns(reader: PartsReader, record: int, value: dict[str, Any]) -> Iterator[tuple[Role, list[Any]]]:
    history = _compressed(value)
    for number, content in enumerate(history or ()):
        path = ("systemPayload", "compressedHistory", number)
        is_model = isinstance(content, dict) and content.get("role") == "model"
        for role, blocks in reader.turns(content, record, path, is_model=is_model):
            # Without them the client would send what stands before the compression.
            yield role, [replace(block, anchors=True, summarizes=role is Role.USER) for block in blocks]
    if value.get("type") != "system":
        is_model = value.get("type") == "assistant"
        turns = reader.turns(value.get("message"), record, ("message",), is_model=is_model)
        by_client = value.get("provenance") in ("system", "goal_runtime", "goal_control")
        for role, blocks in turns:
            is_injected = by_client and role is Role.USER
            yield role, [replace(block, injected=True) for block in blocks] if is_injected else blocks


def _usage(message: int, tokens: Any, model: str | None) -> Iterator[Usage]:
    """The count of what was sent includes what came from the cache."""
    if isinstance(tokens, dict):
        yield from recorded(message, [tokens.get("promptTokenCount")], tokens.get("candidatesTokenCount"), model=model)


def complete(meant: Transcript, edits: RecordEdits, gone: frozenset[int], style: json_text.Style) -> None:
    _copies_go(meant, edits, gone, style)
    writing.relink(meant.source, edits, gone, key="uuid", parent="parentUuid")


def new_message(role: Role, literal: str, replaced: str) -> dict[str, str]:
    old = json_text.parse_text(replaced)
    named = {key: json.dumps(value) for key, value in old.items() if key in _KEPT}
    return {**named, "type": '"user"', "message": f'{{"role": "user", "parts": [{{"text": {literal}}}]}}'}


_KEPT: Final = ("uuid", "parentUuid", "sessionId", "timestamp", "cwd", "version", "gitBranch")


def _shown(transcript: Transcript) -> Iterator[repeats.Shown]:
    for record, value in records_of(transcript.source):
        shown = value.get(_SHOWN) if isinstance(value, dict) else None
        if isinstance(shown, dict):
            yield record, (_SHOWN,), shown


_copies_go: Final = repeats.completing(_shown)

FORMAT = Format(
    "qwen-code",
    Family.OPENAI_CHAT,
    "Qwen Code session (~/.qwen/projects/*/chats/*.jsonl)",
    evidence,
    read,
    complete=complete,
    rules=(writing.parents_exist("parentUuid"),),
    display=repeats.displaying(_shown),
    new_message=new_message,
    summary_role=Role.USER,
)
