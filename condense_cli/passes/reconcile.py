"""Receipts for what is written: what a pass did to a block may come out as a reference, and touch other blocks.

A reference can take the place of a cut, because it says everything in fewer tokens; and where a text was
cut, older texts can no longer refer to it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from msgspec.structs import replace

from ..core.tokens import Counter
from ..core.transcript import Block, BlockKey, Message
from .receipts import InInput, Kept, Receipt, at_place, changed, kept

REFER: Final = "refer"
"""The operation of a block that is written with a reference."""

REPEATED: Final = "repeats lines of another block"
"""Why it is written so."""


class PlacedBlock(NamedTuple):
    """A block, with its message and its position in that."""

    message: Message
    number: int
    block: Block


View = dict[BlockKey, PlacedBlock]
"""Every block of some messages."""


def view(messages: Sequence[Message]) -> View:
    return {
        block.key: PlacedBlock(message, number, block)
        for message in messages
        for number, block in enumerate(message.blocks)
    }


def reconcile(
    pass_id: str,
    receipts: Sequence[Receipt],
    before: View,
    after: View,
    in_input: InInput,
    count: Counter,
    operation: Callable[[tuple[int, int], Message, int], str],
    reason: str,
) -> list[Receipt]:
    """The receipts of a step, with what each block cost as it was written before and after it.

    Receipts name blocks by their places in the input. `operation` tells of such a place, and of the message and the
    position where the block stands now, what made it what it is.
    """
    keys = {in_input.get(key, (now.message.index, now.number)): key for key, now in after.items()}
    found: list[Receipt] = []
    seen: set[BlockKey] = set()
    for receipt in receipts:
        place = (receipt.message, receipt.block)
        key = keys.get(place)
        # A summary may stand where an earlier one stood, which it takes in: nothing but the place is the same.
        if key is None or key not in before or (receipt.is_change and after[key].block.is_inserted):
            found.append(receipt)
            continue
        seen.add(key)
        old, new = before[key], after[key]
        tokens, tokens_after = count.block(old.block), count.block(new.block)
        if tokens != tokens_after or not new.block.reads_as(old.block) or new.block.kind is not old.block.kind:
            why = receipt.reason if receipt.is_change else reason
            how = operation(place, new.message, new.number)
            found.append(at_place(changed(pass_id, old.message, old.number, how, tokens, tokens_after, why), place))
        elif receipt.is_change:
            found.append(at_place(kept(pass_id, old.message, old.number, tokens, Kept.REFERENCE), place))
        else:
            found.append(replace(receipt, tokens_before=tokens, tokens_after=tokens))
    for place, key in keys.items():
        if key in seen or key not in before or after[key].block.is_inserted:
            continue
        old, new = before[key], after[key]
        tokens, tokens_after = count.block(old.block), count.block(new.block)
        if tokens != tokens_after or not old.block.reads_as(new.block):
            how = operation(place, new.message, new.number)
            found.append(at_place(changed(pass_id, old.message, old.number, how, tokens, tokens_after, reason), place))
    return found
