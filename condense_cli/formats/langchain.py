"""Messages of LangChain, as `messages_to_dict`, `dumpd` and `model_dump` write them: an array, lines, or an object.

    {"type": "human" | "ai" | "tool" | "system", "data": message}
    {"lc": 1, "type": "constructor", "id": [..., "AIMessage"], "kwargs": message}
    message: {"type", "content": str | [part, ...], "tool_calls"?: [{"name", "args", "id"}], "tool_call_id"?,
              "additional_kwargs": {"tool_calls"?}, "response_metadata", ...}

Calls may be there again among the parts of the content, as Anthropic's API has them, or in `additional_kwargs`, as
OpenAI's has; what counts is `tool_calls`. https://python.langchain.com/docs/concepts/messages/
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from ..core import json_text
from ..core.transcript import Block, JsonPath, Place, Transcript
from ..core.values import BlockKind, Family, Role
from .anthropic import attachment_block
from .engine import repeats
from .engine.base import Evidence, Format, RecordEdits, not_a_message, records_of, unknown_block
from .engine.client_text import is_injected
from .engine.container import Document, as_lazy
from .engine.turns import Turn, joined

_ROLES: Final = {
    "human": Role.USER,
    "ai": Role.ASSISTANT,
    "tool": Role.TOOL,
    "system": Role.SYSTEM,
    "function": Role.TOOL,
}
_OWN: Final = ("additional_kwargs", "response_metadata")


def _inside(value: Any) -> tuple[Role, JsonPath, dict[str, Any]] | None:
    """Who speaks in a record, and where in it the message is; None for what is no message."""
    if not isinstance(value, dict):
        return None
    kind = str(value.get("type"))
    path: JsonPath = ()
    inner: Any = value
    if isinstance(value.get("data"), dict):
        inner, path = value["data"], ("data",)
    elif isinstance(value.get("kwargs"), dict) and isinstance(value.get("id"), list) and value["id"]:
        inner, path = value["kwargs"], ("kwargs",)
        kind = str(value["id"][-1]).removesuffix("Chunk").removesuffix("Message").lower()
    kind = kind.removesuffix("MessageChunk").lower()
    return (_ROLES[kind], path, inner) if kind in _ROLES and "content" in inner else None


def evidence(value: Any) -> Evidence:
    found = _inside(value)
    if found is None:
        return Evidence.NO
    _, path, message = found
    return Evidence.YES if path or any(key in message for key in _OWN) else Evidence.MAYBE


def read(document: Document, values: Iterator[Any]) -> Transcript:
    tools: dict[str, str] = {}
    turns: list[Turn] = []
    model = None
    for record, value in enumerate(values):
        if record in document.source.unparsed:
            continue
        found = _inside(value)
        if found is None:
            raise not_a_message(record, value, "it has no type and content as LangChain's have")
        role, path, message = found
        about = message.get("response_metadata")
        named = about.get("model_name") or about.get("model") if isinstance(about, dict) else None
        model = named if isinstance(named, str) else model
        blocks = list(as_lazy(_blocks(message, record, path, role, tools), document.source))
        turns.append(Turn(role, blocks))
    return Transcript("langchain", Family.OPENAI_CHAT, joined(turns), document.source, model=model)


def _blocks(message: dict[str, Any], record: int, path: JsonPath, role: Role, tools: dict[str, str]) -> Iterator[Block]:
    common: dict[str, Any] = {}
    kind = BlockKind.TOOL_RESULT if role is Role.TOOL else BlockKind.TEXT
    where = (*path, "content")
    if role is Role.TOOL:
        call_id, name = message.get("tool_call_id"), message.get("name")
        call_id = call_id if isinstance(call_id, str) else None
        tool = tools.get(call_id or "") or (name if isinstance(name, str) else None)
        common = {"call_id": call_id, "tool": tool, "is_error": message.get("status") == "error"}
    content, calls = message.get("content"), message.get("tool_calls")
    calls = calls if isinstance(calls, list) else []
    ids = {str(call.get("id")) for call in calls if isinstance(call, dict)}
    if isinstance(content, str) and (content or role is not Role.ASSISTANT):
        injected = role is Role.USER and is_injected(content)
        yield Block(kind, Place(record, where), where, content=content, injected=injected, **common)
    for number, part in enumerate(content if isinstance(content, list) else ()):
        owner = where if role is Role.TOOL else (*where, number)
        text = part if isinstance(part, str) else part.get("text") if isinstance(part, dict) else None
        if isinstance(text, str):
            place = (*where, number) if isinstance(part, str) else (*where, number, "text")
            injected = role is Role.USER and is_injected(text)
            yield Block(kind, Place(record, place), owner, content=text, injected=injected, **common)
        elif not isinstance(part, dict) or part.get("type") != "tool_use" or str(part.get("id")) not in ids:
            yield attachment_block(part, record, owner, place=(*where, number), **common)
    for number, call in enumerate(calls):
        owner = (*path, "tool_calls", number)
        if not isinstance(call, dict) or not isinstance(call.get("id"), str) or "args" not in call:
            yield unknown_block(call, record, owner)
            continue
        tools[call["id"]] = str(call.get("name") or "")
        yield Block(
            BlockKind.TOOL_CALL,
            Place(record, (*owner, "args")),
            owner,
            content=json_text.dump_compact(call["args"]),
            tool=tools[call["id"]],
            call_id=call["id"],
            is_object=True,
        )


def complete(meant: Transcript, edits: RecordEdits, gone: frozenset[int], style: json_text.Style) -> None:
    """A call that goes, goes from its copies as well; a message keeps its content, if an empty one."""
    _copies_go(meant, edits, gone, style)
    new = {block.place.record for _, block in meant.blocks() if block.is_inserted}
    records = {block.place.record for block in meant.removed} - gone - new
    removed = {block.call_id for block in meant.removed if block.kind is BlockKind.TOOL_CALL}
    for record, value in records_of(meant.source) if records else ():
        found = _inside(value) if record in records else None
        if found is None:
            continue
        for path, call in _copies(found[2], found[1]):
            if isinstance(call, dict) and isinstance(call.get("id"), str) and call["id"] in removed:
                kept = {each: new for each, new in edits[record].items() if each[: len(path)] != path}
                edits[record] = kept | {path: json_text.REMOVE}
        content: JsonPath = (*found[1], "content")
        if content in edits[record]:
            edits[record][content] = '""'


def _copies(message: dict[str, Any], path: JsonPath) -> Iterator[tuple[JsonPath, Any]]:
    """Calls that a message holds a second time, and where."""
    if message.get("tool_calls"):
        more = message.get("additional_kwargs")
        for where, found in (
            (("content",), message.get("content")),
            (("additional_kwargs", "tool_calls"), more.get("tool_calls") if isinstance(more, dict) else None),
        ):
            for number, part in enumerate(found if isinstance(found, list) else ()):
                if where[0] != "content" or (isinstance(part, dict) and part.get("type") == "tool_use"):
                    yield (*path, *where, number), part


def new_message(role: Role, literal: str, replaced: str) -> dict[str, str]:
    found = _inside(json_text.parse_text(replaced))
    path = found[1] if found else ()
    empty = '"additional_kwargs": {}, "response_metadata": {}'
    message = f'{{"type": "human", "content": {literal}, {empty}}}'
    if path == ("data",):
        return {"type": '"human"', "data": message}
    if path == ("kwargs",):
        class_path = '["langchain", "schema", "messages", "HumanMessage"]'
        return {"lc": "1", "type": '"constructor"', "id": class_path, "kwargs": message}
    return {"type": '"human"', "content": literal, "additional_kwargs": "{}", "response_metadata": "{}"}


def _shown(transcript: Transcript) -> Iterator[repeats.Shown]:
    yield from repeats.values_beside(transcript)
    for record, value in records_of(transcript.source):
        found = _inside(value) if record < transcript.source.listed else None
        for path, part in _copies(found[2], found[1]) if found else ():
            yield record, path, part


_copies_go: Final = repeats.completing(_shown)

FORMAT = Format(
    "langchain",
    Family.OPENAI_CHAT,
    "LangChain messages (messages_to_dict, dumpd, model_dump)",
    evidence,
    read,
    complete=complete,
    display=repeats.displaying(_shown),
    new_message=new_message,
    summary_role=Role.USER,
)
