"""Messages of Gemini CLI as turns.

    {"id", "timestamp", "type": "user" | "gemini" | "info" | ..., "content": str | part | [part, ...],
     "thoughts"?: [{"subject", "description"}],  (shown to the user and never sent)
     "toolCalls"?: [{"id", "name", "args", "result": str | part | [part, ...], "status", "resultDisplay"}]}

Newer versions hold calls and thoughts in the content, and what came of the calls in `toolCalls` still, or in messages
of the user with nothing but `functionResponse` parts. Where both are there, the client sends results twice once it
goes on with a session; here they count once. A session that it goes on with in a later minute has, beside each of
several calls, the results of all of them (updateMessagesFromHistory in chatRecordingService.ts).
https://github.com/google-gemini/gemini-cli/blob/main/packages/core/src/utils/sessionUtils.ts
(convertSessionToClientHistory)
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterable, Iterator
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from ...core import json_text
from ...core.transcript import Block, JsonPath, Message, Place, Source, Transcript
from ...core.values import BlockKind, Family, Role, Usage
from ..anthropic import attachment_block
from ..engine import client_text
from ..engine.base import recorded, unknown_block
from ..engine.client_text import is_injected
from ..engine.container import as_lazy
from ..engine.turns import WHOLE

TYPES: Final = ("user", "gemini", "info", "error", "warning")
_LISTS: Final = frozenset({"content", "displayContent", "thoughts", "toolCalls"})
_NOT_SENT: Final = ("/", "?", "<session_context>", "<hook_context>")
"""How messages of the user begin that were for the client, or that it writes anew."""


class GeminiEntry(Struct, frozen=True):
    """A message, and where it stands."""

    value: dict[str, Any]
    record: int
    path: JsonPath = ()


def is_message(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.get("type") in TYPES
        and isinstance(value.get("id"), str)
        and isinstance(value.get("timestamp"), str)
        and "content" in value
    )


def transcript(format_name: str, entries: list[GeminiEntry], source: Source, unknown: Iterable[str] = ()) -> Transcript:
    messages: list[Message] = []
    model = None
    usages: list[Usage] = []
    answered: set[str] = set()
    for entry in entries:
        for role, found in _turns(entry, answered):
            blocks = tuple(as_lazy(found, source))
            answered.update(block.answers for block in blocks if block.answers)
            if role is Role.ASSISTANT and blocks:
                model = entry.value["model"] if isinstance(entry.value.get("model"), str) else model
                usages += _usage(len(messages), entry.value.get("tokens"), model)
            if blocks:
                messages.append(Message(len(messages), role, blocks))
    not_read = Tally([*unknown, *(f"message with {key}" for entry in entries for key in _unknown_lists(entry.value))])
    return Transcript(
        format_name,
        Family.OPENAI_CHAT,
        tuple(messages),
        source,
        model=model,
        usages=tuple(usages),
        unknown=tuple(not_read.items()),
    )


def _unknown_lists(message: dict[str, Any]) -> Iterator[str]:
    """Keys with objects in a list, as calls and parts are, that nobody knows."""
    for key in message.keys() - _LISTS:
        if isinstance(message[key], list) and any(isinstance(one, dict) for one in message[key]):
            yield key


def _usage(message: int, tokens: Any, model: str | None) -> Iterator[Usage]:
    """Gemini's count of what was sent includes what came from the cache."""
    if isinstance(tokens, dict):
        yield from recorded(message, [tokens.get("input")], tokens.get("output"), model=model)


def _turns(entry: GeminiEntry, answered: set[str]) -> Iterator[tuple[Role, Iterator[Block]]]:
    """Who says what in a message. `answered` are calls whose results came before."""
    value = entry.value
    if value.get("type") == "user":
        parts = list(_parts(value.get("content"), (*entry.path, "content")))
        text = "".join(_text(part) for part, _ in parts).strip()
        if holds_only_responses(value):
            yield Role.TOOL, _responses(parts, entry.record, answered)
        elif not text.startswith(_NOT_SENT):
            yield Role.USER, (_part(part, entry.record, path, is_user=True) for part, path in parts)
    elif value.get("type") == "gemini":
        yield Role.ASSISTANT, _said(entry)
        yield Role.TOOL, _results(entry)


def holds_only_responses(value: dict[str, Any]) -> bool:
    """Whether a message says nothing but results of calls."""
    parts = [part for part, _ in _parts(value.get("content"), ())]
    return all(isinstance(part, dict) and "functionResponse" in part for part in parts)


def _responses(parts: list[tuple[Any, JsonPath]], record: int, answered: set[str]) -> Iterator[Block]:
    told: set[str] = set()
    for part, path in parts:
        call_id = _answers(part)
        if call_id is not None and call_id not in answered and call_id not in told:
            told.add(call_id)
            common: dict[str, Any] = {"call_id": call_id, "tool": str(part["functionResponse"].get("name") or "")}
            yield _result(part, record, path, path, False, common)


def _answers(part: Any) -> str | None:
    """The id of the call that a part says it answers."""
    response = part.get("functionResponse") if isinstance(part, dict) else None
    call_id = response.get("id") if isinstance(response, dict) else None
    return call_id if isinstance(call_id, str) else None


