"""Which block of a run's result came of which block of its input, in the order in which a person reads both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from ...core.transcript import Block, BlockKey, Message
from .links import Position


class AlignedBlock(Struct, frozen=True):
    """A block before and after the run; `number` is its position in its message, `position` that in the result."""

    number: int
    before: Block | None
    after: Block | None
    position: Position | None


class AlignedMessage(Struct, frozen=True):
    """A message of the input, or one that the run wrote. `remains` tells how many messages of the result it is now."""

    message: Message
    is_new: bool
    remains: int
    blocks: tuple[AlignedBlock, ...]


def align(before: Sequence[Message], after: Sequence[Message]) -> list[AlignedMessage]:
    """All messages of both. New ones are where they took the place of others: in front of these."""
    known = {block.key: position for position, message in enumerate(before) for block in message.blocks}
    empty = {message.index: position for position, message in enumerate(before) if not message.blocks}
    now: dict[BlockKey, tuple[Position, Block]] = {}
    added: dict[int, list[tuple[Position, Block]]] = {}
    remains = [0] * len(before)
    new: list[tuple[int, AlignedMessage]] = []
    for position, message in enumerate(after):
        old = [known[block.key] for block in message.blocks if _is_old(block, known)]
        if not message.blocks and message.index in empty:
            old = [empty[message.index]]
        if not old:
            # The line between a summary and the next message follows the summary.
            follows = bool(new) and new[-1][1].blocks[0].position == (position - 1, 0)
            new.append((new[-1][0] if follows else _place_of(message, before), _new(position, message)))
            continue
        remains[old[0]] += 1
        for number, block in enumerate(message.blocks):
            if _is_old(block, known):
                now[block.key] = (position, number), block
            else:
                added.setdefault(old[0], []).append(((position, number), block))
    aligned = [
        AlignedMessage(message, False, remains[position], tuple(_blocks(message, now, added.get(position, ()))))
        for position, message in enumerate(before)
    ]
    for place, inserted in reversed(new):
        aligned.insert(place, inserted)
    return aligned


def _is_old(block: Block, known: dict[BlockKey, int]) -> bool:
    return not block.is_inserted and block.key in known


def _place_of(message: Message, before: Sequence[Message]) -> int:
    return next((place for place, other in enumerate(before) if other.index >= message.index), len(before))


def _new(position: int, message: Message) -> AlignedMessage:
    blocks = (AlignedBlock(number, None, block, (position, number)) for number, block in enumerate(message.blocks))
    return AlignedMessage(message, True, 1, tuple(blocks))


def _blocks(
    message: Message, now: dict[BlockKey, tuple[Position, Block]], added: Sequence[tuple[Position, Block]]
) -> Iterator[AlignedBlock]:
    for number, block in enumerate(message.blocks):
        position, after = now.get(block.key, (None, None))
        yield AlignedBlock(number, block, after, position)
    for number, (position, block) in enumerate(added, len(message.blocks)):
        yield AlignedBlock(number, None, block, position)
