"""Build blocks and messages: what the readers of all formats share.

A format that is a list of messages needs one function that finds the message in a record and one that yields its
blocks; `read_list` does the rest. `CallKeys` are for messages in the manner of chat completions, which differ by the
names of their keys.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from msgspec import Struct

from ...core import json_text
from ...core.json_text import value_in
from ...core.markers import content_hash
from ...core.transcript import SERVER_CALLS, Block, JsonPath, Message, Place, Transcript
from ...core.values import BlockKind, Family, Role
from . import client_text
from .base import message_role
from .client_text import is_injected
from .container import Document, as_lazy


class Turn(Struct, frozen=True):
    """A part of a message. Parts with the same `answer` are one answer of the model.

    `before`: a summary goes in front of this record, the first that it replaces.
    """

    role: Role
    blocks: list[Block]
    answer: str | None = None
    before: int | None = None

    def goes_on_with(self, other: Turn) -> bool:
        """Return whether the model wrote both at once, or both are results."""
        if self.role is Role.TOOL:
            return other.role is Role.TOOL
        return self.role is other.role and self.answer is not None and self.answer == other.answer


def joined(parts: Iterable[Turn]) -> tuple[Message, ...]:
    """Join parts to messages: those of one answer, and results that follow each other."""
    turns: list[Turn] = []
    for part in parts:
        if part.before is not None:
            starts = (number for number, turn in enumerate(turns) if turn.blocks[0].place.record >= part.before)
            turns.insert(next(starts, len(turns)), part)
        elif turns and turns[-1].goes_on_with(part):
            turns[-1].blocks.extend(part.blocks)
        else:
            turns.append(part)
    return tuple(Message(index, turn.role, tuple(turn.blocks)) for index, turn in enumerate(turns))


def text_block(
    text: str,
    record: int,
    path: JsonPath,
    owner: JsonPath | None = None,
    *,
    kind: BlockKind = BlockKind.TEXT,
    is_user: bool = False,
    **common: Any,
) -> Block:
    """Return the block of a text at `path`. A text that the client wrote in the user's name is marked as injected."""
    if is_user and is_injected(text):
        common["injected"] = True
    return Block(kind, Place(record, path), path if owner is None else owner, content=text, **common)


def thinking_blocks(holder: Mapping[str, Any], key: str, record: int, path: JsonPath = ()) -> Iterator[Block]:
    """Yield the block of the thinking under `key`, unless it is empty."""
    text = holder.get(key)
    if isinstance(text, str) and text:
        yield Block(BlockKind.THINKING, Place(record, (*path, key)), (*path, key), content=text)


def content_blocks(
    content: Any, record: int, path: JsonPath, owner: JsonPath | None = None, *, is_user: bool = False, **common: Any
) -> Iterator[Block]:
    """Yield the blocks of one text or of a list of parts. `common` are fields of all blocks, `kind` that of texts."""
    if isinstance(content, str):
        yield text_block(content, record, path, owner, is_user=is_user, **common)
        return
    for number, part in enumerate(content if isinstance(content, list) else ()):
        where = (*path, number)
        text = part.get("text") if isinstance(part, dict) else part
        if isinstance(text, str):
            place = where if text is part else (*where, "text")
            yield text_block(text, record, place, owner or where, is_user=is_user, **common)
        else:
            others = {key: value for key, value in common.items() if key != "kind"}
            yield attachment_block(part, record, owner or where, place=where, **others)


