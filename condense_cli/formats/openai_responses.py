"""Items of OpenAI's Responses API: JSON lines, an array, or the body of a request. Codex keeps them in rollouts too.

    {"role", "content": str | [part, ...], "type": "message"?, "id"?, "status"?, "phase"?}
    {"type": "function_call", "call_id", "name", "arguments": JSON in a string, "id"?}
    {"type": "function_call_output", "call_id", "output": str | [part, ...]}
    {"type": "reasoning", "id", "summary": [part, ...], "encrypted_content"?}

and many more. A request is {"model", "input": [item, ...], "instructions"?, "tools"?, ...}.
https://platform.openai.com/docs/api-reference/responses/create

Arguments are JSON in a string, an object, or plain text. What the server does by itself (a web search, a compaction),
and what is unknown, is opaque. Around the output of a call, clients write lines of their own:

    Exit code: 0                          {"output": "the result", "metadata": {"exit_code": 0}}
    Wall time: 0.1 seconds
    Output:                               [{"type": "input_text", "text": "the result"}]
    the result

No pass rewrites the lines above the result, or the object around it. An object in a string is changed inside that
string, so that its spelling stays.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from ..core import json_text
from ..core.json_text import object_in, value_in
from ..core.markers import content_hash
from ..core.transcript import IN_STRING, Block, JsonPath, Message, Place, Transcript
from ..core.values import STANDING_ROLES, BlockKind, Family, Role
from ..tokens.models import forgets_thinking
from .anthropic import envelope_model
from .engine import client_text
from .engine.base import (
    Complete,
    Evidence,
    FileFault,
    FileRule,
    Format,
    RecordEdits,
    Values,
    not_a_message,
    only_value,
    part_kinds,
    records_of,
)
from .engine.blocks import listed, text_block, unknown_block
from .engine.container import Document, as_lazy, with_records_under

ROLES: Final = {
    "system": Role.SYSTEM,
    "developer": Role.DEVELOPER,
    "user": Role.USER,
    "assistant": Role.ASSISTANT,
}
REASONING: Final = "reasoning"
_ARGUMENTS: Final = {
    "function_call": "arguments",
    "custom_tool_call": "input",
    "tool_search_call": "arguments",
    "local_shell_call": "action",
    "shell_call": "action",
    "apply_patch_call": "operation",
}
"""Keys of the arguments, by the type of the call."""

_TOOLS: Final = {
    "tool_search_call": "tool_search",
    "local_shell_call": "local_shell",
    "shell_call": "shell",
    "apply_patch_call": "apply_patch",
}
"""Tools whose calls have no name."""

_OUTPUTS: Final = frozenset({
    "function_call_output", "custom_tool_call_output", "local_shell_call_output", "apply_patch_call_output",
})  # fmt: skip
"""Items whose `output` is a text, or a list of parts."""

NEEDED: Final = {
    "additional_tools": "tools",
    "apply_patch_call": "operation",
    "apply_patch_call_output": "call_id",
    "code_interpreter_call": "container_id",
    "compaction": "encrypted_content",
    "computer_call": "call_id",
    "computer_call_output": "call_id",
    "custom_tool_call": "call_id",
    "custom_tool_call_output": "call_id",
    "file_search_call": "queries",
    "function_call": "call_id",
    "function_call_output": "call_id",
    "image_generation_call": "result",
    "item_reference": "id",
    "local_shell_call": "action",
    "local_shell_call_output": "output",
    "mcp_approval_request": "server_label",
    "mcp_approval_response": "approval_request_id",
    "mcp_call": "server_label",
    "mcp_list_tools": "server_label",
    "program": "call_id",
    "program_output": "call_id",
    "reasoning": "summary",
    "shell_call": "action",
    "shell_call_output": "call_id",
    "tool_search_call": "arguments",
    "tool_search_output": "tools",
    "web_search_call": "status",
}
"""Types of items, each with a key that it needs: logs of other agents use the same names of types."""

_OF_MODEL: Final = frozenset({"reasoning", "mcp_list_tools", "mcp_approval_request", "item_reference", "program"})
"""Items of the assistant whose names are not those of calls. An `item_reference` most often names an answer."""

_OWN_ID: Final = frozenset({"local_shell_call", "local_shell_call_output"})
"""Items that old clients, and the types of the SDK, link by their own `id`."""

_ELSEWHERE: Final = frozenset({"compaction", "compaction_summary", "item_reference"})
"""Items whose content only the server can read."""

_OF_CODEX: Final = frozenset({"agent_message", "context_compaction", "ghost_snapshot"})
"""Items that only Codex keeps."""

_PICTURES: Final = {"image_generation_call": "result", "computer_call_output": "output"}
"""Keys of the data of an image in an opaque item, or of the object that holds it."""

NEED_IDS: Final = frozenset({
    "code_interpreter_call", "computer_call", "file_search_call", "image_generation_call", "item_reference",
    "local_shell_call", "mcp_approval_request", "mcp_call", "mcp_list_tools", "program", "program_output",
})  # fmt: skip
"""Items that the API takes with an id only, by the types of its SDK. Codex sends searches and messages without one."""

_ENCRYPTED: Final = "encrypted_content"
_UNSEEN: Final = frozenset({"id", "call_id", "status", "metadata", "internal_chat_message_metadata_passthrough"})
"""Keys that link an item, or that the client removes before it sends."""


class Item(Struct, frozen=True):
    """An item of the Responses API, with its record and its path there."""

    record: int
    path: JsonPath
    value: dict[str, Any]

    @property
    def kind(self) -> str:
        kind = self.value.get("type")
        return "message" if kind is None and "role" in self.value else str(kind)

    @property
    def call_id(self) -> str | None:
        """The id that links a call and its output."""
        return self.first("call_id", "id") if self.kind in _OWN_ID else self.first("call_id")

    def first(self, *keys: str) -> str | None:
        """Return the first string under one of the keys; None if there is none."""
        return next((self.value[key] for key in keys if isinstance(self.value.get(key), str)), None)


AnyItem = TypeVar("AnyItem", bound=Item)


def role_of(item: Item) -> Role:
    """Return the speaker of an item. What is neither a message nor the assistant's work comes from the client."""
    role = ROLES.get(str(item.value.get("role")))
    if item.kind == "message":
        return role or Role.USER
    if item.kind.endswith("_output"):
        return Role.TOOL
    if role in STANDING_ROLES:  # `additional_tools` of newer models.
        return role
    return Role.ASSISTANT if item.kind in _OF_MODEL or item.kind.endswith("_call") else Role.USER


