"""Blocks of the items of the Responses API as Codex writes them.

A message has parts; a call's arguments are JSON in a string, an object, or plain text; an output is read by
`codex_outputs`. What the server does by itself (a web search, a compaction) is opaque.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from typing import Any, Final

from msgspec.structs import replace

from .. import jsontext
from ..transcript import STANDING_ROLES, Block, BlockKind, JsonPath, Place, Role
from . import estimates
from .codex_history import OUTPUTS, SUMMARY, Item
from .codex_outputs import output_blocks, part_block
from .injected import is_injected

_ROLES: Final = {
    "system": Role.SYSTEM,
    "developer": Role.DEVELOPER,
    "user": Role.USER,
    "assistant": Role.ASSISTANT,
}
_ARGUMENTS: Final = {
    "function_call": "arguments",
    "custom_tool_call": "input",
    "tool_search_call": "arguments",
    "local_shell_call": "action",
}
"""Where the arguments of a call stand."""

_TOOLS: Final = {"tool_search_call": "tool_search", "local_shell_call": "local_shell"}
"""Tools that have no name in their calls."""

_ENCRYPTED: Final = "encrypted_content"


def role_of(item: Item) -> Role:
    """Who speaks. What is neither a message nor the work of the assistant was put there by the client."""
    role = _ROLES.get(str(item.value.get("role")))
    if item.kind == "message":
        return role or Role.USER
    if item.kind in OUTPUTS:
        return Role.TOOL
    if role in STANDING_ROLES:  # `additional_tools` of newer models.
        return role
    return Role.ASSISTANT if item.kind == "reasoning" or item.kind.endswith("_call") else Role.USER


class ItemReader:
    """Reads items in order, remembering each call so that its output knows the tool.

    The client knows the words of its own that are `counted` by how they begin, so no pass may rewrite them.
    """

    def __init__(self, counted: Set[str]) -> None:
        self._tools: dict[str, str] = {}
        self._counted = counted

    def blocks(self, item: Item) -> Iterator[Block]:
        for block in self._blocks(item):
            is_fixed = block.injected and block.kind is BlockKind.TEXT and block.text in self._counted
            yield replace(block, kind=BlockKind.OPAQUE) if is_fixed else block

    def _blocks(self, item: Item) -> Iterator[Block]:
        value, record, path = item.value, item.record, item.path
        if item.kind == "message":
            yield from _message(value, record, path, role_of(item))
        elif item.kind == "reasoning":
            yield _reasoning(value, record, path)
        elif item.kind in _ARGUMENTS and item.call_id:
            yield self._call(item, item.call_id)
        elif item.kind in ("function_call_output", "custom_tool_call_output"):
            tool = self._tools.get(item.call_id or "")
            yield from output_blocks(value.get("output"), record, path, item.call_id, tool)
        elif item.kind == SUMMARY:
            text = value["message"] if isinstance(value.get("message"), str) else ""
            yield Block(BlockKind.TEXT, Place(record, (*path, "message")), path, content=text, injected=True)
        else:
            yield _opaque(item, self._tools.get(item.call_id or ""))

    def _call(self, item: Item, call_id: str) -> Block:
        key = _ARGUMENTS[item.kind]
        arguments = item.value.get(key)
        is_object = not isinstance(arguments, str)
        tool = self._tools[call_id] = _tool_name(item)
        return Block(
            BlockKind.TOOL_CALL,
            Place(item.record, (*item.path, key)),
            item.path,
            content=jsontext.dump_compact(arguments) if is_object else str(arguments),
            tool=tool,
            call_id=call_id,
            is_object=is_object,
            is_free_text=item.kind == "custom_tool_call" and not is_object,
        )


def _tool_name(item: Item) -> str:
    name = str(item.value.get("name") or _TOOLS.get(item.kind, ""))
    namespace = item.value.get("namespace")
    return f"{namespace.rstrip('_')}__{name}" if isinstance(namespace, str) and namespace else name


def _message(value: dict[str, Any], record: int, path: JsonPath, role: Role) -> Iterator[Block]:
    content = value.get("content")
    for number, part in enumerate(content if isinstance(content, list) else ()):
        owner = (*path, "content", number)
        if isinstance(part, dict) and isinstance(part.get("text"), str):
            text = part["text"]
            injected = role is Role.USER and is_injected(text)
            yield Block(BlockKind.TEXT, Place(record, (*owner, "text")), owner, content=text, injected=injected)
        else:
            yield part_block(part, record, owner)


def _reasoning(value: dict[str, Any], record: int, path: JsonPath) -> Block:
    """Thinking: its summary or its text, and what stands encrypted beside that."""
    lists = [value[key] for key in ("summary", "content") if isinstance(value.get(key), list)]
    parts = [part for parts in lists for part in parts if isinstance(part, dict)]
    text = "\n".join(part["text"] for part in parts if isinstance(part.get("text"), str))
    estimate = estimates.encrypted_thinking(value.get(_ENCRYPTED))
    return Block(BlockKind.THINKING, Place(record, path), path, content=text, estimate=estimate)


def _opaque(item: Item, tool: str | None) -> Block:
    """An item that no operation rewrites. Base64 in it is estimated: encrypted text, a generated image."""
    value = dict(item.value)
    estimate = estimates.encrypted_thinking(value.pop(_ENCRYPTED, None))
    if item.kind == "image_generation_call" and value.pop("result", None):
        estimate += estimates.image(item.value["result"])
    text = jsontext.dump_compact({key: part for key, part in value.items() if key not in _UNSEEN})
    call_id = item.call_id if item.kind in OUTPUTS else None
    is_injected = role_of(item) is Role.USER
    return Block(
        BlockKind.OPAQUE,
        Place(item.record, item.path),
        item.path,
        content=text,
        tool=tool,
        call_id=call_id,
        injected=is_injected,
        estimate=estimate,
    )


_UNSEEN: Final = frozenset({"id", "call_id", "status", "metadata", "internal_chat_message_metadata_passthrough"})
"""Keys that link an item, or that the client takes off before it sends."""
