"""Receipts for what is written: what a pass did to a block may come out as a reference, and touch other blocks.

A reference can take the place of a cut, because it says everything in fewer tokens; and where a text was
cut, older texts can no longer refer to it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from ..tokens import Counter
from ..transcript import Block, Message
from .prelude import BlockKey, key_of
from .receipts import Kept, Receipt, changed, kept

REFER = "refer"

View = dict[BlockKey, tuple[Message, int, Block]]
"""Every block with its message and its position in that."""


def view(messages: Sequence[Message]) -> View:
    return {
        key_of(block): (message, number, block) for message in messages for number, block in enumerate(message.blocks)
    }


def reconcile(
    pass_id: str,
    receipts: Sequence[Receipt],
    before: View,
    after: View,
    count: Counter,
    is_reference: Callable[[int, int], bool],
    reason: str,
) -> list[Receipt]:
    """The receipts of a step, with what each block cost as it was written before and after it.

    `is_reference` tells of a message index and block position whether references stand there for all of it.
    """
    places = {(message.index, number): key for key, (message, number, _) in after.items()}
    found: list[Receipt] = []
    seen: set[BlockKey] = set()
    for receipt in receipts:
        key = places.get((receipt.message, receipt.block))
        # A summary may stand where an earlier one stood, which it takes in: nothing but the place is the same.
        if key is None or key not in before or (receipt.is_change and after[key][2].is_inserted):
            found.append(receipt)
            continue
        old, (message, number, new) = before[key][2], after[key]
        seen.add(key)
        tokens, tokens_after = count.block(old), count.block(new)
        if tokens != tokens_after or not new.reads_as(old) or new.kind is not old.kind:
            is_same_pass = receipt.is_change and not is_reference(receipt.message, number)
            operation = receipt.operation if is_same_pass else REFER
            why = receipt.reason if receipt.is_change else reason
            found.append(changed(pass_id, message, number, operation, tokens, tokens_after, why))
        elif receipt.is_change:
            found.append(kept(pass_id, message, number, tokens, Kept.REFERENCE))
        else:
            found.append(replace(receipt, tokens_before=tokens, tokens_after=tokens))
    for key, (message, number, new) in after.items():
        if key in seen or key not in before or new.is_inserted:
            continue
        old = before[key][2]
        tokens, tokens_after = count.block(old), count.block(new)
        if tokens != tokens_after or not old.reads_as(new):
            found.append(changed(pass_id, message, number, REFER, tokens, tokens_after, reason))
    return found