def turns_of(items: Iterable[AnyItem]) -> list[tuple[Role, list[AnyItem]]]:
    """Group items to turns: neighbours of the assistant, and neighbouring results. Others are turns of their own."""
    turns: list[tuple[Role, list[AnyItem]]] = []
    for item in items:
        role = role_of(item)
        if turns and turns[-1][0] is role and role in (Role.ASSISTANT, Role.TOOL):
            turns[-1][1].append(item)
        else:
            turns.append((role, [item]))
    return turns


class ItemReader:
    """Read items in order. Remembers calls, so that outputs know their tool."""

    def __init__(self) -> None:
        self._tools: dict[str, str] = {}
        self._links: dict[str, str] = {}
        """The ids that link calls of the local shell, by their own ids."""

    def blocks(self, item: Item) -> Iterator[Block]:
        value, record, path = item.value, item.record, item.path
        if item.kind == "message":
            yield from _message(item, is_user=role_of(item) is Role.USER)
        elif item.kind == REASONING:
            parts = [part for key in ("summary", "content") for part in listed(value, key) if isinstance(part, dict)]
            text = "\n".join(part["text"] for part in parts if isinstance(part.get("text"), str))
            estimate = client_text.encrypted_thinking(value.get(_ENCRYPTED))
            yield Block(BlockKind.THINKING, Place(record, path), path, content=text, estimate=estimate)
        elif item.kind in _ARGUMENTS and item.call_id and _ARGUMENTS[item.kind] in value:
            yield self._call(item, item.call_id)
        elif item.kind in _OUTPUTS and ("output" in value or item.kind == "apply_patch_call_output"):
            call_id = item.call_id
            call_id = call_id if call_id in self._tools else self._links.get(call_id or "", call_id)
            failed = value.get("status") == "failed"
            base = Block(BlockKind.TOOL_RESULT, Place(record, (*path, "output")), path, call_id=call_id)
            yield from _output(value.get("output"), replace(base, tool=self._tools.get(call_id or ""), is_error=failed))
        elif item.kind == "shell_call_output" and listed(value, "output"):
            base = Block(BlockKind.TOOL_RESULT, Place(record, path), path, call_id=item.call_id)
            yield from _of_shell(value["output"], replace(base, tool=self._tools.get(item.call_id or "")))
        else:
            yield self._opaque(item)

    def _call(self, item: Item, call_id: str) -> Block:
        key = _ARGUMENTS[item.kind]
        arguments, namespace = item.value.get(key), item.value.get("namespace")
        is_object = not isinstance(arguments, str)
        tool = str(item.value.get("name") or _TOOLS.get(item.kind, ""))
        if isinstance(namespace, str) and namespace:
            tool = f"{namespace.rstrip('_')}__{tool}"
        self._tools[call_id] = tool
        if item.kind in _OWN_ID and isinstance(item.value.get("id"), str):
            self._links[item.value["id"]] = call_id
        return Block(
            BlockKind.TOOL_CALL,
            Place(item.record, (*item.path, key)),
            item.path,
            content=json_text.dump_compact(arguments) if is_object else str(arguments),
            tool=tool,
            call_id=call_id,
            is_object=is_object,
            is_free_text=item.kind == "custom_tool_call" and not is_object,
        )

    def _opaque(self, item: Item) -> Block:
        """Return an item that no operation rewrites. Base64 in it is estimated: encrypted text, an image.

        Items that belong together are linked like a server's calls, so that none goes without the other.
        """
        value = dict(item.value)
        estimate = client_text.encrypted_thinking(value.pop(_ENCRYPTED, None))
        picture = value.pop(_PICTURES.get(item.kind, ""), None)
        if picture:
            estimate += client_text.image(picture.get("image_url") if isinstance(picture, dict) else picture)
        is_answer = item.kind.endswith("_output") and item.call_id in self._tools
        link = item.first("call_id", "approval_request_id", "id" if item.kind == "mcp_approval_request" else "")
        needs = item.kind in _ARGUMENTS.keys() | _OUTPUTS or NEEDED.get(item.kind) not in item.value
        return Block(
            BlockKind.OPAQUE,
            Place(item.record, item.path),
            item.path,
            content=json_text.dump_compact({key: part for key, part in value.items() if key not in _UNSEEN}),
            tool=self._tools.get(item.call_id or ""),
            call_id=item.call_id if is_answer else None,
            server_call="" if is_answer else link or "",
            injected=role_of(item) is Role.USER,
            estimate=estimate,
            anchors=item.kind in _ELSEWHERE,
            is_unknown=needs and item.kind not in _ELSEWHERE | _OF_CODEX,
        )