def call_block(
    call: Any,
    record: int,
    owner: JsonPath,
    tools: dict[str, str],
    *keys: str,
    inside: str = "",
    may_be_text: bool = False,
) -> Block:
    """Return the call in the object at `owner`, or an unknown block if it has no id or no arguments.

    `keys` are those of its id, its tool and its arguments, the latter two in the object under `inside`. Arguments are
    an object; if they `may_be_text`, a string is JSON text. The tool is noted in `tools`, by the id.
    """
    id_key, name_key, key = keys or ("id", "name", "arguments")
    call_id = value_in(call, id_key)
    held = call.get(inside) if inside and call_id else call
    if not isinstance(call_id, str) or not isinstance(held, dict) or key not in held:
        return unknown_block(call, record, owner)
    tool = tools[call_id] = str(held.get(name_key) or "")
    is_text = may_be_text and isinstance(held[key], str)
    return Block(
        BlockKind.TOOL_CALL,
        Place(record, (*owner, inside, key) if inside else (*owner, key)),
        owner,
        content=held[key] if is_text else json_text.dump_compact(held[key]),
        tool=tool,
        call_id=call_id,
        is_object=not is_text,
    )


class CallKeys(Struct, frozen=True):
    """Keys of calls and results in messages in the manner of chat completions.

    `call` are the keys of a call's id, tool and arguments; the latter two are in the object under `inside`, if it is
    named, and the arguments may be JSON in a string there. `answers` is the key of a result's call, `tool` that of its
    tool. `has_failed` tells whether a result is an error.
    """

    call: tuple[str, str, str] = ("id", "name", "arguments")
    inside: str = ""
    calls: str = "tool_calls"
    answers: str = "tool_call_id"
    tool: str = "name"
    has_failed: Callable[[dict[str, Any]], bool] = lambda result: False

    def of_result(self, result: dict[str, Any], tools: Mapping[str, str]) -> dict[str, Any]:
        """Return the fields that all blocks of a result share."""
        return of_call(result.get(self.answers), tools, result.get(self.tool), is_error=self.has_failed(result))

    def blocks(self, message: dict[str, Any], record: int, path: JsonPath, tools: dict[str, str]) -> Iterator[Block]:
        """Yield the calls of a message at `path`."""
        for number, call in enumerate(listed(message, self.calls)):
            owner = (*path, self.calls, number)
            yield call_block(call, record, owner, tools, *self.call, inside=self.inside, may_be_text=bool(self.inside))


def of_call(call_id: Any, tools: Mapping[str, str], name: Any = None, **fields: Any) -> dict[str, Any]:
    """Return the fields that all blocks of a result share. `name` is its tool if no call of that id is known."""
    call_id = call_id if isinstance(call_id, str) else None
    return {"call_id": call_id, "tool": tools.get(call_id or "") or (name if isinstance(name, str) else None), **fields}


def listed(holder: Any, key: str) -> list[Any]:
    """Return the list under `key`, or an empty one."""
    value = value_in(holder, key)
    return value if isinstance(value, list) else []


def has_text(value: Any) -> bool:
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return bool(isinstance(value, str) and value.strip()) or any(map(has_text, inside))


def unknown_block(part: Any, record: int, path: JsonPath, owner: JsonPath | None = None, **common: Any) -> Block:
    """Return the block of a part that is not understood: kept as it is, and reported by `formats.understood`."""
    place, kind = Place(record, path), value_in(part, "type")
    common = {"api_type": kind} | common if isinstance(kind, str) else common
    content = json_text.dump_compact(part)
    return Block(BlockKind.OPAQUE, place, path if owner is None else owner, content=content, is_unknown=True, **common)


_WHOLE: Final = {
    "audio_url", "container_upload", "document", "document_url", "file", "input_audio", "refusal", "search_result",
    "video_url", *SERVER_CALLS,
}  # fmt: skip
"""Types of further parts of the Messages API and of chat completions. No operation rewrites them."""


