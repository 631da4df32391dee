"""Chat-completions messages (OpenAI's and everything compatible), and logs of their calls.

{"role", "content": str | null | [part, ...], "tool_call_id"?, "tool_calls"?: [call, ...]}
    {"id", "function": {"name", "arguments": JSON in a string}} or {"id", "custom": {"name", "input": str}}

Calls and results may also be parts of the content, beside `tool_calls` or in place of them:
    {"type": "tool_call", "tool_call_id", "name", "arguments"}
    {"type": "tool_output", "text": str | [part, ...]}              in a message of the role `tool`
    {"type": "tool-call", "toolCallId", "toolName", "input"}        the AI SDK's, all of one answer in one message
    {"type": "tool-result", "toolCallId", "toolName", "output": {"type": "text", "value"}}

https://ai-sdk.dev/docs/reference/ai-sdk-core/model-message

An object with `messages` is a recorded request, such as OpenHands' completion logs ({"messages", "response", "kwargs",
...}), which may hold the messages a second time. A log of requests is only read: each request holds the whole
conversation so far, and nobody can tell what condensed messages would mean for the requests before.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterator
from typing import Any, Final

from msgspec.structs import replace

from ..core import json_text
from ..core.json_text import text_in, value_in
from ..core.transcript import Block, JsonPath, Place, Transcript
from ..core.values import STANDING_ROLES, BlockKind, Family, Role
from ..errors import UnknownFormatError
from .anthropic import BlockReader, envelope_model, envelope_text
from .engine import beside
from .engine.base import Evidence, FileFault, FileRule, Format, RecordEdits, part_kinds, records_of
from .engine.blocks import (
    attachment_block,
    call_block,
    listed,
    of_call,
    opaque_block,
    read_list,
    text_block,
    thinking_blocks,
    unknown_block,
    with_roles,
)
from .engine.container import Document, with_beside, with_beside_of, with_records_at

ROLES: Final = {
    "system": Role.SYSTEM,
    "developer": Role.DEVELOPER,
    "user": Role.USER,
    "assistant": Role.ASSISTANT,
    "tool": Role.TOOL,
    "function": Role.TOOL,
}
_PROOF_ROLES: Final = {"tool", "function"}
_PROOF_PARTS: Final = {"input_audio", "refusal"}
_MEDIA_PARTS: Final = {"image_url", "audio_url", "video_url", "document_url", "file"}
"""Further parts that this API and compatible servers take. The key of the medium is the name of the part's type."""
_TEXT_PARTS: Final = {"text", "input_text", "output_text"}
"""Texts, also as the Responses API calls them, which many servers take too."""
_ANTHROPIC_PARTS: Final = ("tool_use", "tool_result")
_CALLS: Final = frozenset({"tool_call", "tool-call"})
_RESULTS: Final = frozenset({"tool_output", "tool-result"})
_KINDS: Final = {"assistant": _CALLS, "tool": _RESULTS}
"""Calls and results that may be parts of a message, by its role."""
_IDS: Final = ("tool_call_id", "toolCallId", "id")
_NAMES: Final = ("name", "toolName")
_PART_ARGUMENTS: Final = ("arguments", "input", "args")
_SAID: Final = ("text", "output", "result", "content")
_OF_RESULTS: Final = frozenset({"type", "isError", "is_error", "providerOptions", *_IDS, *_NAMES})
"""All keys of a result part that has no text."""
_ARGUMENTS: Final = {"function": "arguments", "custom": "input"}
"""Keys of the object in a call that holds its name, and of the arguments there."""
_REASONING_KEYS: Final = ("reasoning_content", "reasoning")
_OWN_KEYS: Final = {"tool_calls", "function_call", "refusal", "annotations", "audio", *_REASONING_KEYS}
"""Keys of an answer that only this API has. SDKs write them even if they are empty."""


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
        tools = kinds & _KINDS.get(value["role"], frozenset())
        thinks = kinds & ({"reasoning"} if value["role"] == "assistant" else set())
        known = _TEXT_PARTS | _MEDIA_PARTS | _PROOF_PARTS | tools | thinks
        # Some clients repeat a call among the parts in the form of another API.
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
    """Return whether a part has the name of one of this API but another shape."""
    if not isinstance(part, dict):
        return False
    return ("value" in part and "text" not in part) or (part.get("type") == "file" and "file" not in part)


def _fits(document: Document) -> bool:
    """Return whether the model and the tools beside the messages are as this API takes them."""
    model = envelope_model(document.envelope)
    if model and "claude" not in model and "system" not in document.envelope:
        return True
    tools = document.envelope.get("tools") or value_in(document.envelope, "kwargs", "tools")
    first = tools[0] if isinstance(tools, list) and tools else None
    return any(isinstance(value_in(first, kind), dict) for kind in _ARGUMENTS)


