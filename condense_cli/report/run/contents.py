"""What a run saved on which content and how, summed up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from ...passes.condensation import Condensation
from ...passes.decisions import REFER
from ...passes.receipts import SUMMARIZE, Receipt


class Saving(Struct, frozen=True):
    """What one operation saved on content of one kind, in how many blocks."""

    content: str
    operation: str
    blocks: int
    tokens: int


def savings_of(condensation: Condensation, saved: int) -> list[Saving]:
    """What was done to what, the largest saving first. The model's tokens add up to `saved`.

    An operation is what came of a block in the end. One that is cut and has references counts in both shares.
    """
    blocks: dict[tuple[int, int, str], list[Receipt]] = {}
    for receipt in condensation.changes:
        blocks.setdefault((receipt.message, receipt.block, _content(receipt)), []).append(receipt)
    by_references = dict(condensation.by_references)
    totals: dict[tuple[str, str], list[int]] = {}
    for (message, block, content), receipts in blocks.items():
        for operation, tokens in _shares(receipts, by_references.pop((message, block), 0)):
            if tokens:  # Nothing is saved on a block whose references became lines again.
                entry = totals.setdefault((content, operation), [0, 0])
                entry[0] += 1
                entry[1] += tokens
    shown = condensation.factor.parts([tokens for _, tokens in totals.values()], saved)
    rows = [
        Saving(content, operation, number, tokens)
        for ((content, operation), (number, _)), tokens in zip(totals.items(), shown, strict=True)
    ]
    return sorted(rows, key=lambda row: -row.tokens)


def restorable_in(savings: Iterable[Saving]) -> int:
    """The part of savings that references stand for."""
    return sum(saving.tokens for saving in savings if saving.operation == REFER)


def _shares(receipts: list[Receipt], by_references: int) -> Iterator[tuple[str, int]]:
    """What references saved on one block, and what its last cut did."""
    yield REFER, by_references
    saved = sum(receipt.tokens_before - receipt.tokens_after for receipt in receipts)
    cuts = [receipt.operation for receipt in receipts if receipt.operation != REFER]
    yield cuts[-1] if cuts else REFER, saved - by_references


def _content(receipt: Receipt) -> str:
    if receipt.content_type:
        return receipt.content_type.value.replace("_", " ")
    if receipt.kind:
        return receipt.kind.value.replace("_", " ")
    return "summary" if receipt.operation == SUMMARIZE else "messages"
