"""Conversations of training sets in the form of ShareGPT, and in the form that LLaMA-Factory made of it.

    {"conversations": [{"from": "human" | "gpt" | "function_call" | "observation" | "system", "value": str}, ...],
     "system"?: str, "tools"?: JSON in a string}
    {"messages": [{"role", "content": [{"type": "text" | "reasoning" | "tool_call", "value": str}, ...]}], "tools"?}

A call is a JSON text: {"name", "arguments"}, or a list of them. Nothing but the order links it to its result.
https://llamafactory.readthedocs.io/en/latest/getting_started/data_preparation.html
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator
from typing import Any, Final

from ..core import json_text
from ..core.transcript import IN_STRING, TEXT_CALL, Block, JsonPath, Place, Transcript
from ..core.values import BlockKind, Family, Role
from ..errors import UnknownFormatError
from .anthropic import envelope_text
from .engine.base import Evidence, Format, not_a_message, only_value, part_kinds, unknown_block
from .engine.client_text import is_injected
from .engine.container import Document, as_lazy, with_records_under
from .engine.turns import Turn, joined

ROLES: Final = {
    "human": Role.USER,
    "user": Role.USER,
    "gpt": Role.ASSISTANT,
    "assistant": Role.ASSISTANT,
    "function_call": Role.ASSISTANT,
    "tool_call": Role.ASSISTANT,
    "observation": Role.TOOL,
    "tool": Role.TOOL,
    "tool_response": Role.TOOL,
    "system": Role.SYSTEM,
}
"""Who speaks, by `from` or `role`."""

_CALLS: Final = ("function_call", "tool_call", "tool_calls")
_KINDS: Final = {"text", "reasoning", "tools", *_CALLS}
_SPEAKERS: Final = {Role.USER: "human", Role.ASSISTANT: "gpt"}


def evidence(value: Any) -> Evidence:
    if not isinstance(value, dict):
        return Evidence.NO
    if _speaker(value):
        return Evidence.YES
    parts = value.get("content")
    if not isinstance(parts, list) or not parts or not part_kinds(parts) <= _KINDS:
        return Evidence.NO
    have_values = all(isinstance(part, dict) and isinstance(part.get("value"), str) for part in parts)
    return Evidence.YES if have_values and str(value.get("role")) in ROLES else Evidence.NO


def claims(document: Document) -> bool:
    """Whether the only record of a file is a conversation; of many, each is a row."""
    value = only_value(document, "conversations")
    turns = value["conversations"] if value else None
    return isinstance(turns, list) and bool(turns) and _speaker(turns[0]) is not None


def _speaker(turn: Any) -> Role | None:
    is_turn = isinstance(turn, dict) and isinstance(turn.get("value"), str)
    return ROLES.get(str(turn.get("from"))) if is_turn else None


def read(document: Document, values: Iterator[Any]) -> Transcript:
    """Raises UnknownFormatError where the file holds several conversations; each row is read by itself."""
    records = list(values)
    if any(isinstance(value, dict) and "conversations" in value for value in records):
        if len(records) > 1:
            raise UnknownFormatError(
                "It holds several conversations in one array.",
                "Put each on its own line (jq -c '.[]'); such a file is a set of rows.",
            )
        document = with_records_under(document, "conversations")
        records = list(document.values)
    reader = _Reader()
    turns = []
    for record, value in enumerate(records):
        if record in document.source.unparsed:
            continue
        speaker = value.get("from", value.get("role")) if isinstance(value, dict) else None
        role = ROLES.get(str(speaker))
        if role is None:
            raise not_a_message(record, value, f"it is from none of {', '.join(ROLES)}")
        blocks = list(as_lazy(reader.blocks(value, record, role, str(speaker)), document.source))
        turns.append(Turn(role, blocks))
    return Transcript(
        "sharegpt", Family.OPENAI_CHAT, joined(turns), document.source, envelope=envelope_text(document.envelope)
    )


class _Reader:
    """Reads messages in order; results answer the calls of the message before them, one after the other."""

    def __init__(self) -> None:
        self._open: deque[Block] = deque()
        self._number = 0

    def blocks(self, value: dict[str, Any], record: int, role: Role, speaker: str) -> Iterator[Block]:
        if role is Role.ASSISTANT:
            self._open.clear()
        content = value.get("value") if "value" in value else value.get("content")
        if isinstance(content, list):
            for index, part in enumerate(content):
                owner: JsonPath = ("content", index)
                text = part.get("value") if isinstance(part, dict) else None
                if isinstance(text, str):
                    yield from self._part(text, str(part.get("type")), record, (*owner, "value"), owner, role)
                else:
                    yield unknown_block(part, record, owner)
        elif isinstance(content, str):
            path: JsonPath = ("value",) if "value" in value else ("content",)
            yield from self._part(content, speaker, record, path, path, role)

    def _part(self, text: str, kind: str, record: int, path: JsonPath, owner: JsonPath, role: Role) -> Iterator[Block]:
        place = Place(record, path)
        if kind in _CALLS and role is Role.ASSISTANT:
            yield from self._calls(text, place, owner)
        elif kind == "reasoning":
            yield Block(BlockKind.THINKING, place, owner, content=text)
        elif role is Role.TOOL:
            call = self._open.popleft() if self._open else None
            call_id, tool = (call.call_id, call.tool) if call else (None, None)
            yield Block(BlockKind.TOOL_RESULT, place, owner, content=text, call_id=call_id, tool=tool)
        elif kind == "tools":
            yield Block(BlockKind.OPAQUE, place, owner, content=text)
        else:
            yield Block(BlockKind.TEXT, place, owner, content=text, injected=role is Role.USER and is_injected(text))

    def _calls(self, text: str, place: Place, owner: JsonPath) -> Iterator[Block]:
        """Each call in a JSON text; what is none is kept as it is."""
        try:
            value = json_text.parse_text(text)
        except (ValueError, RecursionError):
            value = None
        calls = list(enumerate(value)) if isinstance(value, list) else [(None, value)]
        if not calls or not all(isinstance(call, dict) and isinstance(call.get("name"), str) for _, call in calls):
            yield Block(BlockKind.OPAQUE, place, owner, content=text)
            return
        for index, call in calls:
            self._number += 1
            arguments = call.get("arguments", {})
            is_object = not isinstance(arguments, str)
            inside: JsonPath = ("arguments",) if index is None else (index, "arguments")
            block = Block(
                BlockKind.TOOL_CALL,
                Place(place.record, (*place.path, IN_STRING, *inside)),
                owner,
                content=json_text.dump_compact(arguments) if is_object else arguments,
                tool=call["name"],
                call_id=f"{TEXT_CALL}{self._number}",
                is_object=is_object,
            )
            self._open.append(block)
            yield block


def new_message(role: Role, literal: str, replaced: str) -> dict[str, str]:
    if "from" in json_text.parse_text(replaced):
        return {"from": json.dumps(_SPEAKERS[role]), "value": literal}
    return {"role": json.dumps(role.value), "content": f'[{{"type": "text", "value": {literal}}}]'}


FORMAT = Format(
    "sharegpt",
    Family.OPENAI_CHAT,
    "ShareGPT conversations: one object with conversations, or with messages whose parts have values",
    evidence,
    read,
    claims=claims,
    new_message=new_message,
)
