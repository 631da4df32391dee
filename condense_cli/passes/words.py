"""Whether the user's own words outlasted a run: in their own message, or quoted in the ledger of a summary."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ..config.models import Configuration
from ..extractive.pasted import Address, is_typed, own_units
from ..extractive.units import split
from ..ledger.written import parse
from ..plurals import plural
from ..transcript import Block, Message
from .prelude import key_of
from .receipts import Receipt


def told(
    before: Sequence[Message],
    after: Sequence[Message],
    receipts: Iterable[Receipt],
    configuration: Configuration,
    target: int | None,
) -> list[str]:
    """What to say of words of the user that a run cut: because the configuration names them, or for want of room."""
    gone = {*lost(before, after)}
    individual = {config.id for config in configuration.passes if config.mode == "individual"}
    named = {
        (receipt.message, receipt.block): receipt.pass_id
        for receipt in (receipts if gone else ())
        if receipt.is_change and receipt.pass_id in individual and (receipt.message, receipt.block) in gone
    }
    said = [
        f"Pass {id} cuts the user's own words, as it is configured: {plural(list(named.values()).count(id), 'text')}."
        for id in dict.fromkeys(named.values())
    ]
    rest = len(gone) - len(named)
    if rest and target is not None:
        said.append(f"The target leaves no room for all of the user's own words: {plural(rest, 'text')} cut.")
    return said


def lost(before: Sequence[Message], after: Sequence[Message]) -> list[Address]:
    """Indices of messages, and numbers of blocks in them, of which words of the user are gone.

    They are texts that the user typed, and summaries that quote such texts.
    """
    now = {key_of(block): block for message in after for block in message.blocks}
    changed = [
        (position, number)
        for position, message in enumerate(before)
        for number, block in enumerate(message.blocks)
        if (block.summarizes or is_typed(message, block))
        and not ((same := now.get(key_of(block))) and same.reads_as(block))
    ]
    if not changed:
        return []
    own = own_units(before)
    quoted = [words for message in after for block in message.blocks for words in _quoted(block)]
    found = []
    for position, number in changed:
        block = before[position].blocks[number]
        same = now.get(key_of(block))
        texts = quoted if same is None else [*quoted, same.text]
        said = [*_quoted(block)] if block.summarizes else [_own(block, own[position, number])]
        if not all(any(_says(text, words) for text in texts) for words in said):
            found.append((before[position].index, number))
    return found


def _quoted(block: Block) -> Iterator[str]:
    """What the user said, as the ledger of a summary quotes it."""
    ledger = parse(block.text) if block.summarizes else None
    yield from (request.text for request in ledger.requests) if ledger else ()


def _own(block: Block, units: Sequence[int] | None) -> str:
    if units is None:
        return block.text
    texts = split(block.text).texts
    return "\n".join(texts[unit] for unit in units)


def _says(text: str, words: str) -> bool:
    return words in text or all(line in text for line in words.split("\n"))
