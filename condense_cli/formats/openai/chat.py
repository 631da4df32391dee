"""Chat-completions messages (OpenAI and everything compatible): JSON lines, an array, or an object.

Shape: {"role", "content": str | null | [part, ...], "tool_calls"?: [{"id", "function": {"name",
"arguments": JSON in a string}} | {"id", "custom": {"name", "input": str}}], "tool_call_id"?}. The object form covers
recorded requests, such as OpenHands' completion logs ({"messages", "response", "kwargs", ...}), which may hold the
messages a second time.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from ...core import json_text
from ...core.transcript import Block, JsonPath, Place, Transcript
from ...core.values import STANDING_ROLES, BlockKind, Family, Role
from ..anthropic import BlockReader, attachment_block, envelope_model, envelope_text
from ..engine import repeats
from ..engine.base import Evidence, Format, message_role, part_kinds, unknown_block
from ..engine.client_text import is_injected
from ..engine.container import Document, as_lazy, with_beside
from ..engine.turns import Turn, joined
from . import tool_parts

ROLES = {
    "system": Role.SYSTEM,
    "developer": Role.DEVELOPER,
    "user": Role.USER,
    "assistant": Role.ASSISTANT,
    "tool": Role.TOOL,
    "function": Role.TOOL,
}
_PROOF_ROLES = {"tool", "function"}
_PROOF_PARTS = {"input_audio", "refusal"}
_MEDIA_PARTS = {"image_url", "audio_url", "video_url", "document_url", "file"}
"""Parts that this API and servers compatible with it take besides texts; what they show stands under their own name."""
_TEXT_PARTS = {"text", "input_text", "output_text"}
"""Texts, also as the Responses API calls them, which many servers take as well."""
_ANTHROPIC_PARTS = ("tool_use", "tool_result")
_REPEATED = ("raw_messages", "fncall_messages")
"""Keys of a recorded request that hold its messages again, as they were before a client wrote them anew."""
_ARGUMENTS = {"function": "arguments", "custom": "input"}
"""Where the arguments stand in what a call holds, by the key that it holds this under."""
_REASONING_KEYS = ("reasoning_content", "reasoning")
_OWN_KEYS = {"tool_calls", "function_call", "refusal", "annotations", "audio", *_REASONING_KEYS}
"""Keys of an answer that are this API's own, also with nothing in them, as SDKs write them."""


def evidence(value: Any) -> Evidence:
    if not isinstance(value, dict) or str(value.get("role")) not in ROLES:
        return Evidence.NO
    content = value.get("content")
    calls = value.get("tool_calls")
    is_likely = value["role"] in STANDING_ROLES or not _OWN_KEYS.isdisjoint(value)
    has_calls = (isinstance(calls, list) and bool(calls)) or isinstance(value.get("function_call"), dict)
    if calls and not (isinstance(calls, list) and isinstance(calls[0], dict) and _ARGUMENTS.keys() & calls[0].keys()):
        return Evidence.NO
    is_own = has_calls or value["role"] in _PROOF_ROLES or "tool_call_id" in value
    if isinstance(content, list):
        kinds = part_kinds(content)
        tools = kinds & tool_parts.KINDS.get(value["role"], frozenset())
        thinks = kinds & ({"reasoning"} if value["role"] == "assistant" else set())
        known = _TEXT_PARTS | _MEDIA_PARTS | _PROOF_PARTS | tools | thinks
        # Some clients say a call among the parts, too, as another API has it.
        if not (is_own or kinds <= known) or any(map(_is_foreign, content)):
            return Evidence.NO
        if tools or kinds & _PROOF_PARTS:
            return Evidence.YES
        is_likely = is_likely or bool(thinks or kinds & _MEDIA_PARTS)
    elif not isinstance(content, str) and not has_calls and value["role"] != "assistant":
        return Evidence.NO
    if is_own:
        return Evidence.YES
    # Messages in Anthropic's form are kept with such a role or part too, which its API may not take.
    return Evidence.LIKELY if is_likely else Evidence.MAYBE


def _is_foreign(part: Any) -> bool:
    """Whether a part is called as one of this API but has another shape: a text as a `value`, a file without `file`."""
    if not isinstance(part, dict):
        return False
    return ("value" in part and "text" not in part) or (part.get("type") == "file" and "file" not in part)


def fits(document: Document) -> bool:
    """Whether what is sent beside the messages is as this API takes it: tools inside the key of their kind, a model."""
    model = envelope_model(document.envelope)
    if model and "claude" not in model and "system" not in document.envelope:
        return True
    kwargs = document.envelope.get("kwargs")
    tools = document.envelope.get("tools") or (kwargs.get("tools") if isinstance(kwargs, dict) else None)
    first = tools[0] if isinstance(tools, list) and tools else None
    return isinstance(first, dict) and any(isinstance(first.get(kind), dict) for kind in _ARGUMENTS)


def read(document: Document, values: Iterator[Any]) -> Transcript:
    again = [(key,) for key in _REPEATED if key in document.envelope]
    document = with_beside(document, again) if again else document
    tools: dict[str, str] = {}
    turns = []
    for record, value in enumerate(values):
        if record in document.source.unparsed:
            continue
        role = message_role(record, value, ROLES)
        blocks = list(as_lazy(message_blocks(value, record, role, tools), document.source))
        turns.append(Turn(role, blocks))
    return Transcript(
        "openai-chat",
        Family.OPENAI_CHAT,
        joined(turns),
        document.source,
        model=envelope_model(document.envelope),
        envelope=envelope_text(document.envelope),
    )