def read(document: Document, values: Iterator[Any]) -> Transcript:
    # A recorded request may hold its messages again, as they were before a client wrote them anew.
    again = [(key,) for key in ("raw_messages", "fncall_messages") if key in document.envelope]
    document = with_beside(document, again) if again else document
    tools: dict[str, str] = {}

    def blocks(message: dict[str, Any], record: int, path: JsonPath, role: Role) -> Iterator[Block]:
        return message_blocks(message, record, role, tools)

    return replace(
        read_list("openai-chat", document, values, with_roles(ROLES), blocks),
        model=envelope_model(document.envelope),
        envelope=envelope_text(document.envelope),
    )


def message_blocks(value: dict[str, Any], record: int, role: Role, tools: dict[str, str]) -> Iterator[Block]:
    """Yield the blocks of a message that is a record. Notes the tools of calls in `tools`, by their ids."""
    key = next((key for key in _REASONING_KEYS if isinstance(value.get(key), str) and value[key]), "")
    yield from thinking_blocks(value, key, record)
    is_result = role is Role.TOOL
    kind = BlockKind.TOOL_RESULT if is_result else BlockKind.TEXT
    common = of_call(value.get("tool_call_id"), tools, value.get("name")) if is_result else {}
    content, calls = value.get("content"), listed(value, "tool_calls")
    if isinstance(content, str):
        yield text_block(content, record, ("content",), kind=kind, is_user=role is Role.USER, **common)
    elif isinstance(content, list) and content:
        again = {number for number, _ in _repeated(value)}
        ids = {str(call.get("id")) for call in calls if isinstance(call, dict)}
        for index, part in enumerate(content):
            path = ("content", index)
            # The parts of a tool message are one result.
            owner = ("content",) if is_result else path
            kind_of_part = str(part.get("type")) if isinstance(part, dict) else ""
            text = value_in(part, "text")
            if index in again:
                continue
            if kind_of_part in _TEXT_PARTS and isinstance(text, str):
                is_user = role is Role.USER
                yield text_block(text, record, (*path, "text"), owner, kind=kind, is_user=is_user, **common)
            elif kind_of_part in _ANTHROPIC_PARTS and not (calls or is_result):
                # Linked by their ids, so that no pass takes one of the two without the other.
                yield from BlockReader(tools).part(part, record, path, is_user=role is Role.USER)
            elif kind_of_part in _CALLS:
                keys = (_first(part, _IDS, str), _first(part, _NAMES, str), _first(part, _PART_ARGUMENTS, object))
                yield call_block(part, record, path, tools, *keys, may_be_text=True)
            elif kind_of_part in _RESULTS:
                yield from _result_blocks(part, record, path, owner, common, tools)
            elif kind_of_part == "reasoning" and isinstance(text, str):
                yield Block(BlockKind.THINKING, Place(record, (*path, "text")), path, content=text)
            else:
                block = attachment_block(part, record, owner, place=path, **common)
                # Some clients say each call in both forms.
                is_repeated = block.api_type == "tool_use" and str(part.get("id")) in ids
                yield replace(block, is_unknown=False) if is_repeated else block
    elif is_result:
        yield Block(kind, Place(record, ("content",)), ("content",), **common)
    for index, call in enumerate(calls):
        inside = _first(call, _ARGUMENTS, dict) if isinstance(call, dict) else ""
        keys = ("id", "name", _ARGUMENTS.get(inside, ""))
        block = call_block(call, record, ("tool_calls", index), tools, *keys, inside=inside, may_be_text=True)
        is_free = inside == "custom" and block.call_id is not None and not block.is_object
        yield replace(block, is_free_text=True) if is_free else block
    if isinstance(value.get("function_call"), dict):
        yield opaque_block(value["function_call"], record, ("function_call",))


def _first(part: dict[str, Any], keys: Any, kind: type) -> str:
    """Return the first of the keys that a part has with a value of that type; empty if there is none."""
    return next((key for key in keys if key in part and isinstance(part[key], kind)), "")


def _result_blocks(
    part: dict[str, Any], record: int, path: JsonPath, owner: JsonPath, common: dict[str, Any], tools: dict[str, str]
) -> Iterator[Block]:
    """Yield the blocks of a result part. One that names its call is a result of its own; others are one together."""
    if id_key := _first(part, _IDS, str):
        name = part.get(_first(part, _NAMES, str), common.get("tool"))
        owner, common = path, {**common, **of_call(part[id_key], tools, name)}
    is_error = part.get("isError") is True or part.get("is_error") is True
    key = _first(part, _SAID, object)
    if not key:
        if part.keys() <= _OF_RESULTS:
            yield Block(BlockKind.TOOL_RESULT, Place(record, path), owner, is_error=is_error, **common)
        else:
            yield unknown_block(part, record, path, owner, is_error=is_error, **common)
        return
    value, where = part[key], (*path, key)
    if isinstance(value, dict) and "value" in value:
        is_error = is_error or str(value.get("type")).startswith("error")
        value, where = value["value"], (*where, "value")
    items = [(where, value, value)]
    if isinstance(value, list) and value:
        texts = [value_in(item, "text") for item in value]
        items = [((*where, number), item, text) for number, (item, text) in enumerate(zip(value, texts, strict=True))]
    for at, item, text in items:
        if isinstance(text, str):
            place = at if text is item else (*at, "text")
            yield text_block(text, record, place, owner, kind=BlockKind.TOOL_RESULT, is_error=is_error, **common)
        else:
            yield replace(opaque_block(item, record, at, is_error=is_error, **common), owner=owner)