def attachment_block(part: Any, record: int, owner: JsonPath, *, place: JsonPath | None = None, **common: Any) -> Block:
    """Return the block of an image, a document or an unknown part: kept as it is, its tokens estimated."""
    where = Place(record, place if place is not None else owner)
    source = value_in(part, "source")
    data = value_in(source, "data")
    kind = value_in(part, "type")
    if kind == "image":
        digest = content_hash(data if isinstance(data, str) else json_text.dump_compact(part))
        return _image(data, where, owner, digest, common)
    if kind == "image_url":
        url = value_in(part, "image_url", "url")
        inline = url.partition(",")[2] if isinstance(url, str) and url.startswith("data:") else None
        # The data alone, so that one image has one hash in every format.
        return _image(inline or None, where, owner, content_hash(inline or json_text.dump_compact(part)), common)
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
        text = json_text.dump_compact(part)
        return Block(BlockKind.OPAQUE, where, owner, text, estimate=client_text.TOOL_DEFINITION, **common)
    if kind == "compaction" and isinstance(part.get("content"), str):
        common["estimate"] = client_text.encrypted_thinking(part.get("signature"))
        return Block(BlockKind.OPAQUE, where, owner, content=part["content"], is_readable=True, **common)
    if (isinstance(kind, str) and kind in _WHOLE) or common.get("server_call"):
        return Block(BlockKind.OPAQUE, where, owner, content=json_text.dump_compact(part), **common)
    return unknown_block(part, record, where.path, owner, **common)


def _image(data: Any, where: Place, owner: JsonPath, digest: str, common: dict[str, Any]) -> Block:
    pixels = client_text.pixels(data)
    return Block(
        BlockKind.IMAGE,
        where,
        owner,
        estimate=client_text.of_pixels(pixels),
        digest=digest,
        pixels=pixels,
        encoded=len(data) if isinstance(data, str) else 0,
        **common,
    )


def image_block(data: Any, record: int, owner: JsonPath, **common: Any) -> Block:
    """Return the block of an image from its base64."""
    return attachment_block({"type": "image", "source": {"data": data}}, record, owner, **common)


def opaque_block(part: Any, record: int, owner: JsonPath, **common: Any) -> Block:
    """Return the block of a part that is known, and that no operation rewrites."""
    return Block(BlockKind.OPAQUE, Place(record, owner), owner, content=json_text.dump_compact(part), **common)


def inserted_records(transcript: Transcript) -> set[int]:
    """Return the records that a new summary replaces."""
    return {block.place.record for _, block in transcript.blocks() if block.is_inserted}


FindMessage = Callable[[int, Any], tuple[Role, JsonPath, dict[str, Any]] | None]
"""Return the role, the path and the value of the message in a record; None if it holds none.

Raises UnknownFormatError for what is no record of the format.
"""
MessageBlocks = Callable[[dict[str, Any], int, JsonPath, Role], Iterator[Block]]
"""Yield the blocks of a message, from its value, record, path and role."""


def with_roles(roles: Mapping[str, Role]) -> FindMessage:
    """Find messages that are records themselves and name one of these roles."""
    return lambda record, value: (message_role(record, value, roles), (), value)


def read_list(
    name: str,
    document: Document,
    values: Iterable[Any],
    find: FindMessage,
    blocks: MessageBlocks,
    *,
    model: Callable[[dict[str, Any]], Any] = lambda message: None,
    family: Family = Family.OPENAI_CHAT,
    keeps_empty: bool = True,
) -> Transcript:
    """Read a list of messages. The newest `model` that a message names is that of the transcript."""
    turns: list[Turn] = []
    newest: Any = None
    for record, value in enumerate(values):
        found = None if record in document.source.unparsed else find(record, value)
        if found is None:
            continue
        role, path, message = found
        named = model(message)
        newest = named if isinstance(named, str) else newest
        read = as_lazy(blocks(message, record, path, role), document.source)
        if read or keeps_empty:
            turns.append(Turn(role, read))
    return Transcript(name, family, joined(turns), document.source, model=newest)


def kept_members(replaced: str, *keys: str) -> dict[str, str]:
    """Return members of the record that a new one replaces, such as its id and its time, as JSON literals."""
    old = json_text.parse_text(replaced)
    return {key: json.dumps(old[key]) for key in keys if key in old}
