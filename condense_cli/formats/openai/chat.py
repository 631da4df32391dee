"""Chat-completions messages (OpenAI and everything compatible), and logs of their calls.

{"type": "tool_call", "tool_call_id", "name", "arguments"}      beside `tool_calls`, or in place of them
    {"type": "tool_output", "text": str | [part, ...]}              in a message of the role `tool`
    {"type": "tool-call", "toolCallId", "toolName", "input"}        the AI SDK's, all of one answer in one message
    {"type": "tool-result", "toolCallId", "toolName", "output": {"type": "text", "value"}}

https://ai-sdk.dev/docs/reference/ai-sdk-core/model-message

Shape: {"role", "content": str | null | [part, ...], "tool_calls"?: [{"id", "function": {"name",
"arguments": JSON in a string}} | {"id", "custom": {"name", "input": str}}], "tool_call_id"?}. The object form covers
recorded requests, such as OpenHands' completion logs ({"messages", "response", "kwargs", ...}), which may hold the
messages a second time.

Every request holds the whole conversation so far: that of the last one, and its answer, are the conversation. What
condensed messages would mean for the requests before nobody can say.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterator
from typing import Any, Final

from msgspec.structs import replace

from ...core import json_text
from ...core.transcript import Block, JsonPath, Place, Transcript
from ...core.values import STANDING_ROLES, BlockKind, Family, Role
from ...errors import UnknownFormatError
from ..anthropic import BlockReader, attachment_block, envelope_model, envelope_text
from ..engine import repeats
from ..engine.base import Evidence, FileFault, Format, RecordEdits, message_role, part_kinds, records_of, unknown_block
from ..engine.client_text import is_injected
from ..engine.container import Document, as_lazy, with_beside, with_beside_of, with_records_at
from ..engine.turns import Turn, joined

CALLS: Final = frozenset({"tool_call", "tool-call"})
RESULTS: Final = frozenset({"tool_output", "tool-result"})
KINDS: Final = {"assistant": CALLS, "tool": RESULTS}
"""Parts that may be in a message, by its role."""
_IDS: Final = ("tool_call_id", "toolCallId", "id")
_NAMES: Final = ("name", "toolName")
_PART_ARGUMENTS: Final = ("arguments", "input", "args")
_SAID: Final = ("text", "output", "result", "content")
_OF_RESULTS: Final = frozenset({"type", "isError", "is_error", "providerOptions", *_IDS, *_NAMES})
"""All keys of a result that says nothing."""


def is_one(part: Any) -> bool:
    return isinstance(part, dict) and str(part.get("type")) in CALLS | RESULTS


def call_id(part: dict[str, Any]) -> str | None:
    return next((part[key] for key in _IDS if isinstance(part.get(key), str)), None)


def call(part: dict[str, Any], record: int, path: JsonPath, tools: dict[str, str]) -> Block:
    found, key = call_id(part), next((key for key in _PART_ARGUMENTS if key in part), None)
    if found is None or key is None:
        return unknown_block(part, record, path)
    name = next((part[key] for key in _NAMES if isinstance(part.get(key), str)), "")
    tools[found] = name
    is_object = not isinstance(part[key], str)
    text = json_text.dump_compact(part[key]) if is_object else part[key]
    place = Place(record, (*path, key))
    return Block(BlockKind.TOOL_CALL, place, path, content=text, tool=name, call_id=found, is_object=is_object)


def result(
    part: dict[str, Any], record: int, path: JsonPath, owner: JsonPath, common: dict[str, Any], tools: dict[str, str]
) -> Iterator[Block]:
    """Blocks of one result. One that names its call is a block of its own, others are parts of their message's."""
    if (found := call_id(part)) is not None:
        named = next((part[key] for key in _NAMES if isinstance(part.get(key), str)), common.get("tool"))
        owner, common = path, {**common, "call_id": found, "tool": tools.get(found) or named}
    is_error = part.get("isError") is True or part.get("is_error") is True
    key = next((key for key in _SAID if key in part), None)
    if key is None and not part.keys() <= _OF_RESULTS:
        yield replace(unknown_block(part, record, path, owner, **common), is_error=is_error)
        return
    if key is None:
        yield Block(BlockKind.TOOL_RESULT, Place(record, path), owner, is_error=is_error, **common)
        return
    value, where = part[key], (*path, key)
    if isinstance(value, dict) and "value" in value:
        is_error = is_error or str(value.get("type")).startswith("error")
        value, where = value["value"], (*where, "value")
    if isinstance(value, list) and value:
        for number, item in enumerate(value):
            text = item.get("text") if isinstance(item, dict) else None
            yield _said(text, item, record, (*where, number, "text"), owner, is_error, common)
    else:
        yield _said(value, value, record, where, owner, is_error, common)


