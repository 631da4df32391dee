"""Why single lines went or stayed: worked out from a run, or from two transcripts, where somebody asks.

A run without that question takes no time for it, and keeps nothing for it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from ..core.transcript import Block, BlockPlace, Message
from ..core.values import BlockKind
from ..extractive.reason import ReasonedLine
from ..lossless.decode import decode
from ..tokens.counting import Counter
from ..toolcalls.tools import arguments_of, string_values
from .blocks.state import REPLACED
from .condensation import Condensation
from .decisions import REFER
from .receipts import LINES, NOTE, PICKING, REPLACING, SUMMARIZE, Receipt
from .summaries import OFFLINE, written_by

if TYPE_CHECKING:
    from ..extractive.parts import Key

Lines = Mapping[BlockPlace, Sequence[ReasonedLine]]
"""The lines of blocks that were cut, by the block."""

SHORTEST: Final = 3
"""Shorter lines, such as a closing bracket, are in any text."""


def explained(result: Condensation, count: Counter, only: Collection[BlockPlace] | None = None) -> Condensation:
    """The same run with its `lines`, which its receipts then tell.

    Of all blocks, or `only` of some.
    """
    picked = _picked(result.receipts)
    # One summary replaces most of a conversation: nobody who asks of some blocks waits for that.
    summarized = _in_summaries(result.receipts) if only is None else set[BlockPlace]()
    picked = picked | summarized if only is None else picked & {*only}
    if not picked:
        return result
    now = {block.key: block for _, block in result.transcript.blocks()}
    before = result.before.messages
    pairs: list[tuple[Block | None, Block | None]] = [(block, now.pop(block.key, None)) for block in _blocks(before)]
    pairs += [(None, block) for block in now.values()]
    summary = "\n".join(block.text for block in now.values() if block.summarizes) if summarized else ""
    lines = lines_between(before, result.transcript.messages, pairs, picked, count, summary)
    return replace(result, lines=lines)


def lines_between(
    before: Sequence[Message],
    after: Sequence[Message],
    pairs: Sequence[tuple[Block | None, Block | None]],
    asked: Collection[BlockPlace],
    count: Counter,
    summary: str = "",
) -> Lines:
    """The lines of the blocks that are `asked` for, as far as lines were picked from them.

    `pairs` are blocks of `before` with what they are in `after`, None for what is gone, or for what came in; blocks in
    no pair are as they were. Of what is gone those lines stay that a `summary` has, which was made of such lines.
    """
    from ..extractive.reasons import Reasons  # With the extraction: only where somebody asks.

    old, new = decode(before).messages, decode(after).messages
    as_read = {id(block): read for block, read in zip(_blocks(after), _blocks(new), strict=True)}
    now = {id(block): as_read.get(id(left)) for block, left in pairs if block is not None}
    picked = frozenset(summary.split("\n"))
    left: dict[Key, str | None] = {}
    stay: set[str] = set()
    places: dict[BlockPlace, BlockPlace] = {}
    for position, (message, read) in enumerate(zip(before, old, strict=True)):
        for number, (raw, block) in enumerate(zip(message.blocks, read.blocks, strict=True)):
            if (message.index, number) in asked:
                places[message.index, number] = position, number
            if id(raw) in now:
                for key, was, text in _left(position, number, block, now[id(raw)]):
                    if text is None and (message.index, number) in places:
                        own = [line for line in was.split("\n") if line in picked and len(line.strip()) >= SHORTEST]
                        stay.update(own)
                        text = "\n".join(own) or None
                    left[key] = text
    new_texts = [as_read[id(block)].text for none, block in pairs if none is None and block is not None]
    added = ["\n".join(line for line in text.split("\n") if line not in stay) for text in new_texts]
    reasons = Reasons(old, left, added, {*places.values()}, count)
    found = {address: tuple(reasons.of(place)) for address, place in places.items()}
    return {address: lines for address, lines in found.items() if lines}


def _picked(receipts: Iterable[Receipt]) -> set[BlockPlace]:
    """The blocks of which nothing but what lines are worth decided."""
    operations: defaultdict[BlockPlace, set[str]] = defaultdict(set)
    for receipt in receipts:
        if receipt.is_change and receipt.operation != REFER and receipt.block >= 0:
            has_worth = receipt.operation in PICKING and receipt.reason != REPLACED and receipt.tokens_after > 0
            operations[receipt.message, receipt.block].add(receipt.operation if has_worth else "")
    return {address for address, found in operations.items() if found <= PICKING}


def _in_summaries(receipts: Sequence[Receipt]) -> set[BlockPlace]:
    """The blocks that a note, or a summary without a model, holds lines of."""
    made = [receipt for receipt in receipts if receipt.operation in REPLACING]
    reasons = {NOTE: LINES, SUMMARIZE: written_by(OFFLINE)}
    if not any(receipt.block < 0 and receipt.reason == reasons[receipt.operation] for receipt in made):
        return set()
    return {(receipt.message, receipt.block) for receipt in made if receipt.block >= 0 and not receipt.tokens_after}


def _left(position: int, number: int, old: Block, new: Block | None) -> Iterator[tuple[Key, str, str | None]]:
    """The texts of a block that are no longer as they were, its own or those of a call, and what is left of each."""
    if old.kind is not BlockKind.TOOL_CALL:
        if new is None or not new.reads_as(old):
            yield (position, number, ()), old.text, new.text if new else None
        return
    values = dict(string_values(arguments_of(new) or {})) if new else {}
    for path, value in string_values(arguments_of(old) or {}):
        if values.get(path) != value:
            yield (position, number, path), value, values.get(path)


def _blocks(messages: Iterable[Message]) -> Iterator[Block]:
    return (block for message in messages for block in message.blocks)
