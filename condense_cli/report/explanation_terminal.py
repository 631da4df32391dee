"""Why each block was changed or stayed, for people: a line for each block."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from rich.console import Group

from ..passes.receipts import Receipt
from .fitted_table import fitted_table
from .labels import operation_label

_KEPT_STYLE: Final = "dim"


def render_receipts(receipts: Iterable[Receipt], width: int, *, each_pass: bool = False) -> Group:
    """A row for each block and what became of it; with `each_pass` one for every pass that looked at it."""
    ordered = sorted(receipts, key=lambda receipt: (receipt.message, receipt.block))
    blocks: dict[tuple[int, int], list[Receipt]] = {}
    for receipt in ordered:
        blocks.setdefault((receipt.message, receipt.block), []).append(receipt)
    groups = [[receipt] for receipt in ordered] if each_pass else list(blocks.values())
    has_several = len({receipt.pass_id for receipt in ordered}) > 1
    rows = [_row(group, has_several=has_several, each_pass=each_pass) for group in groups]
    styles = ["" if any(receipt.is_change for receipt in group) else _KEPT_STYLE for group in groups]
    return fitted_table(("block", "", "", "tokens", "why"), rows, (3,), width, flexible=4, wraps=True, styles=styles)


def _row(receipts: Sequence[Receipt], *, has_several: bool, each_pass: bool) -> list[str]:
    """What became of one block. Passes that left it alone matter only where none changed it.

    Of several passes a reason names its own, unless none changed the block and all say the same.
    """
    told = [receipt for receipt in receipts if receipt.is_change] or receipts
    first, last = told[0], told[-1]
    place = f"{first.message}:{first.block}" if first.block >= 0 else f"{first.message}"
    kind = first.kind.value.replace("_", " ") if first.kind else "message"
    operations = dict.fromkeys(receipt.operation for receipt in told)
    tokens = f"{first.tokens_before:,} → {last.tokens_after:,}" if last.is_change else f"{last.tokens_after:,}"
    passes: dict[str, list[str]] = {}
    for receipt in told:
        ids = passes.setdefault(receipt.why, [])
        if receipt.pass_id not in ids:
            ids.append(receipt.pass_id)
    named = has_several and (each_pass or last.is_change or len(passes) > 1)
    reasons = (f"{why} ({', '.join(ids)})" if named else why for why, ids in passes.items())
    return [place, kind, " + ".join(map(operation_label, operations)), tokens, "; ".join(reasons)]