def message_blocks(value: dict[str, Any], record: int, role: Role, tools: dict[str, str]) -> Iterator[Block]:
    """Blocks of one message. `tools` are the names of the tools called so far, by the id of the call."""
    for key in _REASONING_KEYS:
        reasoning = value.get(key)
        if isinstance(reasoning, str) and reasoning:
            yield Block(BlockKind.THINKING, Place(record, (key,)), (key,), content=reasoning)
            break
    kind = BlockKind.TOOL_RESULT if role is Role.TOOL else BlockKind.TEXT
    common: dict[str, Any] = {}
    if role is Role.TOOL:
        call_id = value.get("tool_call_id")
        call_id = call_id if isinstance(call_id, str) else None
        name = value.get("name")
        common = {"call_id": call_id, "tool": tools.get(call_id or "") or (name if isinstance(name, str) else None)}
    content = value.get("content")
    calls = value.get("tool_calls")
    calls = calls if isinstance(calls, list) else []
    if isinstance(content, str):
        yield _text(kind, content, Place(record, ("content",)), ("content",), role, common)
    elif isinstance(content, list) and content:
        again = {number for number, _ in tool_parts.repeated(value)}
        ids = {str(call.get("id")) for call in calls if isinstance(call, dict)}
        for index, part in enumerate(content):
            path = ("content", index)
            # The parts of a tool message are one result.
            owner = ("content",) if role is Role.TOOL else path
            if index in again:
                continue
            if _is_text(part):
                yield _text(kind, part["text"], Place(record, (*path, "text")), owner, role, common)
            elif isinstance(part, dict) and part.get("type") in _ANTHROPIC_PARTS and not (calls or role is Role.TOOL):
                # Linked by their ids, so that no pass takes one of the two without the other.
                yield from BlockReader(tools).part(part, record, path, is_user=role is Role.USER)
            elif tool_parts.is_one(part):
                yield from _tool_part(part, record, path, owner, common, tools)
            elif _is_text(part, "reasoning"):
                yield Block(BlockKind.THINKING, Place(record, (*path, "text")), path, content=part["text"])
            else:
                block = attachment_block(part, record, owner, place=path, **common)
                # Some clients say each call in both forms.
                is_repeated = block.api_type == "tool_use" and str(part.get("id")) in ids
                yield replace(block, is_unknown=False) if is_repeated else block
    elif role is Role.TOOL:
        yield Block(kind, Place(record, ("content",)), ("content",), **common)
    for index, call in enumerate(calls):
        yield _call(call, record, index, tools)
    if isinstance(value.get("function_call"), dict):
        text = json_text.dump_compact(value["function_call"])
        yield Block(BlockKind.OPAQUE, Place(record, ("function_call",)), ("function_call",), content=text)


def _is_text(part: Any, *kinds: str) -> bool:
    known = kinds or _TEXT_PARTS
    return isinstance(part, dict) and str(part.get("type")) in known and isinstance(part.get("text"), str)


def _tool_part(
    part: dict[str, Any], record: int, path: JsonPath, owner: JsonPath, common: dict[str, Any], tools: dict[str, str]
) -> Iterator[Block]:
    if part["type"] in tool_parts.CALLS:
        yield tool_parts.call(part, record, path, tools)
    else:
        yield from tool_parts.result(part, record, path, owner, common, tools)


def _text(
    kind: BlockKind, text: str, place: Place, owner: tuple[str | int, ...], role: Role, common: dict[str, Any]
) -> Block:
    return Block(kind, place, owner, content=text, injected=role is Role.USER and is_injected(text), **common)


def _call(call: Any, record: int, index: int, tools: dict[str, str]) -> Block:
    owner = ("tool_calls", index)
    inside = call if isinstance(call, dict) else {}
    key = next((key for key in _ARGUMENTS if isinstance(inside.get(key), dict)), None)
    if key is None or not isinstance(inside.get("id"), str) or _ARGUMENTS[key] not in inside[key]:
        return unknown_block(call, record, owner)
    name = tools[call["id"]] = str(call[key].get("name") or "")
    arguments = call[key][_ARGUMENTS[key]]
    is_object = not isinstance(arguments, str)
    return Block(
        BlockKind.TOOL_CALL,
        Place(record, (*owner, key, _ARGUMENTS[key])),
        owner,
        content=json_text.dump_compact(arguments) if is_object else arguments,
        tool=name,
        call_id=call["id"],
        is_object=is_object,
        is_free_text=key == "custom" and not is_object,
    )


def flat_call(call: Any, record: int, owner: JsonPath, name_key: str, tools: dict[str, str]) -> Block:
    """A call as some logs hold it: its name and arguments beside its id, the arguments an object."""
    is_call = isinstance(call, dict) and "arguments" in call
    if not is_call or not all(isinstance(call.get(key), str) for key in ("id", name_key)):
        return unknown_block(call, record, owner)
    tools[call["id"]] = call[name_key]
    return Block(
        BlockKind.TOOL_CALL,
        Place(record, (*owner, "arguments")),
        owner,
        content=json_text.dump_compact(call["arguments"]),
        tool=call[name_key],
        call_id=call["id"],
        is_object=True,
    )


FORMAT = Format(
    "openai-chat",
    Family.OPENAI_CHAT,
    "Chat-completions messages: JSON lines, an array, or an object with messages",
    evidence,
    read,
    is_default=True,
    fits=fits,
    complete=tool_parts.complete,
    display=repeats.displaying(tool_parts.shown),
)