def _message(item: Item, *, is_user: bool) -> Iterator[Block]:
    content, record, path = item.value.get("content"), item.record, (*item.path, "content")
    if isinstance(content, str):
        yield text_block(content, record, path, is_user=is_user)
    elif not isinstance(content, list):
        yield unknown_block(item.value, record, item.path)
    for number, part in enumerate(content if isinstance(content, list) else ()):
        owner = (*path, number)
        if isinstance(part, dict) and isinstance(part.get("text"), str):
            yield text_block(part["text"], record, (*owner, "text"), owner, is_user=is_user)
        else:
            yield _attachment(part, record, owner)


def _attachment(part: Any, record: int, owner: JsonPath, *, place: JsonPath | None = None) -> Block:
    """Return the block of an image, a file or an unknown part of a message or an output."""
    where = Place(record, place if place is not None else owner)
    kind = value_in(part, "type")
    if kind == "input_image":
        url = part.get("image_url")
        inline = url if isinstance(url, str) and url.startswith("data:") else None
        # The data alone, so that one image has one hash in every format.
        digest = content_hash(inline.partition(",")[2] if inline else json_text.dump_compact(part))
        return Block(BlockKind.IMAGE, where, owner, estimate=client_text.image(inline), digest=digest)
    if kind == "input_file":  # One that has only an id, or an address, is sent whole too.
        data = part.get("file_data")
        estimate = client_text.document(data.rpartition(",")[2] if isinstance(data, str) else None)
        return Block(BlockKind.OPAQUE, where, owner, estimate=estimate)
    if kind == _ENCRYPTED:
        estimate = client_text.encrypted_thinking(part.get(_ENCRYPTED))
        return Block(BlockKind.OPAQUE, where, owner, estimate=estimate)
    return unknown_block(part, record, where.path, owner)