def _said(
    text: Any, whole: Any, record: int, path: JsonPath, owner: JsonPath, is_error: bool, common: dict[str, Any]
) -> Block:
    if isinstance(text, str):
        return Block(BlockKind.TOOL_RESULT, Place(record, path), owner, content=text, is_error=is_error, **common)
    path = path if text is whole else path[:-1]
    dumped = json_text.dump_compact(whole)
    return Block(BlockKind.OPAQUE, Place(record, path), owner, content=dumped, is_error=is_error, **common)


def repeated(value: Any) -> Iterator[tuple[int, str]]:
    """Number and id of each part that says once more what `tool_calls` say."""
    calls, content = value.get("tool_calls"), value.get("content")
    if isinstance(calls, list) and isinstance(content, list):
        ids = {str(one.get("id")) for one in calls if isinstance(one, dict)}
        for number, part in enumerate(content):
            if isinstance(part, dict) and str(part.get("type")) in CALLS and (found := call_id(part)) in ids:
                yield number, str(found)


def shown(transcript: Transcript) -> Iterator[repeats.Shown]:
    """What a file holds beside its messages, and the calls that stand in them twice."""
    yield from repeats.values_beside(transcript)
    for record, value in _holding(transcript):
        for number, _ in repeated(value):
            yield record, ("content", number), value["content"][number]


def complete(meant: Transcript, edits: RecordEdits, gone: frozenset[int], style: json_text.Style) -> None:
    _copies_go(meant, edits, gone, style)
    removed = {block.call_id for block in meant.removed if block.kind is BlockKind.TOOL_CALL}
    for record, value in _holding(meant) if removed else ():
        for number, found in repeated(value):
            if found in removed and record not in gone:
                edits[record] = {
                    path: literal for path, literal in edits[record].items() if path[:2] != ("content", number)
                }
                edits[record]["content", number] = json_text.REMOVE


def _holding(transcript: Transcript) -> Iterator[tuple[int, Any]]:
    """Records that may hold calls among the parts of their content."""
    source = transcript.source
    if any(f'"{kind}"'.encode() in source.data for kind in CALLS):
        yield from ((record, value) for record, value in records_of(source) if record < source.listed)


_copies_go: Final = repeats.completing(shown)


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
        tools = kinds & KINDS.get(value["role"], frozenset())
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
        again = {number for number, _ in repeated(value)}
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
            elif is_one(part):
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
    if part["type"] in CALLS:
        yield call(part, record, path, tools)
    else:
        yield from result(part, record, path, owner, common, tools)


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
    complete=complete,
    display=repeats.displaying(shown),
)


def request_evidence(value: Any) -> Evidence:
    if not isinstance(value, dict):
        return Evidence.NO
    if value.get("type") == "request":
        return Evidence.YES if _messages(value) is not None else Evidence.NO
    return Evidence.YES if value.get("type") == "response" and _answer(value) is not None else Evidence.NO


def _messages(value: Any) -> list[Any] | None:
    request = value.get("request_params") if isinstance(value, dict) else None
    messages = request.get("messages") if isinstance(request, dict) else None
    return messages if isinstance(messages, list) else None


def _answer(value: Any) -> dict[str, Any] | None:
    response = value.get("response") if isinstance(value, dict) else None
    choices = response.get("choices") if isinstance(response, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    return message if isinstance(message, dict) else None


def _lacking(value: Any) -> str:
    """Name a call, or an answer, without what its kind needs; empty for one that is whole, or tells of an error."""
    if not isinstance(value, dict) or _messages(value) is not None or _answer(value) is not None:
        return ""
    response = value.get("response")
    if value.get("error") or (isinstance(response, dict) and response.get("error")):
        return ""
    return f"{value.get('type')} without {'messages' if value.get('type') == 'request' else 'an answer'}"


def read_request_log(document: Document, values: Iterator[Any]) -> Transcript:
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
    listed = replace(conversation, source=replace(conversation.source, beside=0))
    transcript = read(listed, iter(messages))
    tools, model = request.get("tools"), request.get("model")
    # What comes before the last request is in it.
    unknown = Tally(filter(None, map(_lacking, records[last + 1 :])))
    return replace(
        transcript,
        format="request-log",
        model=model if isinstance(model, str) else None,
        envelope=json_text.dump_compact(tools) if tools else "",
        unknown=tuple(unknown.items()),
        warnings=_warnings([_messages(records[record]) or [] for record in asked]),
    )


def _warnings(requests: list[list[Any]]) -> tuple[str, ...]:
    """Requests that begin otherwise than the last one belong to another conversation."""
    others = sum(messages[:2] != requests[-1][:2] for messages in requests)
    return (f"Requests of other conversations are ignored ({others}).",) if others else ()


def _ending_understood(transcript: Transcript) -> Iterator[FileFault]:
    for name, number in transcript.unknown:
        last = len(transcript.source.spans) - 1
        yield FileFault("messages_understood", last, f"what follows the last request is not read: {number} {name}")


REQUEST_LOG = Format(
    "request-log",
    FORMAT.family,
    "Logs of chat-completions requests and answers, read-only",
    request_evidence,
    read_request_log,
    rules=(_ending_understood,),
    is_writable=False,
)
