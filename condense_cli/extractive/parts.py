"""The texts of a conversation that can be shortened: blocks, and single string values of tool calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from ..exchanges import calls_by_id
from ..tools import arguments_of, string_values
from ..transcript import Block, BlockKind, JsonPath, Message, Role

Key = tuple[int, int, JsonPath]
"""Position of a message in the conversation, number of the block in it, and for an argument its path in the call."""


class Part(Struct, frozen=True):
    """One text with where it stands; `call` is the call that it belongs to, as an argument or as a result."""

    key: Key
    text: str
    role: Role
    block: Block
    call: Block | None = None

    @property
    def is_argument(self) -> bool:
        return self.block.kind is BlockKind.TOOL_CALL

    @property
    def is_result(self) -> bool:
        return self.block.kind is BlockKind.TOOL_RESULT

    @property
    def is_written(self) -> bool:
        """Whether the assistant wrote it."""
        return self.role is Role.ASSISTANT and not self.is_result

    @property
    def is_request(self) -> bool:
        """Whether the user wrote it."""
        return self.role is Role.USER and self.block.kind is BlockKind.TEXT and not self.block.injected


def parts_of(messages: Sequence[Message]) -> Iterator[Part]:
    """Every part of a conversation in order. Thinking, images and what nobody can read are none."""
    calls = calls_by_id(messages)
    for position, message in enumerate(messages):
        for number, block in enumerate(message.blocks):
            if block.kind is BlockKind.TOOL_CALL:
                arguments = arguments_of(block)
                values = string_values(arguments) if arguments is not None else [((), block.text)]
                for path, value in values:
                    yield Part((position, number, path), value, message.role, block, block)
            elif block.kind in (BlockKind.TEXT, BlockKind.TOOL_RESULT):
                call = calls.get(block.answers) if block.answers else None
                yield Part((position, number, ()), block.text, message.role, block, call)
