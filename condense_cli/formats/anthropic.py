"""Messages of the Anthropic Messages API: JSON lines, an array, or an object with `messages`.

Shape of a message: {"role": "user" | "assistant", "content": str | [block, ...]}.
The reader of blocks serves every format that stores Anthropic content blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec.structs import replace

from ..core import json_text
from ..core.markers import content_hash
from ..core.transcript import SERVER_CALLS, Block, JsonPath, Message, Place, Transcript
from ..core.values import BlockKind, Family, Role
from .engine import client_text
from .engine.base import Evidence, Format, message_role, part_kinds, unknown_block
from .engine.client_text import is_injected
from .engine.container import Document, as_lazy

_PROOF = {"tool_use", "tool_result", "thinking", "redacted_thinking", "document", "server_tool_use"}
_FOREIGN = {
    "input_audio", "input_text", "output_text", "reasoning", "refusal", "tool-call", "tool-result", "tool_call",
    "tool_output",
}  # fmt: skip
_OF_RESULTS = {"type", "tool_use_id", "content", "is_error", "cache_control"}
"""Keys of a result that may be without content."""
_SAID_BY_SERVERS = ("stdout", "stderr", "content", "text")
"""Texts of what code printed, of a file that it shows, of an adviser."""
_OF_SERVERS = {
    "encrypted_content", "encrypted_stdout", "error_code", "error_message", "file_type", "retrieved_at", "title",
    "type", "url", *_SAID_BY_SERVERS,
}  # fmt: skip
"""All keys of such results that have strings."""
_WHOLE = {
    "audio_url", "container_upload", "document", "document_url", "file", "input_audio", "refusal", "search_result",
    "video_url", *SERVER_CALLS,
}  # fmt: skip
"""Further parts that are known, of this API and of Chat Completions, and that no operation rewrites."""
ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT, "system": Role.SYSTEM, "developer": Role.DEVELOPER}


class BlockReader:
    """Reads content blocks in order, remembering each call so that its result knows the tool."""

    def __init__(self, tools: dict[str, str] | None = None) -> None:
        self._tools = {} if tools is None else tools

    def content(self, content: Any, record: int, path: JsonPath, *, is_user: bool) -> Iterator[Block]:
        """Blocks of a message's `content`, which stands at `path` of the record."""
        if isinstance(content, str):
            yield self._text(content, record, path, path, is_user)
        elif isinstance(content, list):
            for index, part in enumerate(content):
                yield from self.part(part, record, (*path, index), is_user)

    def _text(self, text: str, record: int, path: JsonPath, owner: JsonPath, is_user: bool) -> Block:
        return Block(BlockKind.TEXT, Place(record, path), owner, content=text, injected=is_user and is_injected(text))

    def part(self, part: Any, record: int, owner: JsonPath, is_user: bool) -> Iterator[Block]:
        kind = part.get("type") if isinstance(part, dict) else None
        if kind == "text" and isinstance(part.get("text"), str):
            yield self._text(part["text"], record, (*owner, "text"), owner, is_user)
        elif kind == "thinking" and isinstance(part.get("thinking"), str):
            text = part["thinking"]
            estimate = client_text.encrypted_thinking(part.get("signature"), text)
            place, unsigned = Place(record, (*owner, "thinking")), not part.get("signature")
            yield Block(BlockKind.THINKING, place, owner, content=text, estimate=estimate, unsigned=unsigned)
        elif kind == "redacted_thinking":
            estimate = client_text.encrypted_thinking(part.get("data"))
            yield Block(BlockKind.THINKING, Place(record, owner), owner, estimate=estimate)
        elif kind == "tool_use" and isinstance(part.get("id"), str) and "input" in part:
            tool = str(part.get("name") or "")
            self._tools[part["id"]] = tool
            text = json_text.dump_compact(part["input"])
            place = Place(record, (*owner, "input"))
            yield Block(BlockKind.TOOL_CALL, place, owner, content=text, tool=tool, call_id=part["id"], is_object=True)
        elif kind == "tool_result" and isinstance(part.get("tool_use_id"), str):
            yield from self._result(part, record, owner)
        elif isinstance(kind, str) and kind.endswith("_tool_result") and isinstance(part.get("tool_use_id"), str):
            yield from self._of_server(part, record, owner)
        else:
            if kind in SERVER_CALLS and isinstance(part.get("id"), str):
                self._tools[part["id"]] = str(part.get("name") or "")
            yield attachment_block(part, record, owner)

    def _of_server(self, part: dict[str, Any], record: int, owner: JsonPath) -> Iterator[Block]:
        """The texts of a result that a server gave; whole where it has none, or only encrypted ones.

        It is in the answer of the assistant, beside its call: `server_call` links the two.
        """
        whole = attachment_block(part, record, owner, tool=self._tools.get(part["tool_use_id"]))
        content = part.get("content")
        if isinstance(content, dict) and any(isinstance(content[key], str) for key in content.keys() - _OF_SERVERS):
            yield replace(whole, is_unknown=True)
            return
        error = str(content.get("type")).endswith("_error") if isinstance(content, dict) else False
        texts = [*_texts(content, (*owner, "content"))]
        for path, text in texts:
            yield replace(
                whole,
                kind=BlockKind.TOOL_RESULT,
                place=Place(record, path),
                content=text,
                is_error=error or part.get("is_error") is True,
            )
        if not texts:
            yield whole

    def _result(self, part: dict[str, Any], record: int, owner: JsonPath) -> Iterator[Block]:
        call_id = part["tool_use_id"]
        common: dict[str, Any] = {
            "call_id": call_id,
            "tool": self._tools.get(call_id),
            "is_error": part.get("is_error") is True,
        }
        content = part.get("content")
        path = (*owner, "content")
        if isinstance(content, list) and content:
            for index, item in enumerate(content):
                is_text = isinstance(item, dict) and item.get("type") == "text"
                if is_text and isinstance(item.get("text"), str):
                    place = Place(record, (*path, index, "text"))
                    yield Block(BlockKind.TOOL_RESULT, place, owner, content=item["text"], **common)
                else:
                    yield attachment_block(item, record, owner, place=(*path, index), **common)
        elif content or not part.keys() <= _OF_RESULTS:
            if isinstance(content, str):
                yield Block(BlockKind.TOOL_RESULT, Place(record, path), owner, content=content, **common)
            else:  # Its text is somewhere that is not known, as in clients with results of their own form.
                yield unknown_block(part, record, owner, **common)
        else:
            yield Block(BlockKind.TOOL_RESULT, Place(record, path), owner, **common)


