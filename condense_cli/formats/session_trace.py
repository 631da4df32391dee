"""Session traces of the Hugging Face Hub (the Session Trace Simple Format): a header, then a message on each line.

    {"type": "session", "harness", "id", "name"?, ...}
    {"type": "message", "message": {"role": "user" | "assistant" | "system" | "tool", "content": str,
     "reasoningContent"?, "toolCalls"?: [{"id", "function": {"name", "arguments": JSON in a string}}], "toolCallId"?,
     "model"?, ...}}

Sessions of Claude Code, Codex and pi are shared there as they are. https://huggingface.co/docs/hub/session-traces-format
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from ..core import json_text
from ..core.transcript import Block, JsonPath, Place, Transcript
from ..core.values import BlockKind, Family, Role
from .engine.base import Evidence, Format, RecordEdits, message_role, not_a_message, unknown_block
from .engine.client_text import is_injected
from .engine.container import Document, as_lazy
from .engine.turns import Turn, joined

_ROLES: Final = {role.value: role for role in (Role.USER, Role.ASSISTANT, Role.SYSTEM, Role.TOOL)}
_CONTENT: Final[JsonPath] = ("message", "content")


def evidence(value: Any) -> Evidence:
    if not isinstance(value, dict):
        return Evidence.NO
    if value.get("type") == "session":
        is_header = isinstance(value.get("harness"), str) and isinstance(value.get("id"), str)
        return Evidence.YES if is_header and not _is_of_pi(value) else Evidence.NO
    message = value.get("message") if value.get("type") == "message" else None
    if not isinstance(message, dict) or str(message.get("role")) not in _ROLES:
        return Evidence.NO
    return Evidence.MAYBE if isinstance(message.get("content", ""), str) else Evidence.NO


def _is_of_pi(header: dict[str, Any]) -> bool:
    """Whether a header is that of a session in pi's own format, where it may name a harness as well."""
    return "cwd" in header and isinstance(header.get("version"), int)


def read(document: Document, values: Iterator[Any]) -> Transcript:
    tools: dict[str, str] = {}
    turns: list[Turn] = []
    model = None
    for record, value in enumerate(values):
        if record in document.source.unparsed or evidence(value) is Evidence.YES:
            continue
        if evidence(value) is Evidence.NO:
            raise not_a_message(record, value, "it is neither a session with a harness nor a message with a text")
        message = value["message"]
        role = message_role(record, message, _ROLES)
        model = message["model"] if isinstance(message.get("model"), str) else model
        turns.append(Turn(role, list(as_lazy(_blocks(message, record, role, tools), document.source))))
    return Transcript("session-trace", Family.OPENAI_CHAT, joined(turns), document.source, model=model)


def _blocks(message: dict[str, Any], record: int, role: Role, tools: dict[str, str]) -> Iterator[Block]:
    thought = message.get("reasoningContent")
    if isinstance(thought, str) and thought:
        path = ("message", "reasoningContent")
        yield Block(BlockKind.THINKING, Place(record, path), path, content=thought)
    text = message.get("content", "")
    place = Place(record, _CONTENT)
    if role is Role.TOOL:
        call_id = message["toolCallId"] if isinstance(message.get("toolCallId"), str) else None
        tool = tools.get(call_id or "")
        yield Block(BlockKind.TOOL_RESULT, place, _CONTENT, content=text, call_id=call_id, tool=tool)
    elif text or role is not Role.ASSISTANT:
        injected = role is Role.USER and is_injected(text)
        yield Block(BlockKind.TEXT, place, _CONTENT, content=text, injected=injected)
    calls = message.get("toolCalls")
    for number, call in enumerate(calls if isinstance(calls, list) else ()):
        yield _call(call, record, ("message", "toolCalls", number), tools)


def _call(call: Any, record: int, owner: JsonPath, tools: dict[str, str]) -> Block:
    inside = call.get("function") if isinstance(call, dict) and isinstance(call.get("id"), str) else None
    arguments = inside.get("arguments") if isinstance(inside, dict) else None
    if not isinstance(inside, dict) or not isinstance(arguments, str):
        return unknown_block(call, record, owner)
    tool = tools[call["id"]] = str(inside.get("name") or "")
    place = Place(record, (*owner, "function", "arguments"))
    return Block(BlockKind.TOOL_CALL, place, owner, content=arguments, tool=tool, call_id=call["id"])


def complete(meant: Transcript, edits: RecordEdits, gone: frozenset[int], style: json_text.Style) -> None:
    """A message of calls alone has an empty text."""
    for record, changes in edits.items():
        if _CONTENT in changes and record not in gone:
            changes[_CONTENT] = '""'


def new_message(role: Role, literal: str, replaced: str) -> dict[str, str]:
    return {"type": '"message"', "message": f'{{"role": "{role.value}", "content": {literal}}}'}


FORMAT = Format(
    "session-trace",
    Family.OPENAI_CHAT,
    "Session traces of the Hugging Face Hub (STS-Format)",
    evidence,
    read,
    complete=complete,
    new_message=new_message,
)