def _repeated(value: Any) -> Iterator[tuple[int, str]]:
    """Yield number and id of each part of the content that repeats one of `tool_calls`."""
    ids = {str(one.get("id")) for one in listed(value, "tool_calls") if isinstance(one, dict)}
    for number, part in enumerate(listed(value, "content")):
        is_call = isinstance(part, dict) and str(part.get("type")) in _CALLS
        key = _first(part, _IDS, str) if is_call else ""
        if key and part[key] in ids:
            yield number, part[key]


def _holding_calls(transcript: Transcript) -> Iterator[tuple[int, Any]]:
    """Yield the records of a file that has calls among the parts of content."""
    source = transcript.source
    if any(f'"{kind}"'.encode() in source.data for kind in _CALLS):
        yield from ((record, value) for record, value in records_of(source) if record < source.listed)


def _copies(transcript: Transcript) -> Iterator[beside.Shown]:
    """Yield what a file holds beside its messages, and the calls that they hold twice."""
    yield from beside.values_beside(transcript)
    for record, value in _holding_calls(transcript):
        for number, _ in _repeated(value):
            yield record, ("content", number), value["content"][number]


def _complete(meant: Transcript, edits: RecordEdits, gone: frozenset[int], style: json_text.Style) -> None:
    """Remove the second copy of each call that goes."""
    removed = {block.call_id for block in meant.removed if block.kind is BlockKind.TOOL_CALL}
    for record, value in _holding_calls(meant) if removed else ():
        for number, found in _repeated(value):
            if found in removed and record not in gone:
                kept = {path: new for path, new in edits[record].items() if path[:2] != ("content", number)}
                edits[record] = kept | {("content", number): json_text.REMOVE}


FORMAT: Final = Format(
    "openai-chat",
    Family.OPENAI_CHAT,
    "Chat-completions messages: JSON lines, an array, or an object with messages",
    evidence,
    read,
    fits=_fits,
    beside=beside.copies(_copies),
    complete=_complete,
)


def _request_evidence(value: Any) -> Evidence:
    kind = value_in(value, "type")
    is_own = (kind == "request" and _messages(value) is not None) or (kind == "response" and _answer(value) is not None)
    return Evidence.YES if is_own else Evidence.NO


def _messages(value: Any) -> list[Any] | None:
    messages = value_in(value, "request_params", "messages")
    return messages if isinstance(messages, list) else None


def _answer(value: Any) -> dict[str, Any] | None:
    choice = next(iter(listed(value_in(value, "response"), "choices")), None)
    message = value_in(choice, "message")
    return message if isinstance(message, dict) else None


def _lacking(value: Any) -> str:
    """Name a request or an answer without what it needs; empty for a whole one, and for one that tells of an error."""
    if not isinstance(value, dict) or _messages(value) is not None or _answer(value) is not None:
        return ""
    if value.get("error") or value_in(value, "response", "error"):
        return ""
    return f"{value.get('type')} without {'messages' if value.get('type') == 'request' else 'an answer'}"


def _read_request_log(document: Document, values: Iterator[Any]) -> Transcript:
    """Read the last request, which holds the whole conversation, and its answer."""
    records = list(values)
    asked = [record for record, value in enumerate(records) if _messages(value)]
    if not asked:
        raise UnknownFormatError("It holds no request with messages.", "Name a log that has the requests too.")
    last = asked[-1]
    request = records[last]["request_params"]
    answers = [n for n, value in enumerate(records) if n > last and _answer(value)]
    conversation = with_records_at(document, last, ("request_params", "messages"))
    if answers:
        path = ("response", "choices", 0, "message")
        conversation = with_beside_of(conversation, document.source.spans[answers[0]], [path])
    messages = [*request["messages"], *([_answer(records[answers[0]])] if answers else [])]
    everything = replace(conversation, source=replace(conversation.source, beside=0))
    tools = request.get("tools")
    beginnings = [(_messages(records[record]) or [])[:2] for record in asked]
    others = sum(beginning != beginnings[-1] for beginning in beginnings)
    # What comes before the last request is in it.
    unknown = Tally(filter(None, map(_lacking, records[last + 1 :])))
    return replace(
        read(everything, iter(messages)),
        format="request-log",
        model=text_in(request, "model"),
        envelope=json_text.dump_compact(tools) if tools else "",
        unknown=tuple(unknown.items()),
        warnings=(f"Requests of other conversations are ignored ({others}).",) if others else (),
    )


def _ending_understood(transcript: Transcript) -> Iterator[FileFault]:
    for name, number in transcript.unknown:
        last = len(transcript.source.spans) - 1
        yield FileFault("messages_understood", last, f"what follows the last request is not read: {number} {name}")


REQUEST_LOG: Final = Format(
    "request-log",
    Family.OPENAI_CHAT,
    "Logs of chat-completions requests and answers, read-only",
    _request_evidence,
    _read_request_log,
    rules=(FileRule(_ending_understood),),
    is_writable=False,
)
