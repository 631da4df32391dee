"""Results that call a file current go without these words once a pass cut the file."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Final

from ..core.transcript import Message
from ..toolcalls.outcomes import claiming, outdated, without_claims
from .receipts import Receipt, changed, positions_of
from .selection import why_untouched
from .sheet import Step

_WHY: Final = "lines went of the file that it calls current"


class Claimed:
    """Claims of results in a conversation of files; `read` are the messages of the input."""

    def __init__(self, read: Sequence[Message]) -> None:
        self._read = read

    @cached_property
    def _paths(self) -> frozenset[str]:
        return claiming(self._read)

    def withdrawn(self, step: Step, before: Sequence[Message], receipts: list[Receipt]) -> list[Receipt]:
        """The receipts of a step, once claims went that hold no longer, of results that the step may touch.

        `before` are the messages that the step began with, by which receipts name blocks.
        """
        if not self._paths:
            return receipts
        sheet = step.sheet
        messages = sheet.messages
        places, now = positions_of(before), positions_of(messages)
        blocks = {key: messages[position].blocks[number] for key, (position, number) in now.items()}
        known = {(receipt.message, receipt.block): receipt for receipt in receipts}
        new: dict[tuple[int, int], Receipt] = {}
        for key in outdated(self._read, blocks, self._paths):
            if key not in places or key not in now:
                continue
            (position, number), block = places[key], blocks[key]
            message = before[position]
            if why_untouched(position, message, message.blocks[number], step.selected, sheet.protection):
                continue
            shorter = block.with_text(without_claims(block.text))
            if shorter.text == block.text:
                continue
            sheet.put(*now[key], shorter)
            receipt = known.get((message.index, number))
            new[message.index, number] = changed(
                step.config.id,
                message,
                number,
                receipt.operation if receipt and receipt.is_change else "truncate",
                receipt.tokens_before if receipt else sheet.count.block(block),
                sheet.count.block(shorter),
                step.why(block, _WHY),
            )
        return [*(new.pop((receipt.message, receipt.block), receipt) for receipt in receipts), *new.values()]
