"""Explain why each block was changed or kept, and show the largest cuts of a run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final

from msgspec import Struct
from rich.cells import cell_len
from rich.text import Text

from ...core.factor import Factor
from ...core.tokens import Counter
from ...core.values import BlockKind
from ...core.wording import plural, shortened, visible
from ...passes.condensation import Condensation
from ...passes.explained import explained
from ...passes.receipts import Receipt
from ..difference import BlockDiff, Diff, of_run
from ..sections import Table
from ..text import main_reason, operation_label, receipt_text

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


def receipts_table(receipts: Iterable[Receipt], factor: Factor, *, each_pass: bool = False) -> Table:
    """Return a row for each block, then for whole messages; with `each_pass` one for every pass that looked at it."""
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
    return Table(("block", "", "tokens", "what and why"), cells, (2,), flexible=3, wraps=True, styles=styles)


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
    """Return the row of one block. Passes that left it alone matter only if none changed it.

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


SHOWN: Final = 3
_LEAST_SHOWN: Final = 24
"""Characters of the line that went; the reason gets what it needs of the rest."""
_RULE: Final = re.compile(r"([=_*#~-])\1{3,}")
"""A rule across the page, as around the headings of test runs."""
_INSIDE: Final = "parts of a long line"


def largest(diff: Diff, result: Condensation, count: Counter) -> list[BlockDiff]:
    """Return the blocks with the largest savings, in the order of the conversation, with the reasons of their lines."""
    chosen = sorted(diff.blocks, key=lambda block: block.tokens_after - block.tokens_before)[:SHOWN]
    chosen = [block for block in chosen if block.tokens_after < block.tokens_before]
    cut = {id(block.old) for block in chosen}
    places = {
        (message.index, number)
        for message in result.before.messages
        for number, block in enumerate(message.blocks)
        if id(block) in cut
    }
    told = of_run(explained(result, count, places), count)
    by_block = {id(block.old): block for block in told.blocks}
    return sorted((by_block[id(block.old)] for block in chosen), key=lambda block: block.message)


def render_largest(blocks: Sequence[BlockDiff], result: Condensation, width: int) -> Iterator[Text]:
    """Yield two lines for each block: its label, and the text that was cut."""
    numbers = {
        id(block): f"{message.index}.{number}"
        for message in result.before.messages
        for number, block in enumerate(message.blocks)
    }
    for block in blocks:
        yield _heading(block, numbers.get(id(block.old), f"{block.message}"), width)
        yield _line(block, width)


def sizes_of(block: BlockDiff) -> str:
    """Return tokens before and after; those of a block in a summary are counted with the summary."""
    return f"{block.tokens_before:,} → {'summary' if block.has_moved else f'{block.tokens_after:,}'}"


def _heading(block: BlockDiff, number: str, width: int) -> Text:
    tokens = f"  {sizes_of(block)}"
    is_call = block.kind is BlockKind.TOOL_CALL
    kind = " (parameters)" if is_call else ""
    name = visible(block.label or block.kind_label)
    text = Text(f"{number}  ", style="bold")
    room = width - text.cell_len - cell_len(tokens) - len(kind)
    label = Text(shortened(name, room), style="not bold")
    label.truncate(room, overflow="ellipsis")
    text.append_text(label).append(kind, style="not bold dim")
    text.pad_right(max(0, width - cell_len(tokens) - text.cell_len))
    return text.append(tokens)


def _is_telling(line: str) -> bool:
    """Whether a line is words rather than brackets and numbers."""
    return 2 * sum(map(str.isalpha, line)) > len(line)


def _line(block: BlockDiff, width: int) -> Text:
    """Return the first meaningful line that was cut, the number of others, and the reason."""
    gone = [hunk for hunk in block.hunks() if hunk.sign == "-"]
    lines = [line for hunk in gone for line in hunk.lines]
    plain = [" ".join(_RULE.sub("", line).split()) for line in lines]
    first = next(filter(_is_telling, plain), "") or next(filter(None, plain), "")
    first = first or (block.old.api_type if block.old else "")
    if not lines and block.moved_lines:
        return Text(f"  all {plural(block.moved_lines, 'line')} of it in the summary"[:width], style="dim")
    text = Text("  - ", style="red")
    text.append(visible(first))
    why = main_reason(why for hunk in gone for why in block.why(hunk))
    if not why and not block.has_moved:
        # Reasons are of whole lines; of this one a part stayed.
        why = block.reason.partition(", to reach")[0].rpartition(": ")[2] or _INSIDE
    more = f"{len(lines) - 1:,} more" if len(lines) > 1 else ""
    in_summary = f"{plural(block.moved_lines, 'line')} in the summary" if block.moved_lines else ""
    said = visible("; ".join(filter(None, (": ".join(filter(None, (more, why))), in_summary))))
    if said:
        text.truncate(max(_LEAST_SHOWN, width - cell_len(said) - 3), overflow="ellipsis")
        text.append(f" … {said}", style="dim")
    text.truncate(width, overflow="ellipsis")
    return text
