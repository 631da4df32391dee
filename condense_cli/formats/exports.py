"""Conversations as users export them from a window: only read.

VS Code  {"requests": [{"message": {"text"}, "response": [part, ...], "modelId", "result": {"metadata": {
              "renderedUserMessage"?: [{"text"}], "toolCallRounds"?: [{"response", "toolCalls", "thinking"?}],
              "toolCallResults"?: {id: {"content": [{"value": str | {"node"}}]}}}}}]}   (Chat: Export Chat…)
    The model gets the rendered message, the rounds and their results; `message` and `response` are what the window
    shows, and what counts if there are no rounds. A value that is no string is a tree whose leaves have the text.
    https://github.com/microsoft/vscode-copilot-chat (src/extension/prompt/common/toolCallRound.ts)

What ChatGPT and Claude export (conversations.json) is an array of conversations, and so a set of rows; one of them is a
file as well.

ChatGPT  {"title", "current_node", "mapping": {id: {"id", "parent", "children", "message": null | message}}}
    {"author": {"role", "name"?}, "recipient": "all" | tool, "content": content, "metadata": {"model_slug"?}}
    content: {"content_type": "text", "parts"} · {"content_type": "code", "text"} · {"content_type": "thoughts",
    "thoughts": [{"content"}]} · and more that have parts, a text or a result. An edit begins a branch; the
    conversation is the path to the current node. A message to a tool is a call, and has no id but its own.

Claude   {"uuid", "name", "chat_messages": [{"uuid", "sender": "human" | "assistant", "text", "content": [part, ...],
          "parent_message_uuid"?, "attachments": [{"file_name", "extracted_content"}]}]}
    Parts are Anthropic's; calls and results are in one message, without ids in older exports. `text` repeats them.
    https://support.claude.com/en/articles/9450526-how-can-i-export-my-claude-data
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

from msgspec.structs import replace

from ..core import json_text
from ..core.json_text import object_in, text_in, value_in
from ..core.transcript import TEXT_CALL, Block, JsonPath, Place, Transcript
from ..core.values import BlockKind, Container, Family, Role
from ..errors import UnknownFormatError
from .anthropic import BlockReader
from .engine.base import Evidence, Format, Habit, message_role, not_a_message, only_value
from .engine.blocks import Turn, call_block, has_text, image_block, joined, listed, text_block, unknown_block
from .engine.container import Document, as_lazy, only_record, with_records_under

_METADATA: Final = ("result", "metadata")


def _vscode_evidence(value: Any) -> Evidence:
    first = next(iter(listed(value, "requests")), None)
    is_chat = isinstance(first, dict) and isinstance(first.get("message"), dict) and "response" in first
    return Evidence.YES if is_chat else Evidence.NO


def _read_vscode(document: Document, values: Iterator[Any]) -> Transcript:
    records = list(values)
    if document.source.container is Container.LINES and len(records) == 1 and listed(records[0], "requests"):
        document = with_records_under(document, "requests")
        records = list(document.values)
    turns: list[Turn] = []
    model = None
    unknown = Tally[str]()
    for record, request in enumerate(records):
        if not isinstance(request, dict):
            continue
        unknown.update(_not_read(request))
        model = request["modelId"] if isinstance(request.get("modelId"), str) else model
        for role, blocks in _turns_of_request(request, record):
            if blocks:
                turns.append(Turn(role, as_lazy(blocks, document.source)))
    return Transcript(
        "vscode-chat",
        Family.OPENAI_CHAT,
        joined(turns),
        document.source,
        model=model.rpartition("/")[2] if model else None,
        unknown=tuple(unknown.items()),
    )


def _not_read(request: dict[str, Any]) -> Iterator[str]:
    """Name work of a request that is shown or answered, and not where its calls are."""
    metadata = object_in(request, *_METADATA)
    rounds = metadata.get("toolCallRounds")
    kinds = (str(part.get("kind")) for part in listed(request, "response") if isinstance(part, dict))
    if not rounds and (metadata.get("toolCallResults") or any(kind.startswith("toolInvoc") for kind in kinds)):
        yield "request without its rounds"
    for each in rounds if isinstance(rounds, list) else ():
        if not isinstance(each, dict) or not isinstance(each.get("toolCalls"), list):
            yield "round without calls"
        elif not isinstance(each.get("response"), str):
            yield "round without a response"


def _turns_of_request(request: dict[str, Any], record: int) -> Iterator[tuple[Role, list[Block]]]:
    metadata = object_in(request, *_METADATA)
    yield Role.USER, list(_asked(request, metadata, record))
    rounds, results = listed(metadata, "toolCallRounds"), object_in(metadata, "toolCallResults")
    if not rounds:
        parts = enumerate(listed(request, "response"))
        texts = ((n, part.get("value")) for n, part in parts if isinstance(part, dict) and "kind" not in part)
        shown = ((n, text) for n, text in texts if isinstance(text, str) and text.strip())
        yield Role.ASSISTANT, [text_block(text, record, ("response", n, "value"), ("response", n)) for n, text in shown]
    for number, each in enumerate(rounds):
        if not isinstance(each, dict):
            continue
        path = (*_METADATA, "toolCallRounds", number)
        said: list[Block] = []
        text, thought = each.get("response"), text_in(each, "thinking", "text")
        if thought:
            owner = (*path, "thinking")
            said.append(text_block(thought, record, (*owner, "text"), owner, kind=BlockKind.THINKING))
        if isinstance(text, str) and text:
            said.append(text_block(text, record, (*path, "response")))
        calls = [
            call_block(call, record, (*path, "toolCalls", position), {}, may_be_text=True)
            for position, call in enumerate(listed(each, "toolCalls"))
        ]
        yield Role.ASSISTANT, [*said, *calls]
        yield Role.TOOL, [block for call in calls for block in _result(call, results, record)]


def _asked(request: dict[str, Any], metadata: dict[str, Any], record: int) -> Iterator[Block]:
    asked = value_in(request, "message", "text")
    parts = listed(metadata, "renderedUserMessage")
    texts = [value_in(part, "text") for part in parts]
    if not isinstance(asked, str):
        return
    if any(isinstance(text, str) and asked in text for text in texts):
        for number, text in enumerate(texts):
            if isinstance(text, str) and text.strip():
                owner = (*_METADATA, "renderedUserMessage", number)
                yield text_block(text, record, (*owner, "text"), owner, injected=asked not in text)
    elif asked:
        yield text_block(asked, record, ("message", "text"), is_user=True)


def _result(call: Block, results: dict[str, Any], record: int) -> Iterator[Block]:
    """Yield the result of a call, in as many parts as its value has texts."""
    value = results.get(call.call_id or "")
    if not isinstance(value, dict):
        return
    owner = (*_METADATA, "toolCallResults", str(call.call_id))
    common: dict[str, Any] = {"call_id": call.call_id, "tool": call.tool}
    texts = list(_texts(value.get("content"), (*owner, "content")))
    if not texts and has_text(value):
        yield unknown_block(value, record, owner, **common)
    elif not texts:
        yield Block(BlockKind.TOOL_RESULT, Place(record, owner), owner, **common)
    for path, text in texts:
        yield text_block(text, record, path, owner, kind=BlockKind.TOOL_RESULT, **common)


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


VSCODE: Final = Format(
    "vscode-chat",
    Family.OPENAI_CHAT,
    "Chats of VS Code (Chat: Export Chat…), read-only",
    _vscode_evidence,
    _read_vscode,
    habits=Habit.ANSWERS_CALLS,
    is_writable=False,
)


_ROLES: Final = {"system": Role.SYSTEM, "user": Role.USER, "assistant": Role.ASSISTANT, "tool": Role.TOOL}
_TEXTS: Final = ("text", "result", "user_instructions", "user_profile", "model_set_context")
"""Keys of the texts in contents that have no parts."""
_SHOWN: Final = ("reasoning_recap", "app_pairing_content")
"""Types of contents that only the client shows."""


def chatgpt_evidence(value: Any) -> Evidence:
    is_tree = isinstance(value, dict) and isinstance(value.get("mapping"), dict) and "current_node" in value
    return Evidence.YES if is_tree else Evidence.NO


def _read_chatgpt(document: Document, values: Iterator[Any]) -> Transcript:
    record = only_record(document, values, "conversations of ChatGPT", "conversation.json", are_rows=True)
    if chatgpt_evidence(record) is Evidence.NO:
        raise UnknownFormatError("It has no mapping and no current_node.", "Name one conversation of ChatGPT.")
    path = list(_sent(record))
    turns: list[Turn] = []
    owners: dict[str, JsonPath] = {}
    model = call = None
    for number, (name, message) in enumerate(path):
        role = message_role(0, message.get("author"), _ROLES)
        content, at = message.get("content"), ("mapping", name, "message", "content")
        named = value_in(message, "metadata", "model_slug")
        model = named if role is Role.ASSISTANT and isinstance(named, str) else model
        asked = message.get("recipient") if role is Role.ASSISTANT else None
        is_followed = number + 1 < len(path) and path[number + 1][1]["author"].get("role") == "tool"
        common: dict[str, Any] = {}
        if asked not in (None, "all") and is_followed:
            call = common = {"kind": BlockKind.TOOL_CALL, "tool": str(asked), "call_id": name, "is_free_text": True}
        elif role is Role.TOOL and call:
            common = {"kind": BlockKind.TOOL_RESULT, "tool": call["tool"], "call_id": call["call_id"]}
        elif role is Role.TOOL:
            role, common = Role.USER, {"injected": True}
        else:
            call = None
        said = list(_said(content, at, is_user=role is Role.USER, common=common))
        if common.get("kind") is BlockKind.TOOL_CALL:
            # One call, whatever is before its text.
            said = [_call(block) for block in said[-1:]] or [Block(place=Place(0, at), owner=at, **common)]
        elif common.get("kind") is BlockKind.TOOL_RESULT:
            said = said or [Block(place=Place(0, at), owner=at, **common)]
            # All that follows a call answers it: one result, however many messages it has.
            owner = owners.setdefault(str(common["call_id"]), said[0].owner)
            said = [replace(block, owner=owner) for block in said]
        if said:
            turns.append(Turn(role, as_lazy(said, document.source), None if role is Role.USER else "model"))
    return Transcript("chatgpt-export", Family.OPENAI_CHAT, joined(turns), document.source, model=model)


def _call(block: Block) -> Block:
    """Return the block of a call: its text is JSON for some tools, and code or a query for others."""
    with suppress(ValueError, RecursionError):
        return replace(block, is_free_text=not isinstance(json_text.parse_text(block.text), dict))
    return block


def _sent(record: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the messages on the path to the current node with the names of their nodes."""
    nodes = record["mapping"]
    path: dict[str, dict[str, Any]] = {}
    name = record["current_node"]
    while isinstance(name, str) and name not in path and isinstance(nodes.get(name), dict):
        path[name] = nodes[name]
        name = nodes[name].get("parent")
    for name, node in reversed(path.items()):
        message = node.get("message")
        if isinstance(message, dict) and isinstance(message.get("author"), dict):
            yield name, message


