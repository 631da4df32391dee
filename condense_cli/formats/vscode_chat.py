"""Chats of VS Code (Chat: Export Chat…): an object with requests, each with all that was done to answer it.

    {"requests": [{"message": {"text"}, "response": [part, ...], "modelId",
                   "result": {"metadata": {"renderedUserMessage"?: [{"text"}],
                                           "toolCallRounds"?: [{"response", "toolCalls", "thinking"?}],
                                           "toolCallResults"?: {id: {"content": [{"value": str | {"node"}}]}}}}}]}

The model gets the rendered message, the rounds and their results; `message` and `response` are what the window shows,
and what counts where there are no rounds. A value that is no string is a tree whose leaves have the text. One request
holds many turns, and a summary of some of them has no place in it: the format is only read.
https://github.com/microsoft/vscode-copilot-chat (src/extension/prompt/common/toolCallRound.ts)
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterator
from typing import Any, Final

from ..core.transcript import Block, JsonPath, Place, Transcript
from ..core.values import BlockKind, Container, Family, Role
from .engine.base import Evidence, Format, unknown_block
from .engine.client_text import is_injected
from .engine.container import Document, as_lazy, with_records_under
from .engine.turns import Turn, joined

_LIST: Final = "requests"
_METADATA: Final = ("result", "metadata")
_Turns = Iterator[tuple[Role, list[Block]]]


def evidence(value: Any) -> Evidence:
    requests = value.get(_LIST) if isinstance(value, dict) else None
    first = requests[0] if isinstance(requests, list) and requests else None
    is_chat = isinstance(first, dict) and isinstance(first.get("message"), dict) and "response" in first
    return Evidence.YES if is_chat else Evidence.NO


def read(document: Document, values: Iterator[Any]) -> Transcript:
    records = list(values)
    if document.source.container is Container.LINES and len(records) == 1:
        document = with_records_under(document, _LIST)
        records = list(document.values)
    turns: list[Turn] = []
    model = None
    unknown = Tally[str]()
    for record, request in enumerate(records):
        if not isinstance(request, dict):
            continue
        unknown.update(_not_read(request))
        model = request["modelId"] if isinstance(request.get("modelId"), str) else model
        for role, blocks in _turns(request, record):
            if blocks:
                turns.append(Turn(role, list(as_lazy(blocks, document.source))))
    named = model.rpartition("/")[2] if model else None
    return Transcript(
        "vscode-chat",
        Family.OPENAI_CHAT,
        joined(turns),
        document.source,
        model=named,
        unknown=tuple(unknown.items()),
    )


def _not_read(request: dict[str, Any]) -> Iterator[str]:
    """Work of a request that is shown or answered, and not where its calls are."""
    metadata = _metadata(request)
    rounds, parts = metadata.get("toolCallRounds"), request.get("response")
    shown = [part.get("kind") for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    if not rounds and (metadata.get("toolCallResults") or any(str(kind).startswith("toolInvoc") for kind in shown)):
        yield "request without its rounds"
    for each in rounds if isinstance(rounds, list) else ():
        if not isinstance(each, dict) or "toolCalls" not in each:
            yield "round without calls"


def _turns(request: dict[str, Any], record: int) -> _Turns:
    metadata = _metadata(request)
    yield Role.USER, list(_asked(request, metadata, record))
    rounds = metadata.get("toolCallRounds")
    results = metadata.get("toolCallResults")
    if not isinstance(rounds, list) or not rounds:
        yield Role.ASSISTANT, list(_shown_answer(request, record))
        return
    for number, each in enumerate(rounds):
        if isinstance(each, dict):
            calls = list(_calls(each, record, (*_METADATA, "toolCallRounds", number)))
            yield Role.ASSISTANT, [*_said(each, record, (*_METADATA, "toolCallRounds", number)), *calls]
            found = results if isinstance(results, dict) else {}
            yield Role.TOOL, [block for call in calls for block in _result(call, found, record)]


def _metadata(request: dict[str, Any]) -> dict[str, Any]:
    result = request.get("result")
    metadata = result.get("metadata") if isinstance(result, dict) else None
    return metadata if isinstance(metadata, dict) else {}


def _asked(request: dict[str, Any], metadata: dict[str, Any], record: int) -> Iterator[Block]:
    message = request.get("message")
    asked = message.get("text") if isinstance(message, dict) else None
    rendered = metadata.get("renderedUserMessage")
    parts = [part.get("text") if isinstance(part, dict) else None for part in rendered or ()] if rendered else []
    holds_it = any(isinstance(text, str) and isinstance(asked, str) and asked in text for text in parts)
    if holds_it:
        for number, text in enumerate(parts):
            if isinstance(text, str) and text.strip():
                owner = (*_METADATA, "renderedUserMessage", number)
                place = Place(record, (*owner, "text"))
                yield Block(BlockKind.TEXT, place, owner, content=text, injected=str(asked) not in text)
    elif isinstance(asked, str) and asked:
        path = ("message", "text")
        yield Block(BlockKind.TEXT, Place(record, path), path, content=asked, injected=is_injected(asked))


def _said(each: dict[str, Any], record: int, path: JsonPath) -> Iterator[Block]:
    thinking = each.get("thinking")
    thought = thinking.get("text") if isinstance(thinking, dict) else None
    if isinstance(thought, str) and thought:
        owner = (*path, "thinking")
        yield Block(BlockKind.THINKING, Place(record, (*owner, "text")), owner, content=thought)
    text, owner = each.get("response"), (*path, "response")
    if isinstance(text, str) and text:
        yield Block(BlockKind.TEXT, Place(record, owner), owner, content=text)


def _calls(each: dict[str, Any], record: int, path: JsonPath) -> Iterator[Block]:
    calls = each.get("toolCalls")
    for number, call in enumerate(calls if isinstance(calls, list) else ()):
        owner = (*path, "toolCalls", number)
        arguments = call.get("arguments") if isinstance(call, dict) else None
        if not isinstance(arguments, str) or not isinstance(call.get("id"), str):
            yield unknown_block(call, record, owner)
            continue
        yield Block(
            BlockKind.TOOL_CALL,
            Place(record, (*owner, "arguments")),
            owner,
            content=arguments,
            tool=str(call.get("name") or ""),
            call_id=call["id"],
        )


def _result(call: Block, results: dict[str, Any], record: int) -> Iterator[Block]:
    """The result of a call, in as many parts as its value has texts."""
    value = results.get(call.call_id or "")
    if not isinstance(value, dict):
        return
    owner = (*_METADATA, "toolCallResults", str(call.call_id))
    common: dict[str, Any] = {"call_id": call.call_id, "tool": call.tool}
    texts = list(_texts(value.get("content"), (*owner, "content")))
    if not texts and _has_text(value):
        yield unknown_block(value, record, owner, **common)
    elif not texts:
        yield Block(BlockKind.TOOL_RESULT, Place(record, owner), owner, **common)
    for path, text in texts:
        yield Block(BlockKind.TOOL_RESULT, Place(record, path), owner, content=text, **common)


def _texts(value: Any, path: JsonPath) -> Iterator[tuple[JsonPath, str]]:
    if isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _texts(inner, (*path, number))
    elif isinstance(value, dict):
        for key in ("value", "node", "children", "text"):
            inner = value.get(key)
            if isinstance(inner, str) and key in ("value", "text") and inner.strip():
                yield (*path, key), inner
            elif isinstance(inner, dict | list):
                yield from _texts(inner, (*path, key))


def _has_text(value: Any) -> bool:
    """Whether any value inside one is a text."""
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return bool(isinstance(value, str) and value.strip()) or any(map(_has_text, inside))


def _shown_answer(request: dict[str, Any], record: int) -> Iterator[Block]:
    parts = request.get("response")
    for number, part in enumerate(parts if isinstance(parts, list) else ()):
        text = part.get("value") if isinstance(part, dict) and "kind" not in part else None
        if isinstance(text, str) and text.strip():
            owner = ("response", number)
            yield Block(BlockKind.TEXT, Place(record, (*owner, "value")), owner, content=text)


FORMAT = Format(
    "vscode-chat",
    Family.OPENAI_CHAT,
    "Chats of VS Code (Chat: Export Chat…), read-only",
    evidence,
    read,
    answers_calls=True,
    is_writable=False,
)
