"""Lists of messages whose content is parts, each with a shape of its own.

Bedrock Converse  {"messages": [{"role": "user" | "assistant", "content": [part, ...]}, ...], "system", "toolConfig"}
    {"text"} · {"toolUse": {"toolUseId", "name", "input"}} · {"image": {"source"}} · {"reasoningContent": {...}}
    {"toolResult": {"toolUseId", "content": [{"text"} | {"json"} | {"image"} | ...], "status"?}}
    Parts have no type, but one key that names it.
    https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ContentBlock.html

Goose  {"role": "user" | "assistant", "created", "content": [part, ...], "metadata"?: {"agentVisible"}}
    {"type": "text", "text"} · {"type": "toolRequest", "id", "toolCall": {"status", "value": {"name", "arguments"}}}
    {"type": "toolResponse", "id", "toolResult": {"status", "value": {"content": [part, ...], "isError"}} | {"error"}}
    Lines of a session behind a header, or the `conversation` of an exported one. A compaction of the client makes older
    messages invisible to the agent.
    https://github.com/block/goose/blob/main/crates/goose/src/conversation/message.rs

Droid  {"type": "session_start", "id", "cwd", ...}, then {"type": "message", "id", "message": message, ...}
    Messages are Anthropic's. (~/.factory/sessions/*/*.jsonl)

Amp  {"v", "id", "messages": [{"role", "messageId", "content": [part, ...], "usage"?: {"model"}}, ...]}
    Parts are Anthropic's, but for {"type": "tool_result", "toolUseID", "run": {"status", "result"}}. Threads are kept
    on Amp's server, so that a file is only read. (~/.local/share/amp/threads/T-*.json)

AI SDK  {"id", "role": "user" | "assistant" | "system", "parts": [part, ...]}: messages of its user interface
    {"type": "text" | "reasoning", "text"} · {"type": "file", "mediaType", "url"} · {"type": "step-start"}
    {"type": "tool-NAME", "toolCallId", "state", "input", "output" | "errorText"}, or "dynamic-tool" with "toolName"
    A part holds a call and its result, and a message many steps of an agent: a summary of some of them divides it.
    https://ai-sdk.dev/docs/reference/ai-sdk-core/ui-message
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, Final

from msgspec.structs import replace

from ..core import json_text
from ..core.json_text import object_in, text_in, value_in
from ..core.transcript import Block, JsonPath, Place, Transcript
from ..core.values import BlockKind, Family, Role
from .anthropic import ROLES as _ROLES
from .anthropic import BlockReader, merged, read_with
from .engine import client_text
from .engine.base import Evidence, Format, RecordEdits, Rewrite, derived_uuid, message_role, not_a_message, only_value
from .engine.blocks import (
    Turn,
    attachment_block,
    call_block,
    content_blocks,
    image_block,
    joined,
    kept_members,
    listed,
    of_call,
    opaque_block,
    text_block,
    unknown_block,
)
from .engine.container import Document, as_lazy, with_records_under
from .engine.writing import join, relink, separator_of

_KEYS: Final = frozenset({
    "audio", "cachePoint", "citationsContent", "document", "guardContent", "image", "reasoningContent", "searchResult",
    "text", "toolResult", "toolUse", "video",
})  # fmt: skip
"""Keys that name parts of Converse."""


def converse_evidence(value: Any) -> Evidence:
    parts = listed(value, "content")
    is_message = isinstance(value, dict) and value.get("role") in ("user", "assistant")
    are_known = all(isinstance(part, dict) and "type" not in part and not _KEYS.isdisjoint(part) for part in parts)
    return Evidence.YES if is_message and parts and are_known else Evidence.NO


def _read_converse(document: Document, values: Iterator[Any]) -> Transcript:
    tools: dict[str, str] = {}
    turns: list[tuple[Role, list[Block]]] = []
    for record, value in enumerate(values):
        if record in document.source.unparsed:
            continue
        role = message_role(record, value, _ROLES)
        blocks: list[Block] = []
        for number, part in enumerate(listed(value, "content")):
            blocks += converse_blocks(part, record, ("content", number), tools, is_user=role is Role.USER)
        turns.append((role, as_lazy(blocks, document.source)))
    envelope = document.envelope
    texts = [part["text"] for part in listed(envelope, "system") if isinstance(part, dict) and "text" in part]
    definitions = [json_text.dump_compact(envelope["toolConfig"])] if envelope.get("toolConfig") else []
    return Transcript(
        "bedrock-converse",
        Family.ANTHROPIC,
        merged(turns),
        document.source,
        model=text_in(envelope, "modelId"),
        envelope="\n".join([*map(str, texts), *definitions]),
    )


def converse_blocks(
    part: Any, record: int, owner: JsonPath, tools: dict[str, str], *, is_user: bool
) -> Iterator[Block]:
    key = next((key for key in part if key in _KEYS), "") if isinstance(part, dict) else ""
    value = part[key] if key else None
    if key == "text" and isinstance(value, str):
        yield text_block(value, record, (*owner, key), owner, is_user=is_user)
    elif key == "toolUse":
        call = call_block(value, record, (*owner, key), tools, "toolUseId", "name", "input")
        yield replace(call, owner=owner)
    elif key == "toolResult" and isinstance(value, dict) and isinstance(value.get("toolUseId"), str):
        common = of_call(value["toolUseId"], tools, is_error=value.get("status") == "error")
        path = (*owner, key, "content")
        for number, item in enumerate(listed(value, "content")):
            yield from _converse_result(item, record, (*path, number), owner, common)
        if not listed(value, "content"):
            yield text_block("", record, path, owner, kind=BlockKind.TOOL_RESULT, **common)
    elif key == "reasoningContent" and isinstance(value, dict):
        shown = value.get("reasoningText")
        text = value_in(shown, "text")
        signature = shown.get("signature") if isinstance(shown, dict) else value.get("redactedContent")
        path = (*owner, key, "reasoningText", "text") if isinstance(text, str) else owner
        text = text if isinstance(text, str) else ""
        estimate = client_text.encrypted_thinking(signature, text)
        common = {"estimate": estimate, "unsigned": not signature}
        yield Block(BlockKind.THINKING, Place(record, path), owner, content=text, **common)
    elif key in ("image", "document") and isinstance(value, dict):
        yield _converse_file(part, key, record, owner, owner)
    elif key:
        yield opaque_block(part, record, owner)
    else:
        yield unknown_block(part, record, owner)


def _converse_result(
    item: Any, record: int, path: JsonPath, owner: JsonPath, common: dict[str, Any]
) -> Iterator[Block]:
    text = value_in(item, "text")
    if isinstance(text, str):
        yield text_block(text, record, (*path, "text"), owner, kind=BlockKind.TOOL_RESULT, **common)
    elif isinstance(item, dict) and isinstance(item.get("image", item.get("document")), dict):
        key = "image" if "image" in item else "document"
        yield _converse_file(item, key, record, path, owner, **common)
    elif isinstance(item, dict) and not {"json", "video", "searchResult"}.isdisjoint(item):
        yield replace(opaque_block(item, record, path, **common), owner=owner)
    else:
        yield unknown_block(item, record, path, owner, **common)


def _converse_file(
    part: dict[str, Any], key: str, record: int, path: JsonPath, owner: JsonPath, **common: Any
) -> Block:
    data = value_in(part, key, "source", "bytes")
    if key == "image":  # One that is elsewhere is told by its address.
        data = data if isinstance(data, str) else json_text.dump_compact(part)
        return image_block(data, record, owner, place=path, **common)
    estimate = client_text.document(data)
    return Block(BlockKind.OPAQUE, Place(record, path), owner, estimate=estimate, **common)


def _new_converse_message(role: Role, literal: str, replaced: str) -> dict[str, str]:
    return {"role": f'"{role.value}"', "content": f'[{{"text": {literal}}}]'}


CONVERSE: Final = Format(
    "bedrock-converse",
    Family.ANTHROPIC,
    "Messages of Amazon Bedrock's Converse API: JSON lines, an array, or an object with messages",
    converse_evidence,
    _read_converse,
    new_message=_new_converse_message,
)


_GOOSE: Final = frozenset({
    "actionRequired", "frontendToolRequest", "image", "redactedThinking", "systemNotification", "text", "thinking",
    "toolConfirmationRequest", "toolRequest", "toolResponse", "contextLengthExceeded", "conversationCompacted",
    "summarizationRequested",
})  # fmt: skip
_UNSENT: Final = _GOOSE - {"frontendToolRequest", "image", "redactedThinking", "text", "thinking", "toolRequest"}
"""Parts that the client shows. It sends a response as a message of its own."""


def _goose_evidence(value: Any) -> Evidence:
    if not isinstance(value, dict):
        return Evidence.NO
    if "role" not in value:  # The header of a session.
        return Evidence.MAYBE if {"working_dir", "message_count"} & value.keys() else Evidence.NO
    parts = listed(value, "content")
    are_known = all(isinstance(part, dict) and str(part.get("type")) in _GOOSE for part in parts)
    is_message = value["role"] in ("user", "assistant") and isinstance(value.get("created"), int)
    return Evidence.YES if is_message and parts and are_known else Evidence.NO


def _read_goose(document: Document, values: Iterator[Any]) -> Transcript:
    records = list(values)
    model = None
    if len(records) == 1 and listed(records[0], "conversation"):
        model = text_in(records[0], "model_config", "model_name")
        document = with_records_under(document, "conversation")
        records = list(document.values)
    tools: dict[str, str] = {}
    turns: list[Turn] = []
    for record, value in enumerate(records):
        if record in document.source.unparsed or (isinstance(value, dict) and "role" not in value and record == 0):
            continue
        role = message_role(record, value, {"user": Role.USER, "assistant": Role.ASSISTANT})
        if value_in(value, "metadata", "agentVisible") is False:
            continue
        said: list[Block] = []
        results: list[Block] = []
        for number, part in enumerate(listed(value, "content")):
            owner = ("content", number)
            if isinstance(part, dict) and part.get("type") == "toolResponse":
                results += _goose_result(part, record, owner, tools)
            else:
                said += _goose_blocks(part, record, owner, tools, is_user=role is Role.USER)
        for speaker, blocks in ((Role.TOOL, results), (role, said)):
            if blocks:
                turns.append(Turn(speaker, as_lazy(blocks, document.source)))
    return Transcript("goose", Family.OPENAI_CHAT, joined(turns), document.source, model=model)


def _goose_blocks(part: Any, record: int, owner: JsonPath, tools: dict[str, str], *, is_user: bool) -> Iterator[Block]:
    kind = str(part.get("type")) if isinstance(part, dict) else ""
    if kind == "text" and isinstance(part.get("text"), str):
        yield text_block(part["text"], record, (*owner, "text"), owner, is_user=is_user)
    elif kind == "thinking" and isinstance(part.get("thinking"), str):
        estimate = client_text.encrypted_thinking(part.get("signature"), part["thinking"])
        place = Place(record, (*owner, "thinking"))
        yield Block(BlockKind.THINKING, place, owner, content=part["thinking"], estimate=estimate)
    elif kind == "redactedThinking":
        estimate = client_text.encrypted_thinking(part.get("data"))
        yield Block(BlockKind.THINKING, Place(record, owner), owner, estimate=estimate)
    elif kind == "image":
        yield image_block(part.get("data"), record, owner)
    elif kind in ("toolRequest", "frontendToolRequest"):
        call = value_in(part, "toolCall", "value")
        if isinstance(call, dict):
            call = call_block({**call, "id": part.get("id")}, record, (*owner, "toolCall", "value"), tools)
            yield replace(call, owner=owner)
        else:  # A call that nobody could read.
            yield opaque_block(part, record, owner)
    elif kind not in _UNSENT:
        yield unknown_block(part, record, owner)


def _goose_result(part: dict[str, Any], record: int, owner: JsonPath, tools: dict[str, str]) -> Iterator[Block]:
    answer = object_in(part, "toolResult")
    value, path = answer.get("value"), (*owner, "toolResult", "value")
    failed = answer.get("status") == "error" or (isinstance(value, dict) and value.get("isError") is True)
    common = of_call(part.get("id"), tools, is_error=failed)
    if isinstance(answer.get("error"), str):
        value, path = answer["error"], (*owner, "toolResult", "error")
    elif isinstance(value, dict) and "content" in value:
        value, path = value["content"], (*path, "content")
    found = list(content_blocks(value, record, path, owner, kind=BlockKind.TOOL_RESULT, **common))
    if not found and value in (None, [], {}):
        found = [text_block("", record, path, owner, kind=BlockKind.TOOL_RESULT, **common)]
    yield from found or [unknown_block(part, record, owner, **common)]


def _new_goose_message(role: Role, literal: str, replaced: str) -> dict[str, str]:
    kept = kept_members(replaced, "id", "created")
    return {"role": '"user"', "content": f'[{{"type": "text", "text": {literal}}}]', **kept}


GOOSE: Final = Format(
    "goose",
    Family.OPENAI_CHAT,
    "Goose sessions: JSON lines, or an export (goose session export --format json)",
    _goose_evidence,
    _read_goose,
    claims=lambda document: bool(_conversation(document)),
    new_message=_new_goose_message,
    summary_role=Role.USER,
)


def _conversation(document: Document) -> list[Any]:
    messages = listed(only_value(document, "conversation"), "conversation")
    return messages if messages and _goose_evidence(messages[0]) is Evidence.YES else []


def _droid_evidence(value: Any) -> Evidence:
    kind = value_in(value, "type")
    if not isinstance(kind, str):
        return Evidence.NO
    if kind == "session_start":
        return Evidence.YES if isinstance(value.get("id"), str) and "cwd" in value else Evidence.NO
    message = value.get("message") if kind == "message" else {"role": "user"}
    return Evidence.MAYBE if isinstance(message, dict) and str(message.get("role")) in _ROLES else Evidence.NO


def _read_droid(document: Document, values: Iterator[Any]) -> Transcript:
    reader = BlockReader()
    turns: list[tuple[Role, list[Block]]] = []
    for record, value in enumerate(values):
        if record in document.source.unparsed or (isinstance(value, dict) and value.get("type") == "session_start"):
            continue
        if _droid_evidence(value) is Evidence.NO:
            raise not_a_message(record, value, "it has no type, or no message with a role")
        if value["type"] == "message":
            role = _ROLES[value["message"]["role"]]
            content = value["message"].get("content")
            blocks = reader.content(content, record, ("message", "content"), is_user=role is Role.USER)
            turns.append((role, as_lazy(blocks, document.source)))
    return Transcript("droid", Family.ANTHROPIC, merged(turns), document.source)


def _complete_droid(meant: Transcript, edits: RecordEdits, gone: frozenset[int], style: json_text.Style) -> None:
    relink(meant.source, edits, gone, key="id", parent="parentId")


def _new_droid_message(role: Role, literal: str, replaced: str) -> dict[str, str]:
    content = f'[{{"type": "text", "text": {literal}}}]'
    kept = kept_members(replaced, "id", "timestamp", "parentId")
    return {"type": '"message"', **kept, "message": f'{{"role": "{role.value}", "content": {content}}}'}


DROID: Final = Format(
    "droid",
    Family.ANTHROPIC,
    "Factory Droid sessions (~/.factory/sessions/*/*.jsonl)",
    _droid_evidence,
    _read_droid,
    complete=_complete_droid,
    new_message=_new_droid_message,
)


def amp_evidence(value: Any) -> Evidence:
    is_message = isinstance(value, dict) and value.get("role") in ("user", "assistant")
    is_own = is_message and isinstance(value.get("messageId"), int) and isinstance(value.get("content"), list)
    return Evidence.YES if is_own else Evidence.NO


class _AmpReader(BlockReader):
    def part(self, part: Any, record: int, owner: JsonPath, is_user: bool) -> Iterator[Block]:
        kind = value_in(part, "type")
        if kind != "tool_result" or not isinstance(part.get("toolUseID"), str):
            yield from super().part(part, record, owner, is_user)
            return
        run = object_in(part, "run")
        value, path = run.get("result"), (*owner, "run", "result")
        common = of_call(part["toolUseID"], self._tools, is_error=run.get("status") == "error")
        for key in ("content", "output"):
            if isinstance(value, dict) and isinstance(value.get(key), str | list):
                value, path = value[key], (*path, key)
        if isinstance(value, str):
            yield text_block(value, record, path, owner, kind=BlockKind.TOOL_RESULT, **common)
        elif "result" in run or "error" in run or run.get("status") in ("cancelled", "rejected-by-user"):
            yield replace(opaque_block(value if "result" in run else run, record, path, **common), owner=owner)
        else:
            yield unknown_block(part, record, owner, **common)


def _read_amp(document: Document, values: Iterator[Any]) -> Transcript:
    records = list(values)
    models = [model for value in records if (model := text_in(value, "usage", "model"))]
    return replace(read_with(_AmpReader(), document, iter(records), "amp"), model=models[-1] if models else None)


AMP: Final = Format(
    "amp",
    Family.ANTHROPIC,
    "Threads of Amp (~/.local/share/amp/threads/T-*.json), read-only",
    amp_evidence,
    _read_amp,
    is_writable=False,
)


_SILENT: Final = ("source-", "data-", "step-start")
"""Beginnings of the types of parts that are only shown, or that separate steps."""


def _ui_evidence(value: Any) -> Evidence:
    is_message = isinstance(value, dict) and str(value.get("role")) in _ROLES and isinstance(value.get("id"), str)
    parts = listed(value, "parts")
    are_typed = all(isinstance(part, dict) and isinstance(part.get("type"), str) for part in parts)
    return Evidence.YES if is_message and parts and are_typed else Evidence.NO


def _read_ui(document: Document, values: Iterator[Any]) -> Transcript:
    turns: list[Turn] = []
    for record, value in enumerate(values):
        if record in document.source.unparsed:
            continue
        if not isinstance(value, dict) or "parts" not in value:
            raise not_a_message(record, value, "it has no parts")
        role = message_role(record, value, _ROLES)
        said: list[Block] = []
        results: list[Block] = []
        for number, part in enumerate([*listed(value, "parts"), {"type": "step-start"}]):
            kind = value_in(part, "type")
            if kind == "step-start":
                for speaker, blocks in ((role, said), (Role.TOOL, results)):
                    if blocks:
                        turns.append(Turn(speaker, as_lazy(blocks, document.source)))
                said, results = [], []
                continue
            blocks = list(_ui_blocks(part, record, ("parts", number), is_user=role is Role.USER))
            said += blocks[:1]
            results += blocks[1:]
    return Transcript("ai-sdk-ui", Family.OPENAI_CHAT, joined(turns), document.source)


def _ui_blocks(part: Any, record: int, owner: JsonPath, *, is_user: bool) -> Iterator[Block]:
    """Yield what a part says, and behind it the result of a call."""
    kind = str(part.get("type")) if isinstance(part, dict) else ""
    text = value_in(part, "text")
    if kind in ("text", "reasoning") and isinstance(text, str):
        of_kind = BlockKind.TEXT if kind == "text" else BlockKind.THINKING
        yield text_block(text, record, (*owner, "text"), owner, kind=of_kind, is_user=is_user)
    elif kind == "file":
        url = part.get("url")
        if str(part.get("mediaType")).startswith("image/"):
            yield attachment_block({"type": "image_url", "image_url": {"url": url}}, record, owner)
        else:
            data = url.rpartition(",")[2] if isinstance(url, str) and url.startswith("data:") else None
            yield Block(BlockKind.OPAQUE, Place(record, owner), owner, estimate=client_text.document(data))
    elif kind.startswith("tool-") or kind == "dynamic-tool":
        yield from _ui_call(part, record, owner)
    elif not kind.startswith(_SILENT):
        yield unknown_block(part, record, owner)


def _ui_call(part: dict[str, Any], record: int, owner: JsonPath) -> Iterator[Block]:
    state = part.get("state")
    if state == "input-streaming":
        return  # Never sent.
    tool = str(part.get("toolName") or "") if part["type"] == "dynamic-tool" else part["type"].removeprefix("tool-")
    if part.get("providerExecuted") is True:
        yield replace(opaque_block(part, record, owner), server_call=str(part.get("toolCallId")), tool=tool)
        return
    call = call_block({**part, "toolName": tool}, record, owner, {}, "toolCallId", "toolName", "input")
    yield call
    if call.call_id is None:
        return
    common: dict[str, Any] = {"call_id": call.call_id, "tool": tool}
    key = {"output-available": "output", "output-error": "errorText"}.get(str(state), "")
    if key and key not in part:
        yield unknown_block(part, record, owner, **common)
        return
    output, path = part.get(key), (*owner, key)
    if isinstance(output, dict) and isinstance(output.get("content"), list):  # As MCP servers answer.
        output, path = output["content"], (*path, "content")
    if key and isinstance(output, str | list):
        common |= {"kind": BlockKind.TOOL_RESULT, "is_error": key == "errorText"}
        yield from content_blocks(output, record, path, owner, **common)
    elif key or state == "output-denied":
        said = json_text.dump_compact(output) if key else "Tool execution denied."
        yield Block(BlockKind.OPAQUE, Place(record, path if key else owner), owner, content=said, **common)


def _with_ui_summaries(rewrite: Rewrite) -> bytes:
    """Write summaries as messages of their own, and what is left of a message around one as several messages."""
    source = rewrite.transcript.source
    pieces: dict[int, list[str | set[JsonPath]]] = defaultdict(list)
    for message in rewrite.transcript.messages:
        for block in message.blocks:
            found = pieces[block.place.record]
            if block.is_inserted:
                found.append(block.text)
            elif found and isinstance(found[-1], set):
                found[-1].add(block.owner)
            else:
                found.append({block.owner})
    touched = {record for record, found in pieces.items() if any(isinstance(piece, str) for piece in found)}
    touched |= {record for record, changes in rewrite.edits.items() if changes}

    def written(record: int) -> bytes:
        return separator_of(source).join(_ui_pieces(rewrite, record, pieces[record]))

    return join(source, touched - rewrite.gone, written, rewrite.gone)


def _ui_pieces(rewrite: Rewrite, record: int, pieces: list[str | set[JsonPath]]) -> Iterator[bytes]:
    """Yield the messages that one becomes: summaries, and stretches of its parts, named by their paths."""
    raw = json_text.decode(rewrite.transcript.source.raw(record))
    value = json_text.parse_text(raw)
    stretches = [piece for piece in pieces if isinstance(piece, set)]
    of_part: dict[JsonPath, int] = {}
    number = len(stretches) - 1
    for position in reversed(range(len(value["parts"]))):  # A mark of a step is with what follows it.
        path = ("parts", position)
        number = next((number for number, stretch in enumerate(stretches) if path in stretch), number)
        of_part[path] = number
    taken = 0
    for count, piece in enumerate(pieces):
        name = json.dumps(value["id"] if count == 0 else derived_uuid(str(value["id"]), str(count)))
        if isinstance(piece, str):
            parts = f'[{{"type": "text", "text": {rewrite.style.literal(piece)}}}]'
            members = {"id": name, "role": '"user"', "parts": parts}
            yield json_text.encode(json_text.object_like(raw, members))
            continue
        others = {path: json_text.REMOVE for path, number in of_part.items() if number != taken}
        yield rewrite.data(record, {("id",): name, **others} if count else others)
        taken += 1


AI_SDK: Final = Format(
    "ai-sdk-ui",
    Family.OPENAI_CHAT,
    "UI messages of Vercel's AI SDK",
    _ui_evidence,
    _read_ui,
    compaction=_with_ui_summaries,
    summary_role=Role.USER,
)
