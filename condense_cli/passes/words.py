"""Tell whether the user's own words outlasted a run: in their own message, or quoted in the ledger of a summary."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from ..config.models import Configuration
from ..core.transcript import Block, BlockPlace, Message
from ..core.values import BlockKind, Role
from ..core.wording import brief, plural
from ..extractive.answers import is_typed, own_units, words_in
from ..extractive.corrections import outdated_texts
from ..extractive.units import split
from ..tokens.counting import Counter
from .receipts import Receipt


def told(
    before: Sequence[Message],
    after: Sequence[Message],
    receipts: Iterable[Receipt],
    configuration: Configuration,
    target: int | None,
    count: Counter | None = None,
) -> list[str]:
    """Say which words of the user a run cut: because the configuration names them, or for want of room."""
    gone = {*lost(before, after, count)}
    individual = {config.id for config in configuration.passes if config.mode == "individual"}
    named = {
        (receipt.message, receipt.block): receipt.pass_id
        for receipt in (receipts if gone else ())
        if receipt.is_change and receipt.pass_id in individual and (receipt.message, receipt.block) in gone
    }
    said = [
        f"Pass {pass_id} cuts the user's own words, as configured: {plural(texts, 'text')}."
        for pass_id, texts in Tally(named.values()).items()
    ]
    if target is not None and (outdated := outdated_gone(before, after)):
        quoted = "; ".join(brief(sentence, 80) for sentence in outdated[:3])
        said.append(
            f"Of the user's own words, {plural(len(outdated), 'sentence')} went that later ones correct: {quoted}"
        )
    rest = len(gone) - len(named)
    if rest and target is not None:
        said.append(f"The target is too small for all of the user's own words: {plural(rest, 'text')} cut.")
    return said


def outdated_gone(before: Sequence[Message], after: Sequence[Message]) -> list[str]:
    """Return the sentences of the user that are gone because later ones correct them."""
    now = {block.key: block for message in after for block in message.blocks}
    quoted = {
        unit for message in after for block in message.blocks for words in _quoted(block) for unit in _units(words)
    }
    return [
        sentence
        for (position, number), gone in outdated_texts(before).items()
        if (block := now.get(before[position].blocks[number].key)) is None
        or not block.reads_as(before[position].blocks[number])
        for sentence in gone
        if not any(sentence in unit for unit in quoted)
    ]


def lost(before: Sequence[Message], after: Sequence[Message], count: Counter | None = None) -> list[BlockPlace]:
    """Indices of messages, and numbers of blocks in them, of which words of the user are gone.

    They are texts that the user typed, and summaries that quote such texts. What later ones correct is none.
    """
    return [*lost_units(before, after, count)]


def lost_units(
    before: Sequence[Message], after: Sequence[Message], count: Counter | None = None
) -> dict[BlockPlace, list[str]]:
    """The words of the user that are gone, by message index and block number."""
    now = {block.key: block for message in after for block in message.blocks}
    changed = [
        (position, number)
        for position, message in enumerate(before)
        for number, block in enumerate(message.blocks)
        if not ((same := now.get(block.key)) and same.reads_as(block)) and _has_words(message, block)
    ]
    if not changed:
        return {}
    own = own_units(before, count)
    # By unit: to look for each text in each quotation would take the square of their number.
    quoted = {
        unit for message in after for block in message.blocks for words in _quoted(block) for unit in _units(words)
    }
    found: dict[BlockPlace, list[str]] = {}
    outdated = outdated_texts(before)
    for position, number in changed:
        if (position, number) in outdated:
            continue
        block = before[position].blocks[number]
        same = now.get(block.key)
        left = same.text if same else ""
        kept = frozenset(_units(left))
        said = chain(*map(_units, _quoted(block))) if block.summarizes else _own(block, own[position, number])
        # In a line that was cut a unit may be beside an ellipsis.
        gone = [unit for unit in said if not (unit in quoted or unit in kept or unit in left)]
        if gone:
            found[before[position].index, number] = gone
    return found


def units_with_words(messages: Sequence[Message]) -> set[str]:
    """Return the units of all texts that the user typed and answers that they gave."""
    texts = (
        words_in(block) if block.kind is BlockKind.TOOL_RESULT else block.text
        for message in messages
        for block in message.blocks
        if _has_words(message, block)
    )
    return {unit for text in texts for unit in _units(text)}


def _has_words(message: Message, block: Block) -> bool:
    if block.summarizes:
        return True
    if block.kind is BlockKind.TOOL_RESULT:
        return bool(words_in(block))
    return message.role is Role.USER and is_typed(message, block)


def _quoted(block: Block) -> Iterator[str]:
    """Return the user's words as the ledger of a summary quotes them."""
    if not block.summarizes:
        return
    from ..ledger.text import parse  # Most conversations have no summary to read.

    ledger = parse(block.text)
    yield from (request.text for request in ledger.requests) if ledger else ()


def _own(block: Block, own: Sequence[int] | None) -> Iterable[str]:
    if block.kind is BlockKind.TOOL_RESULT:
        return _units(words_in(block))
    units = _units(block.text)
    return units if own is None else (units[unit] for unit in own)


def _units(text: str) -> Sequence[str]:
    return split(text).texts
