"""The last resort for a conversation that does not fit: the older half of its exchanges goes, without a summary.

It loses what it drops, so no configuration file can name it as a pass; it runs only in place of a provider that failed,
where `fallback: sliding_window` asks for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..config.models import Configuration, PassConfig, Selection
from ..exchanges import stretches
from ..transcript import Message
from .draft import Draft
from .receipts import Kept, Receipt, changed, kept
from .selection import Protection, Selected

PASS: Final = "sliding-window"
NAME: Final = "Sliding window: the older half of the exchanges is dropped"
OPERATION: Final = "drop"

_KEEP_RECENT: Final = 3
"""Newest turns that count as none of the older ones."""


class SlidingWindow(PassConfig, frozen=True, kw_only=True):
    """The pass, as code can ask for it."""


def sliding(configuration: Configuration) -> Configuration:
    """The configuration with the sliding window in place of all that it does, except references: these lose nothing."""
    window = SlidingWindow(
        id=PASS,
        name=NAME,
        mode="batch",
        selection=Selection(type="preserve_recent", keep_recent_count=_KEEP_RECENT),
    )
    return Configuration(
        name=configuration.name,
        keep_first=max(1, configuration.keep_first),
        thinking=configuration.thinking,
        pins=configuration.pins,
        lossless_prelude=configuration.lossless_prelude,
        passes=(window,),
    )


def drop_older_half(
    draft: Draft, config: PassConfig, selected: Selected, protection: Protection, before: Sequence[Message]
) -> list[Receipt]:
    """Drop the older half of the exchanges that may go, and give a receipt for every block.

    `before` are the messages as they are written before the pass.
    """
    stay: dict[int, Kept] = {}
    older: list[range] = []
    for stretch in stretches(draft.messages):
        reasons = {position: _reason(draft.messages[position], position, selected, protection) for position in stretch}
        if any(reasons.values()):
            stay |= {position: reason or Kept.EXCHANGE for position, reason in reasons.items()}
        else:
            older.append(stretch)
    half = (len(older) + 1) // 2
    gone = [position for stretch in older[:half] for position in stretch]
    stay |= {position: Kept.NEWER_HALF for stretch in older[half:] for position in stretch}
    tokens = draft.tokens_in(before)
    receipts = [
        kept(config.id, draft.messages[position], number, draft.count.block(block), why)
        for position, why in stay.items()
        for number, block in enumerate(draft.messages[position].blocks)
    ]
    places = [(position, number) for position in gone for number in range(len(draft.messages[position].blocks))]
    for position, number in places:
        message = draft.messages[position]
        cost = tokens[message.index, number]
        receipts.append(changed(config.id, message, number, OPERATION, cost, 0, "in the older half of the exchanges"))
    filled = {message.index for message in draft.messages if message.blocks}
    draft.remove(places)
    return receipts + draft.tidy(config.id, filled)


def _reason(message: Message, position: int, selected: Selected, protection: Protection) -> Kept | None:
    """Why a message must stay; None where it may go."""
    reasons = [reason for block in message.blocks if (reason := protection.of(message, block))]
    if reasons:
        return reasons[0]
    if position >= selected.end:
        return Kept.RECENT
    return None if all(selected.test(message, block) for block in message.blocks) else Kept.NOT_SELECTED


def dropped(receipts: Sequence[Receipt]) -> list[Receipt]:
    """What of a run the sliding window dropped."""
    return [receipt for receipt in receipts if receipt.pass_id == PASS and receipt.operation == OPERATION]
