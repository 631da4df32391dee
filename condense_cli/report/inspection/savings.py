"""Measure the savings of the lossless prelude, and those of references that a transcript holds.

Documented in docs/json-report.md.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from ...core.transcript import Transcript
from ...lossless.decode import Decoded, broken_in, decode
from ...lossless.encode import encode
from ...lossless.matching import Reader
from ...lossless.pieces import Category, Finders, find_pieces
from ...passes.condensation import Condensation
from ...tokens.counting import Counter
from ...tokens.factor import Factor
from ..text import TokenShare, percent

FINDERS: Final = {
    "deduplicate_file_reads": Finders(tool_results=False, state_tags=()),
    "consolidate_tool_results": Finders(file_reads=False, state_tags=()),
    "remove_obsolete_state": Finders(file_reads=False, tool_results=False),
}
"""Each finder alone, by the key that switches it on."""


class ByReferences(Struct, frozen=True):
    """Possible savings by references: of each of the `finders` alone, of all, and of `tool_parameters` in addition.

    `percent` is the share of what the transcript costs without references.
    """

    tokens: int
    percent: float
    blocks: int
    finders: list[TokenShare]
    tool_parameters: TokenShare


class References(Struct, frozen=True):
    """References that the transcript holds: how many `restore` resolves, and how many it cannot.

    `saved` are the tokens that `restore` adds to the transcript.
    """

    resolved: int
    unresolved: int
    saved: int


def references_after(condensation: Condensation, count: Counter) -> References:
    """Return the references in the result of a run. The input holds most of the replaced texts already."""
    texts = {block.key: block.content for _, block in condensation.before.blocks()}
    messages = condensation.transcript.messages
    known = {
        (position, number): texts[block.key]
        for position, message in enumerate(messages)
        for number, block in enumerate(message.blocks)
        if block.key in texts
    }
    return references_in(condensation.transcript, count, condensation.factor, decode(messages, expected=known))


def references_in(transcript: Transcript, count: Counter, factor: Factor, found: Decoded) -> References:
    """Return the references of a transcript; `found` is its decoding."""
    saved = sum(
        count.message(whole) - count.message(message)
        for whole, message in zip(found.messages, transcript.messages, strict=True)
        if whole is not message
    )
    return References(found.resolved, broken_in(transcript.messages, found), factor.shown(saved))


def find_savings(transcript: Transcript, count: Counter, factor: Factor) -> tuple[ByReferences, References]:
    """Try the finders. Blocks that a run protects count too: that depends on its configuration."""
    decoded = decode(transcript.messages)
    total = sum(map(count.message, decoded.messages))
    states = (Category.STATE, Category.INJECTED)
    has_states = any(piece.category in states for piece in find_pieces(decoded.messages, Finders()))

    reader = Reader()

    def share(name: str, finders: Finders) -> TokenShare:
        blocks = encode(decoded.messages, finders, count, lambda *_: True, reader=reader).blocks
        plain = sum(count.block(decoded.messages[position].blocks[number]) for position, number in blocks)
        saved = plain - sum(map(count.block, blocks.values()))
        return TokenShare(name, factor.shown(saved), percent(saved, total), len(blocks))

    alone = [
        share(name, finders) if has_states or name != "remove_obsolete_state" else TokenShare(name, 0, 0.0, 0)
        for name, finders in FINDERS.items()
    ]
    together = share("", Finders())
    everything = share("", Finders(tool_parameters=True))
    more = max(0, everything.tokens - together.tokens)
    parameters = TokenShare(
        "tool_parameters", more, percent(more, factor.shown(total)), max(0, everything.blocks - together.blocks)
    )
    return (
        ByReferences(together.tokens, together.percent, together.blocks, alone, parameters),
        references_in(transcript, count, factor, decoded),
    )
