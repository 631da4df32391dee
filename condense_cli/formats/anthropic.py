"""Messages of the Anthropic Messages API: JSON lines, an array, or an object with `messages`.

{"role": "user" | "assistant", "content": str | [block, ...]}

The reader of blocks serves every format that stores Anthropic's content blocks.
https://platform.claude.com/docs/en/api/messages
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from msgspec.structs import replace

from ..core import json_text
from ..core.json_text import object_in, text_in, value_in
from ..core.transcript import SERVER_CALLS, Block, JsonPath, Message, Place, Transcript
from ..core.values import BlockKind, Family, Role
from .engine import client_text
from .engine.base import Evidence, Format, claims_nothing, message_role, part_kinds
from .engine.blocks import attachment_block, call_block, text_block, unknown_block
from .engine.container import Document, as_lazy

_PROOF: Final = {"tool_use", "tool_result", "thinking", "redacted_thinking", "document", "server_tool_use"}
_FOREIGN: Final = {
    "input_audio", "input_text", "output_text", "reasoning", "refusal", "tool-call", "tool-result", "tool_call",
    "tool_output",
}  # fmt: skip
_OF_RESULTS: Final = {"type", "tool_use_id", "content", "is_error", "cache_control"}
"""Keys of a result that may have no content."""
_SAID_BY_SERVERS: Final = ("stdout", "stderr", "content", "text")
"""Keys of texts in results of servers: output of code, a file that it shows, an adviser."""
_OF_SERVERS: Final = {
    "encrypted_content", "encrypted_stdout", "error_code", "error_message", "file_type", "retrieved_at", "title",
    "type", "url", *_SAID_BY_SERVERS,
}  # fmt: skip
"""All keys of strings in these results."""
ROLES: Final = {"user": Role.USER, "assistant": Role.ASSISTANT, "system": Role.SYSTEM, "developer": Role.DEVELOPER}


class BlockReader:
    """Read content blocks in order. Remembers calls, so that results know their tool."""

    def __init__(self, tools: dict[str, str] | None = None) -> None:
        self._tools = {} if tools is None else tools

    def content(self, content: Any, record: int, path: JsonPath, *, is_user: bool) -> Iterator[Block]:
        """Yield the blocks of the `content` of a message, which is at `path` of the record."""
        if isinstance(content, str):
            yield text_block(content, record, path, is_user=is_user)
        elif isinstance(content, list):
            for index, part in enumerate(content):
                yield from self.part(part, record, (*path, index), is_user)

    def part(self, part: Any, record: int, owner: JsonPath, is_user: bool) -> Iterator[Block]:
        kind = value_in(part, "type")
        if kind == "text" and isinstance(part.get("text"), str):
            yield text_block(part["text"], record, (*owner, "text"), owner, is_user=is_user)
        elif kind == "thinking" and isinstance(part.get("thinking"), str):
            text, signature = part["thinking"], part.get("signature")
            estimate = client_text.encrypted_thinking(signature, text)
            place = Place(record, (*owner, "thinking"))
            yield Block(BlockKind.THINKING, place, owner, content=text, estimate=estimate, unsigned=not signature)
        elif kind == "redacted_thinking":
            estimate = client_text.encrypted_thinking(part.get("data"))
            yield Block(BlockKind.THINKING, Place(record, owner), owner, estimate=estimate)
        elif kind == "tool_use" and isinstance(part.get("id"), str) and "input" in part:
            yield call_block(part, record, owner, self._tools, "id", "name", "input")
        elif kind == "tool_result" and isinstance(part.get("tool_use_id"), str):
            yield from self._result(part, record, owner)
        elif isinstance(kind, str) and kind.endswith("_tool_result") and isinstance(part.get("tool_use_id"), str):
            yield from self._of_server(part, record, owner)
        else:
            if kind in SERVER_CALLS and isinstance(part.get("id"), str):
                self._tools[part["id"]] = str(part.get("name") or "")
            yield attachment_block(part, record, owner)

    def _of_server(self, part: dict[str, Any], record: int, owner: JsonPath) -> Iterator[Block]:
        """Yield the texts of a server's result, or all of it as one block if it has none or only encrypted ones.

        It is in the answer of the assistant, beside its call: `server_call` links the two.
        """
        whole = attachment_block(part, record, owner, tool=self._tools.get(part["tool_use_id"]))
        content = part.get("content")
        inside = object_in(content)
        if any(isinstance(inside[key], str) for key in inside.keys() - _OF_SERVERS):
            yield replace(whole, is_unknown=True)
            return
        is_error = str(inside.get("type")).endswith("_error") or part.get("is_error") is True
        texts = [*_texts(content, (*owner, "content"))]
        for path, text in texts:
            place = Place(record, path)
            yield replace(whole, kind=BlockKind.TOOL_RESULT, place=place, content=text, is_error=is_error)
        if not texts:
            yield whole

    def _result(self, part: dict[str, Any], record: int, owner: JsonPath) -> Iterator[Block]:
        call_id, content, path = part["tool_use_id"], part.get("content"), (*owner, "content")
        common: dict[str, Any] = {
            "call_id": call_id,
            "tool": self._tools.get(call_id),
            "is_error": part.get("is_error") is True,
        }
        if isinstance(content, list) and content:
            for index, item in enumerate(content):
                is_text = isinstance(item, dict) and item.get("type") == "text" and isinstance(item.get("text"), str)
                if is_text:
                    place = Place(record, (*path, index, "text"))
                    yield Block(BlockKind.TOOL_RESULT, place, owner, content=item["text"], **common)
                else:
                    yield attachment_block(item, record, owner, place=(*path, index), **common)
        elif isinstance(content, str) or not (content or part.keys() - _OF_RESULTS):
            yield Block(BlockKind.TOOL_RESULT, Place(record, path), owner, content=content or "", **common)
        else:  # Its text is under an unknown key, as in clients with results of their own form.
            yield unknown_block(part, record, owner, **common)


def _texts(content: Any, path: JsonPath) -> Iterator[tuple[JsonPath, str]]:
    """Yield the texts in a server's result with their paths: of an MCP server, of code, of a page."""
    if isinstance(content, str):
        yield path, content
    elif isinstance(content, list):
        for number, part in enumerate(content):
            if isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str):
                yield (*path, number, "text"), part["text"]
    elif isinstance(content, dict):
        for key in _SAID_BY_SERVERS:
            if isinstance(content.get(key), str) and content[key]:
                yield (*path, key), content[key]
        source = value_in(content, "content", "source")
        if isinstance(source, dict) and source.get("type") == "text" and isinstance(source.get("data"), str):
            yield (*path, "content", "source", "data"), source["data"]