_LINE: Final = (
    r"(?:Chunk ID|Exit code|Wall time|Process exited with code|Process running with session ID|Original token count"
    r"|Total output lines|Script)\b[^\n]*\n"
)
_HEADER: Final = re.compile(rf"(?:{_LINE})+\n?Output:\n")
_FAILED: Final = re.compile(r"^(?:Exit code: |Process exited with code )(?!0\b)-?\d|^Script failed", re.MULTILINE)


def _output(output: Any, base: Block) -> Iterator[Block]:
    """Yield the blocks of the output at the place of `base`."""
    whole = base.place
    record, path = whole.record, whole.path
    if isinstance(output, str):
        yield from _in_string(output, base) or _with_header(output, base)
        return
    if isinstance(output, dict):
        base = replace(base, is_error=base.is_error or output.get("success") is False)
        inner = "content" if "content" in output else "text"
        if isinstance(output.get(inner), str):
            yield from _with_header(output[inner], replace(base, place=Place(record, (*path, inner))))
            return
        path, output = (*path, "content"), output.get("content")
    parts = output if isinstance(output, list) else []
    first = next((part.get("text") for part in parts if isinstance(part, dict)), None)
    failed = base.is_error or (isinstance(first, str) and _has_failed(first))
    base = replace(base, place=Place(record, path), is_error=failed)
    for number, part in enumerate(parts):
        if isinstance(part, dict) and isinstance(part.get("text"), str):
            yield from _with_header(part["text"], replace(base, place=Place(record, (*path, number, "text"))))
        else:
            block = _attachment(part, record, base.owner, place=(*path, number))
            yield replace(block, call_id=base.call_id, tool=base.tool, is_error=failed)
    if not parts:
        yield replace(base, place=whole)


def _of_shell(output: list[Any], base: Block) -> Iterator[Block]:
    """Yield the blocks of what commands printed: a list of `{"stdout", "stderr", "outcome"}`."""
    for number, part in enumerate(output):
        where = (*base.owner, "output", number)
        printed, outcome = object_in(part), object_in(part, "outcome")
        failed = outcome.get("type") == "timeout" or outcome.get("exit_code", 0) != 0
        texts = {key: printed[key] for key in ("stdout", "stderr") if isinstance(printed.get(key), str)}
        for key, text in texts.items():
            yield replace(base, place=Place(base.place.record, (*where, key)), content=text, is_error=failed)
        if not texts:
            place = Place(base.place.record, where)
            content = json_text.dump_compact(part)
            yield replace(base, kind=BlockKind.OPAQUE, place=place, content=content, is_error=failed)


