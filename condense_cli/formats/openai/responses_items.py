"""Items of the Responses API and their blocks: the list that a request sends, which Codex keeps in its rollouts too.

A message has parts or one text; a call's arguments are JSON in a string, an object, or plain text; an output is read by
`responses_outputs`. What the server does by itself (a web search, a compaction), and what is unknown, is opaque.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from ...core import json_text
from ...core.factor import forgets_thinking
from ...core.transcript import Block, JsonPath, Message, Place
from ...core.values import STANDING_ROLES, BlockKind, Role
from ..engine import client_text
from ..engine.base import unknown_block
from ..engine.client_text import is_injected
from .responses_outputs import output_blocks, part_block, shell_blocks

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
"""Where the arguments of a call stand."""

_TOOLS: Final = {
    "tool_search_call": "tool_search",
    "local_shell_call": "local_shell",
    "shell_call": "shell",
    "apply_patch_call": "apply_patch",
}
"""Tools that have no name in their calls."""

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
"""Types of items, each with a key that it cannot be without: logs of other agents call things so as well."""

_OF_MODEL: Final = frozenset({"reasoning", "mcp_list_tools", "mcp_approval_request", "item_reference", "program"})
"""Items of the assistant that are no calls by their names. What an `item_reference` names is most often an answer."""

_OWN_ID: Final = frozenset({"local_shell_call", "local_shell_call_output"})
"""Items that old clients, and the types of the SDK, link by their own `id`."""

_ELSEWHERE: Final = frozenset({"compaction", "compaction_summary", "item_reference"})
"""Items that stand for what the server alone can read."""

_OF_CODEX: Final = frozenset({"agent_message", "context_compaction", "ghost_snapshot"})
"""Items that only Codex keeps."""

_PICTURES: Final = {"image_generation_call": "result", "computer_call_output": "output"}
"""Where the data of an image stands in an opaque item, or the object that holds it."""

_ENCRYPTED: Final = "encrypted_content"


class Item(Struct, frozen=True):
    """An item of the Responses API: its record, and the path at which it stands there."""

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
        keys = ("call_id", "id") if self.kind in _OWN_ID else ("call_id",)
        return next((self.value[key] for key in keys if isinstance(self.value.get(key), str)), None)


AnyItem = TypeVar("AnyItem", bound=Item)


def role_of(item: Item) -> Role:
    """Who speaks. What is neither a message nor the work of the assistant was put there by the client."""
    role = ROLES.get(str(item.value.get("role")))
    if item.kind == "message":
        return role or Role.USER
    if item.kind.endswith("_output"):
        return Role.TOOL
    if role in STANDING_ROLES:  # `additional_tools` of newer models.
        return role
    return Role.ASSISTANT if item.kind in _OF_MODEL or item.kind.endswith("_call") else Role.USER


def turns_of(items: Iterable[AnyItem]) -> list[tuple[Role, list[AnyItem]]]:
    """Items that stand together: those of the assistant in a row, and results in a row. Others stand alone."""
    turns: list[tuple[Role, list[AnyItem]]] = []
    for item in items:
        role = role_of(item)
        if turns and turns[-1][0] is role and role in (Role.ASSISTANT, Role.TOOL):
            turns[-1][1].append(item)
        else:
            turns.append((role, [item]))
    return turns


class ItemReader:
    """Reads items in order, remembering each call so that its output knows the tool."""

    def __init__(self) -> None:
        self._tools: dict[str, str] = {}
        self._links: dict[str, str] = {}
        """The ids that link calls, by those that calls of the local shell have besides."""

    def blocks(self, item: Item) -> Iterator[Block]:
        value, record, path = item.value, item.record, item.path
        if item.kind == "message":
            yield from _message(value, record, path, role_of(item))
        elif item.kind == REASONING:
            yield _reasoning(value, record, path)
        elif item.kind in _ARGUMENTS and item.call_id and _ARGUMENTS[item.kind] in value:
            yield self._call(item, item.call_id)
        elif item.kind in _OUTPUTS and ("output" in value or item.kind == "apply_patch_call_output"):
            call_id = self._answered(item)
            failed = value.get("status") == "failed"
            yield from output_blocks(value.get("output"), record, path, call_id, self._tools.get(call_id or ""), failed)
        elif item.kind == "shell_call_output" and isinstance(value.get("output"), list) and value["output"]:
            yield from shell_blocks(value["output"], record, path, item.call_id, self._tools.get(item.call_id or ""))
        else:
            yield self._opaque(item)

    def _call(self, item: Item, call_id: str) -> Block:
        key = _ARGUMENTS[item.kind]
        arguments = item.value.get(key)
        is_object = not isinstance(arguments, str)
        tool = self._tools[call_id] = _tool_name(item)
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

    def _answered(self, item: Item) -> str | None:
        """The id of the call that an output is of."""
        call_id = item.call_id
        return call_id if call_id in self._tools else self._links.get(call_id or "", call_id)

    def _opaque(self, item: Item) -> Block:
        """An item that no operation rewrites. Base64 in it is estimated: encrypted text, an image.

        Those that belong together are linked as calls of a server are, so that none goes without the other.
        """
        value = dict(item.value)
        estimate = client_text.encrypted_thinking(value.pop(_ENCRYPTED, None))
        picture = value.pop(_PICTURES.get(item.kind, ""), None)
        if picture:
            estimate += client_text.image(picture.get("image_url") if isinstance(picture, dict) else picture)
        is_answer = item.kind.endswith("_output") and item.call_id in self._tools
        return Block(
            BlockKind.OPAQUE,
            Place(item.record, item.path),
            item.path,
            content=json_text.dump_compact({key: part for key, part in value.items() if key not in _UNSEEN}),
            tool=self._tools.get(item.call_id or ""),
            call_id=item.call_id if is_answer else None,
            server_call="" if is_answer else _link(item),
            injected=role_of(item) is Role.USER,
            estimate=estimate,
            anchors=item.kind in _ELSEWHERE,
            is_unknown=_is_unknown(item),
        )


def _is_unknown(item: Item) -> bool:
    if item.kind in _ELSEWHERE | _OF_CODEX:
        return False
    return item.kind in _ARGUMENTS.keys() | _OUTPUTS or NEEDED.get(item.kind) not in item.value


def _link(item: Item) -> str:
    keys = ("call_id", "approval_request_id", "id" if item.kind == "mcp_approval_request" else "")
    return next((item.value[key] for key in keys if isinstance(item.value.get(key), str)), "")


def _tool_name(item: Item) -> str:
    name = str(item.value.get("name") or _TOOLS.get(item.kind, ""))
    namespace = item.value.get("namespace")
    return f"{namespace.rstrip('_')}__{name}" if isinstance(namespace, str) and namespace else name


def _message(value: dict[str, Any], record: int, path: JsonPath, role: Role) -> Iterator[Block]:
    content = value.get("content")
    if isinstance(content, str):
        owner = (*path, "content")
        yield _text(content, Place(record, owner), owner, role)
    elif "content" not in value:
        yield unknown_block(value, record, path)
    for number, part in enumerate(content if isinstance(content, list) else ()):
        owner = (*path, "content", number)
        if isinstance(part, dict) and isinstance(part.get("text"), str):
            yield _text(part["text"], Place(record, (*owner, "text")), owner, role)
        else:
            yield part_block(part, record, owner)


def _text(text: str, place: Place, owner: JsonPath, role: Role) -> Block:
    return Block(BlockKind.TEXT, place, owner, content=text, injected=role is Role.USER and is_injected(text))


def _reasoning(value: dict[str, Any], record: int, path: JsonPath) -> Block:
    """Thinking: its summary or its text, and what stands encrypted beside that."""
    lists = [value[key] for key in ("summary", "content") if isinstance(value.get(key), list)]
    parts = [part for parts in lists for part in parts if isinstance(part, dict)]
    text = "\n".join(part["text"] for part in parts if isinstance(part.get("text"), str))
    estimate = client_text.encrypted_thinking(value.get(_ENCRYPTED))
    return Block(BlockKind.THINKING, Place(record, path), path, content=text, estimate=estimate)


def with_forgotten(messages: tuple[Message, ...], model: str | None) -> tuple[Message, ...]:
    """The messages; where the model is one of those, thinking before the newest message of the user is forgotten."""
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
    if not any(map(_is_thinking, message.blocks)):
        return message
    blocks = (replace(block, forgotten=True) if _is_thinking(block) else block for block in message.blocks)
    return replace(message, blocks=tuple(blocks))


def _is_thinking(block: Block) -> bool:
    return block.kind is BlockKind.THINKING or block.api_type == REASONING


_UNSEEN: Final = frozenset({"id", "call_id", "status", "metadata", "internal_chat_message_metadata_passthrough"})
"""Keys that link an item, or that the client takes off before it sends."""