def merged(turns: Iterable[tuple[Role, list[Block]]]) -> tuple[Message, ...]:
    """Join neighbours of one role to one message, as the API does. A summary stays a message of its own."""
    messages: list[tuple[Role, list[Block]]] = []
    was_apart = True
    for role, blocks in turns:
        is_apart = any(block.looks_like_summary for block in blocks)
        if messages and messages[-1][0] is role and not (is_apart or was_apart):
            messages[-1][1].extend(blocks)
        else:
            messages.append((role, [*blocks]))
        was_apart = is_apart
    return tuple(Message(index, role, tuple(blocks)) for index, (role, blocks) in enumerate(messages))


def evidence(value: Any) -> Evidence:
    if not isinstance(value, dict) or str(value.get("role")) not in ROLES:
        return Evidence.NO
    if value.get("tool_calls") or "tool_call_id" in value:
        return Evidence.NO
    content = value.get("content")
    if isinstance(content, str):
        return Evidence.MAYBE
    if not isinstance(content, list):
        return Evidence.NO
    kinds = part_kinds(content)
    if kinds & _PROOF or any(isinstance(part, dict) and "source" in part for part in content):
        return Evidence.YES
    return Evidence.NO if kinds & _FOREIGN else Evidence.MAYBE


def read_with(reader: BlockReader, document: Document, values: Iterator[Any], name: str) -> Transcript:
    """Read messages of this API, with blocks that `reader` reads, as a transcript of the format `name`."""
    turns = []
    for record, value in enumerate(values):
        if record in document.source.unparsed:
            continue
        role = message_role(record, value, ROLES)
        content = reader.content(value.get("content"), record, ("content",), is_user=role is Role.USER)
        turns.append((role, as_lazy(content, document.source)))
    return transcript_of(turns, document, name)


def transcript_of(turns: Iterable[tuple[Role, list[Block]]], document: Document, name: str) -> Transcript:
    """Return the transcript of the format `name`, with the model and the instructions that surround its messages."""
    return Transcript(
        name,
        Family.ANTHROPIC,
        merged(turns),
        document.source,
        model=envelope_model(document.envelope),
        envelope=envelope_text(document.envelope),
    )


def envelope_model(envelope: dict[str, Any]) -> str | None:
    """Return the model that a recorded request or its answer names."""
    places = (envelope, envelope.get("response"), envelope.get("kwargs"))
    return next(filter(None, (text_in(place, "model") for place in places)), None)


def envelope_text(envelope: dict[str, Any]) -> str:
    """Return what a recorded request sends besides the messages: system prompt and tool definitions."""
    tools = envelope.get("tools") or value_in(envelope, "kwargs", "tools")
    parts = [envelope.get("system") or envelope.get("system_prompt"), tools]
    return "\n".join(part if isinstance(part, str) else json_text.dump_compact(part) for part in parts if part)


FORMAT: Final = Format(
    "anthropic",
    Family.ANTHROPIC,
    "Anthropic Messages API: JSON lines, an array, or an object with messages",
    evidence,
    lambda document, values: read_with(BlockReader(), document, values, "anthropic"),
    fits=claims_nothing,
)
