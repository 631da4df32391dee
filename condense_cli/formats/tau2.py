"""Simulations of tau2-bench: an object whose `messages` are the conversation of an agent and a simulated user.

The name and the arguments of a call stand in the call itself, and a result carries the id of its call. The user has
tools too, which the agent never sees: those calls and results are no part of the conversation. `raw_data` repeats a
message as the provider sent it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from ..core.transcript import Block, JsonPath, Place, Transcript
from ..core.values import BlockKind, Family, Role
from .engine import repeats
from .engine.base import Evidence, Format, message_role
from .engine.container import Document, as_lazy
from .engine.turns import Turn, joined
from .openai.chat import flat_call

_ROLES: Final = {"system": Role.SYSTEM, "user": Role.USER, "assistant": Role.ASSISTANT, "tool": Role.TOOL}


def evidence(value: Any) -> Evidence:
    if not isinstance(value, dict) or str(value.get("role")) not in _ROLES:
        return Evidence.NO
    is_own = "turn_idx" in value and ("cost" in value or "requestor" in value)
    return Evidence.YES if is_own else Evidence.NO


def read(document: Document, values: Iterator[Any]) -> Transcript:
    tools: dict[str, str] = {}
    turns = []
    for record, value in enumerate(values):
        if record in document.source.unparsed:
            continue
        role = message_role(record, value, _ROLES)
        blocks = list(as_lazy(_blocks(value, record, role, tools), document.source))
        if blocks:
            turns.append(Turn(role, blocks))
    return Transcript("tau2", Family.OPENAI_CHAT, joined(turns), document.source)


def _blocks(value: dict[str, Any], record: int, role: Role, tools: dict[str, str]) -> Iterator[Block]:
    several = value.get("tool_messages") if role is Role.TOOL else None
    if isinstance(several, list):
        for number, one in enumerate(several):
            if isinstance(one, dict):
                yield from _result(one, record, ("tool_messages", number), tools)
        return
    if role is Role.TOOL:
        yield from _result(value, record, (), tools)
        return
    text = value.get("content")
    if isinstance(text, str) and text.strip():
        yield Block(BlockKind.TEXT, Place(record, ("content",)), ("content",), content=text)
    calls = value.get("tool_calls") if role is Role.ASSISTANT else None
    for number, call in enumerate(calls if isinstance(calls, list) else ()):
        yield flat_call(call, record, ("tool_calls", number), "name", tools)


def _result(value: dict[str, Any], record: int, path: JsonPath, tools: dict[str, str]) -> Iterator[Block]:
    call_id, text = value.get("id"), value.get("content")
    if value.get("requestor") == "user" or not isinstance(call_id, str):
        return
    yield Block(
        BlockKind.TOOL_RESULT,
        Place(record, (*path, "content")),
        path or ("content",),
        content=text if isinstance(text, str) else "",
        tool=tools.get(call_id),
        call_id=call_id,
        is_error=value.get("error") is True,
    )


_SHOWN: Final = repeats.values_under("raw_data")

FORMAT = Format(
    "tau2",
    Family.OPENAI_CHAT,
    "Simulations of tau2-bench, one in a file",
    evidence,
    read,
    complete=repeats.completing(_SHOWN),
    display=repeats.displaying(_SHOWN),
)
