"""The last resort for a conversation that does not fit: the older half of its exchanges goes, without a summary.

It loses what it drops, so no configuration file can name it as a pass; it runs only in place of a provider that failed,
where `fallback: sliding_window` asks for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...config.models import BatchConfig, Configuration, PassConfig, Selection
from ...core.transcript import Message, stretches
from ..receipts import Kept, Receipt, all_kept, changed, tokens_in
from ..selection import Protection, Selected
from ..sheet import Step

PASS: Final = "sliding-window"
NAME: Final = "Sliding window: the older half of the exchanges is dropped"
OPERATION: Final = "drop"

_KEEP_RECENT: Final = 3
"""Newest turns that count as none of the older ones."""


WINDOW: Final = PassConfig(
    id=PASS,
    name=NAME,
    mode="batch",
    selection=Selection(type="preserve_recent", keep_recent_count=_KEEP_RECENT),
    batch_config=BatchConfig(operation="drop_older_half"),
)


def sliding(configuration: Configuration) -> Configuration:
    """The configuration with the sliding window in place of all that it does, except references: these lose nothing."""
    return Configuration(
        name=configuration.name,
        keep_first=max(1, configuration.keep_first),
        thinking=configuration.thinking,
        keep=configuration.keep,
        pins=configuration.pins,
        lossless_prelude=configuration.lossless_prelude,
        passes=(WINDOW,),
    )


def drop_older_half(step: Step) -> list[Receipt]:
    """Drop the older half of the exchanges that may go, and give a receipt for every block."""
    sheet, pass_id, messages = step.sheet, step.config.id, step.sheet.messages
    stay: dict[int, Kept] = {}
    older: list[range] = []
    for stretch in stretches(messages):
        reasons = {
            position: _reason(messages[position], position, step.selected, sheet.protection) for position in stretch
        }
        if any(reasons.values()):
            stay |= {position: reason or Kept.EXCHANGE for position, reason in reasons.items()}
        else:
            older.append(stretch)
    half = (len(older) + 1) // 2
    gone = [position for stretch in older[:half] for position in stretch]
    stay |= {position: Kept.NEWER_HALF for stretch in older[half:] for position in stretch}
    tokens = tokens_in(messages, sheet.count)
    receipts = all_kept(pass_id, messages, stay, sheet.count)
    places = [(position, number) for position in gone for number in range(len(messages[position].blocks))]
    for position, number in places:
        message = messages[position]
        cost = tokens[message.index, number]
        receipts.append(changed(pass_id, message, number, OPERATION, cost, 0, "in the older half of the exchanges"))
    return receipts + sheet.remove(places, pass_id)


def _reason(message: Message, position: int, selected: Selected, protection: Protection) -> Kept | None:
    """Why a message must stay; None where it may go."""
    reasons = [reason for block in message.blocks if (reason := protection.of(message, block))]
    if reasons:
        return reasons[0]
    if position >= selected.end:
        return Kept.RECENT
    return None if all(selected.test(message, block) for block in message.blocks) else Kept.NOT_SELECTED


def dropped(receipts: Sequence[Receipt]) -> list[Receipt]:
    """Return what the sliding window dropped of a run."""
    return [receipt for receipt in receipts if receipt.pass_id == PASS and receipt.operation == OPERATION]
