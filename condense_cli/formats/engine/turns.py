"""Messages put together from parts that a file holds one by one, as event logs do."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from ...core.transcript import Block, Message
from ...core.values import Role


class Turn(Struct, frozen=True):
    """One part of a message. `answer` names the answer of the model that it belongs to.

    A summary stands `before` the record of the first part that it took the place of.
    """

    role: Role
    blocks: list[Block]
    answer: str | None = None
    before: int | None = None

    @property
    def starts(self) -> int:
        return self.blocks[0].place.record

    def goes_on_with(self, other: Turn) -> bool:
        """Whether the model wrote both at once, or both are results."""
        if self.role is Role.TOOL:
            return other.role is Role.TOOL
        return self.role is other.role and self.answer is not None and self.answer == other.answer


def joined(parts: Iterable[Turn]) -> tuple[Message, ...]:
    """The messages that the parts are, each part with its blocks."""
    turns: list[Turn] = []
    for part in parts:
        if part.before is not None:
            position = next((n for n, turn in enumerate(turns) if turn.starts >= part.before), len(turns))
            turns.insert(position, part)
        elif turns and turns[-1].goes_on_with(part):
            turns[-1].blocks.extend(part.blocks)
        else:
            turns.append(part)
    return tuple(Message(index, turn.role, tuple(turn.blocks)) for index, turn in enumerate(turns))
