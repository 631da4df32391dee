"""Why a pass leaves a block alone before it asks what the block is."""

from __future__ import annotations

from ...core.transcript import Block, Message
from ..receipts import Kept
from ..selection import Protection, Selected


def why_untouched(
    position: int, message: Message, block: Block, selected: Selected, protection: Protection
) -> Kept | None:
    """What nothing may touch goes before what is too new for this pass, and that before what it does not select.

    `position` is that of the message among those that the selection was worked out for. None: the pass may touch it.
    """
    protected = protection.of(message, block)
    if protected is not None:
        return protected
    if position >= selected.end:
        return Kept.RECENT
    return None if selected.test(message, block) else Kept.NOT_SELECTED