def _texts(content: Any, path: JsonPath) -> Iterator[tuple[JsonPath, str]]:
    """The texts in the content of a server's result, each at its path: that of an MCP server, of code, of a page."""
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
        page = content.get("content")
        source = page.get("source") if isinstance(page, dict) else None
        if isinstance(source, dict) and source.get("type") == "text" and isinstance(source.get("data"), str):
            yield (*path, "content", "source", "data"), source["data"]


def attachment_block(part: Any, record: int, owner: JsonPath, *, place: JsonPath | None = None, **common: Any) -> Block:
    """Image, document or anything unknown: kept as it is and counted by estimate."""
    where = Place(record, place if place is not None else owner)
    source = part.get("source") if isinstance(part, dict) else None
    data = source.get("data") if isinstance(source, dict) else None
    kind = part.get("type") if isinstance(part, dict) else None
    if kind == "image":
        digest = content_hash(data if isinstance(data, str) else json_text.dump_compact(part))
        return _image(data, where, owner, digest, common)
    if kind == "image_url":
        link = part.get("image_url")
        url = link.get("url") if isinstance(link, dict) else None
        inline = url if isinstance(url, str) and url.startswith("data:") else None
        # The data alone, so that one image has one hash in every format.
        told = inline.partition(",")[2] if inline else json_text.dump_compact(part)
        digest = content_hash(told)
        return _image(told if inline else None, where, owner, digest, common)
    if isinstance(kind, str):
        common["api_type"] = kind
        server_call = part.get("id" if kind in SERVER_CALLS else "tool_use_id" if kind.endswith("_tool_result") else "")
        common["server_call"] = server_call if isinstance(server_call, str) else ""
    if kind == "document" and isinstance(data, str):
        if isinstance(source, dict) and source.get("type") == "text":
            return Block(BlockKind.OPAQUE, where, owner, content=data, is_readable=True, **common)
        return Block(BlockKind.OPAQUE, where, owner, estimate=client_text.document(data), encoded=len(data), **common)
    file = part.get("file") if kind == "file" else None
    if isinstance(file, dict):  # Of a chat completion; one that only has an id is sent whole too.
        inline = file.get("file_data")
        data = inline.rpartition(",")[2] if isinstance(inline, str) else None
        return Block(BlockKind.OPAQUE, where, owner, estimate=client_text.document(data), **common)
    if kind == "tool_reference":
        return Block(
            BlockKind.OPAQUE, where, owner, json_text.dump_compact(part), estimate=client_text.TOOL_DEFINITION, **common
        )
    if kind == "compaction" and isinstance(part.get("content"), str):
        common["estimate"] = client_text.encrypted_thinking(part.get("signature"))
        return Block(BlockKind.OPAQUE, where, owner, content=part["content"], is_readable=True, **common)
    if (isinstance(kind, str) and kind in _WHOLE) or common.get("server_call"):
        return Block(BlockKind.OPAQUE, where, owner, content=json_text.dump_compact(part), **common)
    return unknown_block(part, record, where.path, owner, **common)


