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
from collections.abc import Iterator
from typing import Any, Final

from msgspec.structs import replace

from ..core import json_text
from ..core.transcript import Family, Role, Transcript, Usage
from .engine import chain_links, repeats
from .engine.base import Evidence, Format, RecordEdits, records_of
from .engine.container import Document
from .engine.content_parts import PartsReader
from .engine.spelling import as_lazy
from .engine.turns import Turn, joined
from .engine.usages import recorded

_TYPES: Final = ("user", "assistant", "tool_result", "system")
_SHOWN: Final = "toolCallResult"


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
    nodes = {
        value["uuid"]: (record, value)
        for record, value in enumerate(values)
        if isinstance(value, dict) and isinstance(value.get("uuid"), str)
    }
    reader = PartsReader()
    turns: list[Turn] = []
    usages: list[Usage] = []
    model = None
    messages = 0
    for record, value in _sent(nodes):
        if value.get("type") == "assistant":
            model = value["model"] if isinstance(value.get("model"), str) else model
        for role, blocks in _turns(reader, record, value):
            goes_on = role is Role.TOOL and bool(turns) and turns[-1].role is Role.TOOL
            messages += not goes_on
            if role is Role.ASSISTANT:
                usages += _usage(messages - 1, value.get("usageMetadata"), model)
            turns.append(Turn(role, list(as_lazy(blocks, document.source))))
    return Transcript(
        "qwen-code", Family.OPENAI_CHAT, joined(turns), document.source, model=model, usages=tuple(usages)
    )


_Node = tuple[int, dict[str, Any]]


def _sent(nodes: dict[str, _Node]) -> list[_Node]:
    """The records on the way to the last one, from the newest compression on."""
    path: list[_Node] = []
    at = next(reversed(nodes.values()), None)
    seen: set[int] = set()
    while at is not None and at[0] not in seen:
        seen.add(at[0])
        path.append(at)
        if _compressed(at[1]) is not None:
            break
        parent = at[1].get("parentUuid")
        at = nodes.get(parent) if isinstance(parent, str) else None
    return path[::-1]


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
    chain_links.relink(meant.source, edits, gone, key="uuid", parent="parentUuid")


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
    display=repeats.displaying(_shown),
    new_message=new_message,
    summary_role=Role.USER,
)