def _parts(content: Any, path: JsonPath) -> Iterator[tuple[Any, JsonPath]]:
    """The parts of a content, which may be one part or a list of them, and where each stands."""
    if isinstance(content, list):
        yield from ((part, (*path, number)) for number, part in enumerate(content))
    elif content:
        yield content, path


def _text(part: Any) -> str:
    text = part.get("text") if isinstance(part, dict) else part
    return text if isinstance(text, str) else ""


def _said(entry: GeminiEntry) -> Iterator[Block]:
    value, record = entry.value, entry.record
    parts = list(_parts(value.get("content"), (*entry.path, "content")))
    holds_all = any(isinstance(part, dict) and (part.get("functionCall") or part.get("thought")) for part, _ in parts)
    for part, path in parts:
        yield _part(part, record, path, is_user=False)
    if not holds_all:
        for call, path in _calls(entry):
            yield _call(call, record, path)


def _calls(entry: GeminiEntry) -> Iterator[tuple[dict[str, Any], JsonPath]]:
    calls = entry.value.get("toolCalls")
    for number, call in enumerate(calls if isinstance(calls, list) else ()):
        if isinstance(call, dict) and isinstance(call.get("id"), str):
            yield call, (*entry.path, "toolCalls", number)


def _call(call: dict[str, Any], record: int, owner: JsonPath, inside: JsonPath = ()) -> Block:
    place = Place(record, (*owner, *inside, "args"))
    text = json_text.dump_compact(call.get("args", {}))
    tool = str(call.get("name") or "")
    return Block(BlockKind.TOOL_CALL, place, owner, content=text, tool=tool, call_id=call["id"], is_object=True)


def _part(part: Any, record: int, owner: JsonPath, *, is_user: bool) -> Block:
    if isinstance(part, str):
        return Block(BlockKind.TEXT, Place(record, owner), owner, content=part, injected=is_user and is_injected(part))
    if not isinstance(part, dict):
        return unknown_block(part, record, owner)
    call, text = part.get("functionCall"), part.get("text")
    if isinstance(call, dict) and isinstance(call.get("id"), str):
        return _call(call, record, owner, ("functionCall",))
    if isinstance(text, str):
        place = Place(record, (*owner, "text"))
        if part.get("thought"):
            return Block(BlockKind.THINKING, place, owner, content=text)
        return Block(BlockKind.TEXT, place, owner, content=text, injected=is_user and is_injected(text))
    return _attachment(part, record, owner)


def _attachment(part: dict[str, Any], record: int, owner: JsonPath, **common: Any) -> Block:
    inline = part.get("inlineData")
    if not isinstance(inline, dict) and not WHOLE.isdisjoint(part):
        return Block(BlockKind.OPAQUE, Place(record, owner), owner, content=json_text.dump_compact(part), **common)
    if not isinstance(inline, dict):
        return attachment_block(part, record, owner, **common)
    if str(inline.get("mimeType")).startswith("image/"):
        image = {"type": "image", "source": {"data": inline.get("data")}}
        return attachment_block(image, record, owner, **common)
    estimate = client_text.document(inline.get("data"))
    return Block(BlockKind.OPAQUE, Place(record, owner), owner, estimate=estimate, **common)


def _results(entry: GeminiEntry) -> Iterator[Block]:
    calls = list(_calls(entry))
    asked = {call["id"] for call, _ in calls}
    for call, owner in calls:
        common: dict[str, Any] = {"call_id": call["id"], "tool": str(call.get("name") or "")}
        for part, path in _own(_parts(call.get("result"), (*owner, "result")), call["id"], asked):
            yield _result(part, entry.record, path, owner, call.get("status") == "error", common)


def _own(parts: Iterator[tuple[Any, JsonPath]], call_id: str, asked: set[str]) -> Iterator[tuple[Any, JsonPath]]:
    """The result of a call without those of others that were `asked` beside it. What follows a response is part of it.

    Some may be told again: the first counts.
    """
    is_own, is_told = True, False
    for part, path in parts:
        answers = _answers(part)
        if answers == call_id:
            is_own, is_told = not is_told, True
        elif answers in asked:
            is_own = False
        if is_own:
            yield part, path


def _result(part: Any, record: int, path: JsonPath, owner: JsonPath, has_failed: bool, common: dict[str, Any]) -> Block:
    if isinstance(part, str):
        return Block(BlockKind.TOOL_RESULT, Place(record, path), owner, content=part, is_error=has_failed, **common)
    if not isinstance(part, dict):
        return unknown_block(part, record, path, owner, **common)
    envelope = part.get("functionResponse")
    response = envelope.get("response") if isinstance(envelope, dict) else None
    if not isinstance(response, dict):
        response = {}
    inside = (*path, "functionResponse", "response")
    texts: tuple[tuple[Any, JsonPath], ...] = (
        (response.get("output"), (*inside, "output")),
        (response.get("error"), (*inside, "error")),
        (part.get("text"), (*path, "text")),
    )
    for text, where in texts:
        if isinstance(text, str):
            is_error = has_failed or where[-1] == "error"
            return Block(BlockKind.TOOL_RESULT, Place(record, where), owner, content=text, is_error=is_error, **common)
    found = _attachment(part, record, path, **common)
    return replace(found, owner=owner, is_error=has_failed, is_unknown=found.is_unknown and not response)
