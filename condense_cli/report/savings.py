"""What the lossless prelude would save in a transcript, and what references in it save already."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from ..lossless.decode import decode
from ..lossless.encode import encode
from ..lossless.finders import Category, Finders
from ..lossless.pieces import find_pieces
from ..tokens import Counter
from ..transcript import Transcript

FINDERS: Final = {
    "deduplicate_file_reads": Finders(tool_results=False, state_tags=()),
    "consolidate_tool_results": Finders(file_reads=False, state_tags=()),
    "remove_obsolete_state": Finders(file_reads=False, tool_results=False),
}
"""Each finder alone, by the key that switches it on."""


class Saving(Struct, frozen=True):
    """Tokens that references would save, and in how many blocks."""

    tokens: int = 0
    blocks: int = 0


class Savings(Struct, frozen=True):
    """What references save in place of lines: each finder alone, all of them, and all with `tool_parameters`.

    `resolved` references are there and save `saved` tokens already; `unresolved` lines only look like one.
    """

    finders: dict[str, Saving]
    together: Saving
    with_parameters: Saving
    resolved: int = 0
    unresolved: int = 0
    saved: int = 0


def find_savings(transcript: Transcript, count: Counter) -> Savings:
    """Try the finders. Blocks that a run protects count too: that depends on its configuration."""
    decoded = decode(transcript.messages)
    has_states = any(
        piece.category in (Category.STATE, Category.INJECTED) for piece in find_pieces(decoded.messages, Finders())
    )

    def saving(finders: Finders) -> Saving:
        blocks = encode(decoded.messages, finders, count, lambda *_: True).blocks
        plain = (decoded.messages[position].blocks[number] for position, number in blocks)
        return Saving(sum(map(count.block, plain)) - sum(map(count.block, blocks.values())), len(blocks))

    return Savings(
        {
            name: saving(finders) if finders.file_reads or finders.tool_results or has_states else Saving()
            for name, finders in FINDERS.items()
        },
        saving(Finders()),
        saving(Finders(tool_parameters=True)),
        decoded.resolved,
        decoded.unresolved,
        sum(map(count.message, decoded.messages)) - count.transcript(transcript) if decoded.resolved else 0,
    )
