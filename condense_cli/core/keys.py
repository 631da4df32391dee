"""The name that a block keeps through a run, whatever becomes of its text."""

from __future__ import annotations

from .transcript import Block, JsonPath, Place

BlockKey = tuple[Place, tuple[int, int] | None, JsonPath]
"""What names a block through a run: where it stands in the file."""


def key_of(block: Block) -> BlockKey:
    return block.place, block.span, block.owner