def _said(content: Any, path: JsonPath, *, is_user: bool, common: dict[str, Any]) -> Iterator[Block]:
    kind = value_in(content, "content_type")
    if not isinstance(kind, str):
        yield unknown_block(content, 0, path)
        return
    others = {key: value for key, value in common.items() if key in ("call_id", "tool", "injected")}
    if kind.startswith("user_editable") or kind == "model_editable_context":
        common = {**common, "injected": True}
    for number, part in enumerate(listed(content, "parts")):
        where = (*path, "parts", number)
        text = part.get("text") if isinstance(part, dict) else part
        if isinstance(text, str):
            place = where if text is part else (*where, "text")
            if text.strip():
                yield text_block(text, 0, place, where, is_user=is_user, **common)
        elif isinstance(part, dict) and "asset_pointer" in part:
            # The file is beside the export, with the name of the pointer.
            yield image_block(part["asset_pointer"], 0, where, **others)
        else:
            yield unknown_block(part, 0, where, **others)
    for number, thought in enumerate(listed(content, "thoughts")):
        where = (*path, "thoughts", number, "content")
        if isinstance(thought, dict) and isinstance(thought.get("content"), str) and thought["content"]:
            yield Block(BlockKind.THINKING, Place(0, where), where, content=thought["content"])
    texts = [key for key in _TEXTS if isinstance(content.get(key), str) and content[key].strip()]
    for key in texts:
        yield text_block(content[key], 0, (*path, key), is_user=is_user, **common)
    if not texts and kind not in _SHOWN and not {"parts", "thoughts", *_TEXTS} & content.keys():
        yield unknown_block(content, 0, path, **others)