def _image(data: Any, where: Place, owner: JsonPath, digest: str, common: dict[str, Any]) -> Block:
    pixels = client_text.pixels(data)
    encoded = len(data) if isinstance(data, str) else 0
    estimate = client_text.of_pixels(pixels)
    return Block(
        BlockKind.IMAGE, where, owner, estimate=estimate, digest=digest, pixels=pixels, encoded=encoded, **common
    )


def merged(turns: Iterable[tuple[Role, list[Block]]]) -> tuple[Message, ...]:
    """Messages, with neighbours of one role in one turn, as the API combines them. A summary stays apart."""
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


def read(document: Document, values: Iterator[Any]) -> Transcript:
    return read_with(BlockReader(), document, values, "anthropic")


def read_with(reader: BlockReader, document: Document, values: Iterator[Any], name: str) -> Transcript:
    """A transcript of the format of that name, with messages of this API whose blocks `reader` reads."""
    turns = []
    for record, value in enumerate(values):
        if record in document.source.unparsed:
            continue
        role = message_role(record, value, ROLES)
        content = reader.content(value.get("content"), record, ("content",), is_user=role is Role.USER)
        turns.append((role, list(as_lazy(content, document.source))))
    return transcript_of(turns, document, name)


def transcript_of(turns: Iterable[tuple[Role, list[Block]]], document: Document, name: str) -> Transcript:
    """The transcript of the format of that name, with the model and the instructions that surround its messages."""
    return Transcript(
        name,
        Family.ANTHROPIC,
        merged(turns),
        document.source,
        model=envelope_model(document.envelope),
        envelope=envelope_text(document.envelope),
    )


def envelope_model(envelope: dict[str, Any]) -> str | None:
    """The model that a recorded request or its answer names."""
    places: list[Any] = [envelope, envelope.get("response"), envelope.get("kwargs")]
    for place in places:
        model = place.get("model") if isinstance(place, dict) else None
        if isinstance(model, str) and model:
            return model
    return None


def envelope_text(envelope: dict[str, Any]) -> str:
    """What a recorded request sends besides the messages: system prompt and tool definitions."""
    kwargs = envelope.get("kwargs")
    nested = kwargs.get("tools") if isinstance(kwargs, dict) else None
    parts = [envelope.get("system") or envelope.get("system_prompt"), envelope.get("tools") or nested]
    return "\n".join(part if isinstance(part, str) else json_text.dump_compact(part) for part in parts if part)


FORMAT = Format(
    "anthropic",
    Family.ANTHROPIC,
    "Anthropic Messages API: JSON lines, an array, or an object with messages",
    evidence,
    read,
    is_default=True,
)
