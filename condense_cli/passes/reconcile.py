"""Receipts for what is written: what a pass did to a block may come out as a reference, and touch other blocks.

A reference can take the place of a cut, because it says everything in fewer tokens; and where a text was
cut, older texts can no longer refer to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec.structs import replace

from ..tokens import Counter
from ..transcript import Block, Message
from .prelude import BlockKey, key_of
from .receipts import Kept, Receipt, changed, kept

REFER = "refer"

View = dict[BlockKey, tuple[Message, int, Block]]
"""Every block with its message and its position in that."""

InInput = Mapping[BlockKey, tuple[int, int]]
"""Where the input has the blocks: index of the message and position in it. Empty while none has another place."""


def view(messages: Sequence[Message]) -> View:
    return {
        key_of(block): (message, number, block) for message in messages for number, block in enumerate(message.blocks)
    }


def places(messages: Iterable[Message]) -> dict[BlockKey, tuple[int, int]]:
    """Where every block stands."""
    return {
        key_of(block): (message.index, number) for message in messages for number, block in enumerate(message.blocks)
    }


def as_in_input(receipts: Sequence[Receipt], messages: Iterable[Message], in_input: InInput) -> list[Receipt]:
    """Receipts that name blocks by their places in the messages, with their places in the input."""
    now = {place: in_input.get(key, place) for key, place in places(messages).items()} if in_input else {}
    return [_at(receipt, now.get((receipt.message, receipt.block))) for receipt in receipts]


def _at(receipt: Receipt, place: tuple[int, int] | None) -> Receipt:
    if place is None or place == (receipt.message, receipt.block):
        return receipt
    return replace(receipt, message=place[0], block=place[1])


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
    keys = {in_input.get(key, (message.index, number)): key for key, (message, number, _) in after.items()}
    found: list[Receipt] = []
    seen: set[BlockKey] = set()
    for receipt in receipts:
        place = (receipt.message, receipt.block)
        key = keys.get(place)
        # A summary may stand where an earlier one stood, which it takes in: nothing but the place is the same.
        if key is None or key not in before or (receipt.is_change and after[key][2].is_inserted):
            found.append(receipt)
            continue
        (message, number, old), (_, _, new) = before[key], after[key]
        seen.add(key)
        tokens, tokens_after = count.block(old), count.block(new)
        if tokens != tokens_after or not new.reads_as(old) or new.kind is not old.kind:
            why = receipt.reason if receipt.is_change else reason
            how = operation(place, *after[key][:2])
            found.append(_at(changed(pass_id, message, number, how, tokens, tokens_after, why), place))
        elif receipt.is_change:
            found.append(_at(kept(pass_id, message, number, tokens, Kept.REFERENCE), place))
        else:
            found.append(replace(receipt, tokens_before=tokens, tokens_after=tokens))
    for place, key in keys.items():
        if key in seen or key not in before or after[key][2].is_inserted:
            continue
        (message, number, old), (_, _, new) = before[key], after[key]
        tokens, tokens_after = count.block(old), count.block(new)
        if tokens != tokens_after or not old.reads_as(new):
            how = operation(place, *after[key][:2])
            found.append(_at(changed(pass_id, message, number, how, tokens, tokens_after, reason), place))
    return found