CHATGPT: Final = Format(
    "chatgpt-export",
    Family.OPENAI_CHAT,
    "Conversations of ChatGPT's export (conversations.json), read-only",
    chatgpt_evidence,
    _read_chatgpt,
    habits=Habit.ANSWERS_CALLS,
    is_writable=False,
)


_SENDERS: Final = {"human": Role.USER, "assistant": Role.ASSISTANT}
_ROOT: Final = "00000000-0000-4000-8000-000000000000"
_NOT_SENT: Final = ("token_budget", "flag")
"""Types of parts that are no content."""


def _claude_evidence(value: Any) -> Evidence:
    is_message = isinstance(value, dict) and str(value.get("sender")) in _SENDERS and isinstance(value.get("uuid"), str)
    return Evidence.YES if is_message and ("text" in value or "content" in value) else Evidence.NO


class _ClaudeReader(BlockReader):
    """Read parts of Claude's export. Gives ids to calls that have none, and to their results in the same order."""

    def __init__(self) -> None:
        super().__init__()
        self._number = 0
        self._open: list[str] = []

    def part(self, part: Any, record: int, owner: JsonPath, is_user: bool) -> Iterator[Block]:
        kind = value_in(part, "type")
        if kind == "tool_use":
            self._number += 1
            named = part["id"] if isinstance(part.get("id"), str) and part["id"] else f"{TEXT_CALL}{self._number}"
            self._open.append(named)
            part = {**part, "id": named}
        elif kind == "tool_result":
            named = part.get("tool_use_id")
            if not (isinstance(named, str) and named):
                named = self._open[0] if self._open else f"{TEXT_CALL}of-nothing-{record}"
            self._open = [each for each in self._open if each != named]
            known = {"content", "is_error"} & part.keys()
            part = {"type": kind, "tool_use_id": named, **{key: part[key] for key in known}}
        elif kind in _NOT_SENT:
            return
        yield from super().part(part, record, owner, is_user)


