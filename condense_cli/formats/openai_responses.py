"""Items of OpenAI's Responses API, as an agent keeps them and sends them: JSON lines, an array, or an object.

    {"role", "content": str | [part, ...], "type": "message"?, "id"?, "status"?, "phase"?}
    {"type": "function_call", "call_id", "name", "arguments": JSON in a string, "id"?}
    {"type": "function_call_output", "call_id", "output": str | [part, ...]}
    {"type": "reasoning", "id", "summary": [part, ...], "encrypted_content"?}

and many more. The object is the body of a request: {"model", "input": [item, ...], "instructions"?, "tools"?, ...}.
https://platform.openai.com/docs/api-reference/responses/create
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from msgspec.structs import replace

from ..core import json_text
from ..core.transcript import Block, Message, Transcript
from ..core.values import BlockKind, Family, Role
from .anthropic import envelope_model
from .engine.base import Evidence, FileFault, FileRule, Format, not_a_message, only_value, part_kinds, records_of
from .engine.container import Document, as_lazy, with_records_under
from .responses_items import NEED_IDS, NEEDED, REASONING, ROLES, Item, ItemReader, turns_of, with_forgotten, without_ids

_PARTS: Final = {"input_audio", "input_file", "input_image", "input_text", "output_text", "refusal"}


def evidence(value: Any) -> Evidence:
    if not isinstance(value, dict):
        return Evidence.NO
    kind = value.get("type")
    if kind not in (None, "message"):
        if isinstance(kind, str) and NEEDED.get(kind) in value:
            return Evidence.YES
        has_id = isinstance(value.get("id"), str) or isinstance(value.get("call_id"), str)
        return Evidence.MAYBE if isinstance(kind, str) and has_id else Evidence.NO  # One that is new.
    content = value.get("content")
    if str(value.get("role")) not in ROLES or value.get("tool_calls") or "tool_call_id" in value:
        return Evidence.NO
    if isinstance(content, str) or content == []:
        return Evidence.MAYBE
    if not isinstance(content, list) or not part_kinds(content) <= _PARTS:
        return Evidence.NO
    # Servers for chat completions take messages with such parts too, but not with a type.
    return Evidence.YES if value.get("type") else Evidence.MAYBE


def _claims(document: Document) -> bool:
    """Return whether the only record of a file is the body of a request."""
    items = _input(only_value(document, "input"))
    return bool(items) and all(evidence(item) is not Evidence.NO for item in items)


def _input(value: Any) -> list[Any]:
    items = value.get("input") if isinstance(value, dict) and "type" not in value else None
    return items if isinstance(items, list) else []


def _read(document: Document, values: Iterator[Any]) -> Transcript:
    items = list(_items(document, values))
    if len(items) == 1 and _input(items[0].value):
        document = with_records_under(document, "input", items[0].record)
        items = list(_items(document, document.values))
    reader = ItemReader()
    messages: list[Message] = []
    for role, turn in turns_of(items):
        blocks: list[Block] = []
        # Reasoning stays if an item of the same turn behind it could not be sent without the id that asks for it.
        last = max((number for number, item in enumerate(turn) if item.kind in NEED_IDS), default=-1)
        for number, item in enumerate(turn):
            for block in as_lazy(reader.blocks(item), document.source):
                is_fixed = block.kind is BlockKind.THINKING and number < last
                blocks.append(replace(block, kind=BlockKind.OPAQUE, api_type=REASONING) if is_fixed else block)
        messages.append(Message(len(messages), role, tuple(blocks)))
    model = envelope_model(document.envelope)
    sent = (document.envelope.get(key) for key in ("instructions", "tools"))
    return Transcript(
        "openai-responses",
        Family.OPENAI_RESPONSES,
        with_forgotten(tuple(messages), model),
        document.source,
        model=model,
        envelope="\n".join(part if isinstance(part, str) else json_text.dump_compact(part) for part in sent if part),
    )


def _items(document: Document, values: Iterator[Any]) -> Iterator[Item]:
    """Yield the items. Raises UnknownFormatError for a record that is none."""
    for record, value in enumerate(values):
        if record in document.source.unparsed:
            continue
        if not isinstance(value, dict) or not ("type" in value or str(value.get("role")) in ROLES or _input(value)):
            raise not_a_message(record, value, f"it has no type, and its role is none of {', '.join(ROLES)}")
        yield Item(record, (), value)


def _item_ids_unique(transcript: Transcript) -> Iterator[FileFault]:
    seen: set[str] = set()
    for record, value in records_of(transcript.source):
        item_id = value.get("id") if isinstance(value, dict) else None
        if isinstance(value, dict) and value.get("type") == "local_shell_call_output":
            continue  # It may name its call by its `id`.
        if isinstance(item_id, str) and item_id in seen:
            said = f"Duplicate item found with id {item_id}. Remove duplicate items from your input and try again."
            yield FileFault("item_ids_unique", record, said)
        elif isinstance(item_id, str):
            seen.add(item_id)


FORMAT: Final = Format(
    "openai-responses",
    Family.OPENAI_RESPONSES,
    "Items of the Responses API: JSON lines, an array, or an object with input",
    evidence,
    _read,
    claims=_claims,
    complete=without_ids(lambda path: ()),
    rules=(FileRule(_item_ids_unique),),
    summary_role=Role.USER,
)
