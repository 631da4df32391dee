"""What a run did to which content, summed up."""

from __future__ import annotations

from ..passes.condensation import Condensation
from ..passes.receipts import Receipt
from ..passes.reconcile import REFER
from ..passes.summaries import SUMMARIZE


def by_content(condensation: Condensation) -> list[tuple[str, str, int, int]]:
    """What was done to what: (content, operation, blocks, tokens saved), the largest saving first.

    A block counts once, with what came of it in the end: a reference says everything, a cut does not.
    """
    blocks: dict[tuple[int, int, str], list[Receipt]] = {}
    for receipt in condensation.changes:
        content = receipt.content_type.value.replace("_", " ") if receipt.content_type else _kind_name(receipt)
        blocks.setdefault((receipt.message, receipt.block, content), []).append(receipt)
    totals: dict[tuple[str, str], list[int]] = {}
    for (message, block, content), receipts in blocks.items():
        cuts = [receipt.operation for receipt in receipts if receipt.operation != REFER]
        is_reference = not cuts or (message, block) in condensation.references
        saved = sum(receipt.tokens_before - receipt.tokens_after for receipt in receipts)
        if saved:  # Nothing is saved on a block whose references became lines again.
            entry = totals.setdefault((content, REFER if is_reference else cuts[-1]), [0, 0])
            entry[0] += 1
            entry[1] += saved
    rows = [(content, operation, number, tokens) for (content, operation), (number, tokens) in totals.items()]
    return sorted(rows, key=lambda row: -row[3])


def _kind_name(receipt: Receipt) -> str:
    if receipt.kind:
        return receipt.kind.value.replace("_", " ")
    return "summary" if receipt.operation == SUMMARIZE else "messages"
