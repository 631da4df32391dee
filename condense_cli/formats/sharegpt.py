"""Conversations of training sets in the form of ShareGPT, and in the form that LLaMA-Factory made of it.

    {"conversations": [{"from": "human" | "gpt" | "function_call" | "observation" | "system", "value": str}, ...],
     "system"?: str, "tools"?: JSON in a string}
    {"messages": [{"role", "content": [{"type": "text" | "reasoning" | "tool_call", "value": str}, ...]}], "tools"?}

A call is a JSON text: {"name", "arguments"}, or a list of them. Only the order links it to its result.
https://llamafactory.readthedocs.io/en/latest/getting_started/data_preparation.html
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator
from typing import Any, Final

from msgspec.structs import replace

from ..core import json_text
from ..core.json_text import value_in
from ..core.transcript import IN_STRING, TEXT_CALL, Block, JsonPath, Place, Transcript
from ..core.values import BlockKind, Family, Role
from ..errors import UnknownFormatError
from .anthropic import envelope_text
from .engine.base import Evidence, Format, not_a_message, only_value, part_kinds
from .engine.blocks import listed, read_list, text_block, unknown_block
from .engine.container import Document, with_records_under

_ROLES: Final = {
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
"""Roles by `from` or `role`."""

_CALLS: Final = ("function_call", "tool_call", "tool_calls")
_KINDS: Final = {"text", "reasoning", "tools", *_CALLS}


def evidence(value: Any) -> Evidence:
    if not isinstance(value, dict):
        return Evidence.NO
    if _is_turn(value):
        return Evidence.YES
    parts = value.get("content")
    if not isinstance(parts, list) or not parts or not part_kinds(parts) <= _KINDS:
        return Evidence.NO
    have_values = all(isinstance(part, dict) and isinstance(part.get("value"), str) for part in parts)
    return Evidence.YES if have_values and str(value.get("role")) in _ROLES else Evidence.NO


def _is_turn(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("value"), str) and str(value.get("from")) in _ROLES


def _claims(document: Document) -> bool:
    """Return whether the only record of a file is a conversation; of many, each is a row."""
    turns = listed(only_value(document, "conversations"), "conversations")
    return bool(turns) and _is_turn(turns[0])


def _read(document: Document, values: Iterator[Any]) -> Transcript:
    """Read one conversation. Raises UnknownFormatError if there are several."""
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

    def find(record: int, value: Any) -> tuple[Role, JsonPath, dict[str, Any]]:
        speaker = value.get("from", value.get("role")) if isinstance(value, dict) else None
        role = _ROLES.get(str(speaker))
        if role is None:
            raise not_a_message(record, value, f"it is from none of {', '.join(_ROLES)}")
        return role, (), value

    read = read_list("sharegpt", document, records, find, reader.blocks)
    return replace(read, envelope=envelope_text(document.envelope))


class _Reader:
    """Read messages in order. Results answer the calls of the message before them, one after the other."""

    def __init__(self) -> None:
        self._open: deque[Block] = deque()
        self._number = 0

    def blocks(self, value: dict[str, Any], record: int, path: JsonPath, role: Role) -> Iterator[Block]:
        if role is Role.ASSISTANT:
            self._open.clear()
        key = "value" if "value" in value else "content"
        content = value.get(key)
        if isinstance(content, list):
            for index, part in enumerate(content):
                owner: JsonPath = ("content", index)
                text = value_in(part, "value")
                if isinstance(text, str):
                    yield from self._part(text, str(part.get("type")), record, (*owner, "value"), owner, role)
                else:
                    yield unknown_block(part, record, owner)
        elif isinstance(content, str):
            speaker = str(value.get("from", value.get("role")))
            yield from self._part(content, speaker, record, (key,), (key,), role)

    def _part(self, text: str, kind: str, record: int, path: JsonPath, owner: JsonPath, role: Role) -> Iterator[Block]:
        if kind in _CALLS and role is Role.ASSISTANT:
            yield from self._calls(text, Place(record, path), owner)
        elif kind == "reasoning":
            yield Block(BlockKind.THINKING, Place(record, path), owner, content=text)
        elif role is Role.TOOL:
            call = self._open.popleft() if self._open else None
            call_id, tool = (call.call_id, call.tool) if call else (None, None)
            yield text_block(text, record, path, owner, kind=BlockKind.TOOL_RESULT, call_id=call_id, tool=tool)
        elif kind == "tools":
            yield Block(BlockKind.OPAQUE, Place(record, path), owner, content=text)
        else:
            yield text_block(text, record, path, owner, is_user=role is Role.USER)

    def _calls(self, text: str, place: Place, owner: JsonPath) -> Iterator[Block]:
        """Yield each call in a JSON text; a text without calls is kept as it is."""
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


def _new_message(role: Role, literal: str, replaced: str) -> dict[str, str]:
    if "from" in json_text.parse_text(replaced):
        return {"from": '"human"' if role is Role.USER else '"gpt"', "value": literal}
    return {"role": json.dumps(role.value), "content": f'[{{"type": "text", "value": {literal}}}]'}


FORMAT: Final = Format(
    "sharegpt",
    Family.OPENAI_CHAT,
    "ShareGPT conversations: one object with conversations, or with messages whose parts have values",
    evidence,
    _read,
    claims=_claims,
    new_message=_new_message,
)
