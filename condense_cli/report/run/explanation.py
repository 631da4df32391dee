"""Why each block was changed or stayed, for people: a line for each block, or for several that share the reason."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Final

from msgspec import Struct
from rich.console import Group

from ...core.factor import Factor
from ...core.wording import plural
from ...passes.receipts import Receipt
from ..text.fitted_table import fitted_table
from ..text.labels import operation_label
from ..text.reasons import receipt_text

_KEPT_STYLE: Final = "dim"
_FOLDED: Final = 3
"""So many neighbours with one reason take one line."""


class _Row(Struct, frozen=True):
    place: str
    kind: str
    before: int
    after: int
    why: str
    is_change: bool

    def cells(self, factor: Factor) -> list[str]:
        before, after = factor.shown(self.before), factor.shown(self.after)
        tokens = f"{before:,} → {after:,}" if self.is_change else f"{after:,}"
        return [self.place, self.kind, tokens, self.why]


def render_receipts(receipts: Iterable[Receipt], factor: Factor, width: int, *, each_pass: bool = False) -> Group:
    """What became of each block, then of whole messages; with `each_pass` a line for every pass that looked at it."""
    ordered = sorted(receipts, key=lambda receipt: (receipt.block < 0, receipt.message, receipt.block))
    has_several = len({receipt.pass_id for receipt in ordered}) > 1
    if each_pass:
        rows = [_row([receipt], has_several=has_several, each_pass=True) for receipt in ordered]
    else:
        blocks: dict[tuple[int, int], list[Receipt]] = {}
        for receipt in ordered:
            blocks.setdefault((receipt.message, receipt.block), []).append(receipt)
        rows = _folded([_row(group, has_several=has_several, each_pass=False) for group in blocks.values()])
    styles = ["" if row.is_change else _KEPT_STYLE for row in rows]
    cells = [row.cells(factor) for row in rows]
    return fitted_table(
        ("block", "", "tokens", "what and why"), cells, (2,), width, flexible=3, wraps=True, styles=styles
    )


def _folded(rows: Sequence[_Row]) -> list[_Row]:
    found: list[_Row] = []
    for (why, is_change), group in groupby(rows, key=lambda row: (row.why, row.is_change)):
        same = list(group)
        if len(same) < _FOLDED:
            found += same
            continue
        kinds = {row.kind for row in same}
        kind = plural(len(same), kinds.pop() if len(kinds) == 1 else "block")
        before, after = sum(row.before for row in same), sum(row.after for row in same)
        found.append(_Row(f"{same[0].place}–{same[-1].place}", kind, before, after, why, is_change))
    return found


def _row(receipts: Sequence[Receipt], *, has_several: bool, each_pass: bool) -> _Row:
    """What became of one block. Passes that left it alone matter only where none changed it.

    Of several passes a reason names its own, unless none changed the block and all say the same.
    """
    told = [receipt for receipt in receipts if receipt.is_change] or receipts
    first, last = told[0], told[-1]
    if not last.tokens_after:  # What was done before matters no more.
        told = [last]
    place = f"{first.message}.{first.block}" if first.block >= 0 else f"{first.message}"
    kind = first.kind.value.replace("_", " ") if first.kind else "message"
    operations = " + ".join(map(operation_label, dict.fromkeys(receipt.operation for receipt in told)))
    passes: dict[str, list[str]] = {}
    for receipt in told:
        ids = passes.setdefault(receipt_text(receipt), [])
        if receipt.pass_id not in ids:
            ids.append(receipt.pass_id)
    named = has_several and (each_pass or last.is_change or len(passes) > 1)
    reasons = (f"{why} ({', '.join(ids)})" if named else why for why, ids in passes.items())
    return _Row(
        place, kind, first.tokens_before, last.tokens_after, f"{operations}: {'; '.join(reasons)}", last.is_change
    )
