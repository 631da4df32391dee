"""The texts of a conversation that can be shortened: blocks, and single string values of tool calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from ..core.transcript import Block, JsonPath, Message
from ..core.values import BlockKind, Role, Text, compact
from ..toolcalls.tools import arguments_of, shows_numbered_lines, string_values

# A member of an enumeration takes a while to look up, and these are asked for each part many times.
_CALL: Final = BlockKind.TOOL_CALL
_RESULT: Final = BlockKind.TOOL_RESULT
_TEXT: Final = BlockKind.TEXT
_USER: Final = Role.USER
_ASSISTANT: Final = Role.ASSISTANT

Key = tuple[int, int, JsonPath]
"""Position of a message in the conversation, number of the block in it, and for an argument its path in the call."""


class Part(Struct, frozen=True):
    """One text with where it stands; `call` is the call that it belongs to, as an argument or as a result."""

    key: Key
    content: Text
    role: Role
    block: Block
    call: Block | None = None

    @property
    def text(self) -> str:
        return str(self.content)

    @property
    def is_argument(self) -> bool:
        return self.block.kind is _CALL

    @property
    def is_result(self) -> bool:
        return self.block.kind is _RESULT

    @property
    def numbers_lines(self) -> bool:
        """Whether numbers before its lines are those of a file that a tool shows."""
        return self.is_result and self.call is not None and shows_numbered_lines(self.call)

    @property
    def is_written(self) -> bool:
        """Whether the assistant wrote it."""
        return self.role is _ASSISTANT and self.block.kind is not _RESULT

    @property
    def is_said(self) -> bool:
        """Whether the assistant says it, not to a tool."""
        return self.is_written and not self.is_argument

    @property
    def is_request(self) -> bool:
        """Whether the user wrote it."""
        return self.role is _USER and self.block.kind is _TEXT and not self.block.injected


def parts_of(messages: Sequence[Message]) -> Iterator[Part]:
    """Every part of a conversation in order. Thinking, images and what nobody can read are none.

    Some cannot be shortened, but a summary may tell what they say: blocks that are opaque and readable.
    """
    calls: dict[str, Block] = {}
    for position, message in enumerate(messages):
        for number, block in enumerate(message.blocks):
            if block.kind is _CALL:
                # Of calls that share an id, each is answered before the next.
                calls[block.call_id or ""] = block
                arguments = arguments_of(block)
                values = string_values(arguments) if arguments is not None else [((), block.text)]
                for path, value in values:
                    yield Part((position, number, path), compact(value), message.role, block, block)
            elif block.kind in (_TEXT, _RESULT) or block.is_readable:
                call = calls.get(block.answers) if block.answers else None
                yield Part((position, number, ()), block.content, message.role, block, call)