def _with_header(text: str, base: Block) -> Iterator[Block]:
    """Yield the header that the client wrote, if there is one, and the result."""
    header = _HEADER.match(text)
    if header is None:
        yield replace(base, content=text)
        return
    whole = replace(base, content=text, is_error=base.is_error or _has_failed(text))
    yield replace(whole.part(0, header.end()), kind=BlockKind.OPAQUE)
    if header.end() < len(text):
        yield whole.part(header.end(), len(text))


def _has_failed(text: str) -> bool:
    header = _HEADER.match(text)
    return header is not None and _FAILED.search(header.group()) is not None


def _in_string(text: str, base: Block) -> list[Block]:
    """Return the blocks of a result that is in a JSON object in a string; none if the text is something else."""
    if not text.startswith("{"):
        return []
    try:
        value = json_text.parse_text(text)
    except (ValueError, RecursionError):
        return []
    metadata = value_in(value, "metadata")
    if not isinstance(metadata, dict) or not isinstance(value.get("output"), str):
        return []
    base = replace(base, is_error=base.is_error or metadata.get("exit_code", 0) not in (0, None))
    around = json_text.splice(text, {("output",): '""'})
    inner = Place(base.place.record, (*base.place.path, IN_STRING, "output"))
    return [
        replace(base, kind=BlockKind.OPAQUE, content=around),
        replace(base, place=inner, content=value["output"]),
    ]


def with_forgotten(messages: tuple[Message, ...], model: str | None) -> tuple[Message, ...]:
    """Mark thinking before the newest message of the user as forgotten, if the model is one that forgets it."""
    if not forgets_thinking(model):
        return messages
    newest = max((message.index for message in messages if _is_of_user(message)), default=0)
    return tuple(_forgotten(message) if message.index < newest else message for message in messages)


def _is_of_user(message: Message) -> bool:
    # A summary takes the role of the user, but no new request begins with it.
    return message.role is Role.USER and any(
        block.answers is None and not block.looks_like_summary for block in message.blocks
    )


def _forgotten(message: Message) -> Message:
    thinking = [block.kind is BlockKind.THINKING or block.api_type == REASONING for block in message.blocks]
    if not any(thinking):
        return message
    pairs = zip(message.blocks, thinking, strict=True)
    return replace(
        message, blocks=tuple(replace(block, forgotten=True) if is_one else block for block, is_one in pairs)
    )


def without_ids(item_path: Callable[[JsonPath], JsonPath]) -> Complete:
    """Return what completes edits: remove the ids of the assistant's items that follow reasoning which went.

    The API links an item to the reasoning before it by their ids: "Item 'fc_…' of type 'function_call' was provided
    without its required 'reasoning' item: 'rs_…'". An item without an id asks for none, and most need none.
    `item_path` returns the path of the item that a path leads into.
    """

    def complete(transcript: Transcript, edits: RecordEdits, gone: frozenset[int], style: json_text.Style) -> None:
        dropped = {
            (block.place.record, item_path(block.owner))
            for block in transcript.removed
            if block.kind is BlockKind.THINKING
        }
        if not dropped:
            return
        speakers: dict[tuple[int, JsonPath], Role] = dict.fromkeys(dropped, Role.ASSISTANT)
        for message, block in transcript.blocks():
            speakers[block.place.record, item_path(block.owner)] = message.role
        values = Values(transcript.source)
        is_unpaired = False
        for where in sorted(speakers):
            is_unpaired = speakers[where] is Role.ASSISTANT and (is_unpaired or where in dropped)
            if is_unpaired and where not in dropped:
                item = Item(*where, values(*where))
                has_own_id = item.value.get("id") not in (None, item.call_id)
                if has_own_id and item.kind not in NEED_IDS:
                    edits[where[0]][*where[1], "id"] = json_text.REMOVE

    return complete


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
        item_id = value_in(value, "id")
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
