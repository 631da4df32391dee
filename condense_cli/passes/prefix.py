"""How much of a conversation stays in the provider's cache when what follows it changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..core.transcript import Message
from ..tokens.counting import MESSAGE_TOKENS, Counter


def shared_prefix(before: Sequence[Message], after: Sequence[Message], count: Counter) -> int:
    """Tokens of the beginning that two conversations share, block by block."""
    tokens = 0
    for old, new in zip(before, after, strict=False):
        if old.role is not new.role:
            break
        tokens += MESSAGE_TOKENS + sum(_same_blocks(old, new, count))
        if old.blocks != new.blocks:
            break
    return tokens


def _same_blocks(old: Message, new: Message, count: Counter) -> Iterator[int]:
    for mine, other in zip(old.blocks, new.blocks, strict=False):
        if mine != other:
            return
        yield count.block(mine)