def _read_claude(document: Document, values: Iterator[Any]) -> Transcript:
    records = list(values)
    model = text_in(document.envelope, "model")
    if len(records) == 1 and listed(records[0], "chat_messages"):
        model = text_in(records[0], "model")
        document = with_records_under(document, "chat_messages")
        records = list(document.values)
    reader = _ClaudeReader()
    turns: list[Turn] = []
    parsed = [(record, value) for record, value in enumerate(records) if record not in document.source.unparsed]
    for record, value in parsed:
        if _claude_evidence(value) is Evidence.NO:
            raise not_a_message(record, value, "it has no sender and no uuid, or says nothing")
    for record, value in _path(parsed):
        role = _SENDERS[value["sender"]]
        content, key = (value["content"], "content") if listed(value, "content") else (value.get("text"), "text")
        said = list(reader.content(content, record, (key,), is_user=role is Role.USER))
        for number, file in enumerate(listed(value, "attachments")):
            text = text_in(file, "extracted_content")
            where = ("attachments", number, "extracted_content")
            if text:
                said.append(Block(BlockKind.TEXT, Place(record, where), where, content=text, injected=True))
        for block in as_lazy((block for block in said if block.answers or str(block.content).strip()), document.source):
            speaker = Role.TOOL if block.answers else role
            turns.append(Turn(speaker, [block], None if speaker is Role.TOOL else str(record)))
    return Transcript("claude-export", Family.OPENAI_CHAT, joined(turns), document.source, model=model)


def _path(records: list[tuple[int, dict[str, Any]]]) -> list[tuple[int, dict[str, Any]]]:
    """Return the messages on the path to the last one; all of them if they do not form a tree."""
    nodes = {value["uuid"]: (record, value) for record, value in records}
    if not all(str(value.get("parent_message_uuid")) in (*nodes, _ROOT) for _, value in records):
        return records
    path: dict[int, dict[str, Any]] = {}
    at = records[-1] if records else None
    while at is not None and at[0] not in path:
        path[at[0]] = at[1]
        at = nodes.get(str(at[1]["parent_message_uuid"]))
    return [*reversed(path.items())]


CLAUDE: Final = Format(
    "claude-export",
    Family.OPENAI_CHAT,
    "Conversations of Claude's export (conversations.json), read-only",
    _claude_evidence,
    _read_claude,
    claims=lambda document: any(map(_claude_evidence, listed(only_value(document, "chat_messages"), "chat_messages"))),
    habits=Habit.ANSWERS_CALLS,
    is_writable=False,
)
