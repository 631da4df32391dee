"""Render the report of a run, of a diff, and why each text stayed or went, with colours by Rich."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from textwrap import wrap
from typing import Final

from msgspec import Struct
from rich.cells import cell_len
from rich.console import RenderableType
from rich.text import Text

from ...core.values import BlockKind
from ...core.wording import plural, shortened, visible
from ...passes.condensation import Condensation
from ...passes.explained import explained
from ...passes.receipts import Receipt
from ...tokens.counting import Counter
from ...tokens.factor import Factor
from ..difference import BlockDiff, Diff, What, of_run
from ..sections import BLANK, Part, Sentence, Table
from ..text import change_text, lines_text, main_reason, operation_label, percent_text, receipt_text
from . import sections
from .expected import expected_line
from .facts import Counting, Report
from .sections import slim_line
from .shortcomings import within_target

_BAR = 40
_SHOWN_NEW = 12
"""A cut leaves a few new lines, a summary many."""
_WHAT_STYLE = {
    What.CUT: "yellow",
    What.REMOVED: "red",
    What.SUMMARIZED: "blue",
    What.REFERENCED: "magenta",
    What.CHANGED: "cyan",
    What.ADDED: "green",
}


def render_run(
    result: Condensation,
    report: Report,
    count: Counter,
    width: int,
    *,
    verbose: bool = False,
    diff: bool = False,
    explain: bool = False,
    is_cost_asked: bool = False,
    unit: str = "bytes",
) -> Iterator[Part | RenderableType]:
    """Yield the report of a run: the answer in about fifteen lines, with the largest cuts, and then the details.

    `diff` shows every cut in place of the largest, `explain` why each block was changed or kept, `verbose` the sizes,
    the passes and the assumptions. Sizes are in `unit`.
    """
    if result.was_within_target and not report.slim and not explain:
        yield Sentence(within_target(result), "bold")
        yield from sections.notes(report, said_before=within_target(result))
        return
    is_whole = diff or verbose
    yield _headline(report, width)
    yield from sections.kinds_of_saving(report)
    difference = of_run(result, count)
    if difference.blocks and not (is_whole or explain):
        shown = largest(difference, result, count)
        yield from render_largest(shown, result, width)
    most = None if explain or verbose else sections.BRIEFLY
    yield from sections.lost_things(report.lost, most)
    yield BLANK
    yield from sections.costs(report, is_cost_asked)
    if report.expected:
        yield Sentence(expected_line(report.expected, is_whole=is_cost_asked), "dim")
    if report.slim:
        yield BLANK
        yield Sentence(slim_line(report, unit), "dim")
    if verbose:
        yield from sections.details(report, unit)
    else:
        yield from sections.failed(report)
    yield from sections.notes(report, is_cost_asked=is_cost_asked)
    if explain and result.receipts:
        yield BLANK
        yield receipts_table(result.receipts, result.factor, each_pass=verbose)
    if is_whole and difference.blocks:
        yield BLANK
        yield from render_blocks([*difference.blocks], None, width)


def _headline(report: Report, width: int) -> Text:
    tokens = report.tokens
    text = Text()
    text.append(f"{tokens.before:,} → {tokens.after:,} tokens", style="bold")
    less = f"{percent_text(tokens.saved_percent)} saved" if tokens.saved else "nothing saved"
    text.append(", ").append(less, style="bold green" if tokens.saved else "bold").append("  ")
    bar = min(_BAR, width - text.cell_len)
    left = round(bar * tokens.after / tokens.before) if tokens.before else bar
    return text.append("█" * left, style="cyan").append("░" * (bar - left), style="dim")


def render_diff_line(diff: Diff) -> Text:
    """Return the sizes and differences of a diff in one line."""
    counts = [f"{diff.count(what):,} {what.value}" for what in What if diff.count(what)]
    text = Text()
    word = Counting.of(diff.factor).word(exact=diff.exact)
    if not diff.blocks:
        known = f" ({word})" if word else ""
        messages = plural(diff.messages_before, "message")
        return text.append(f"No difference in {messages}, {diff.tokens_before:,} tokens{known}.")
    what = change_text(diff.tokens_before, diff.tokens_after)
    known = f", {word}" if word else ""
    text.append(f"{diff.tokens_before:,} → {diff.tokens_after:,} tokens ({what}{known})", style="bold")
    text.append(
        f"   {diff.messages_changed:,} of {plural(diff.messages_before, 'message')} "
        f"{'differs' if diff.messages_changed == 1 else 'differ'}; blocks: {', '.join(counts)}"
    )
    return text


def render_blocks(blocks: list[BlockDiff], lines: int | None, width: int) -> Iterator[RenderableType]:
    """Yield a heading and the lines of each block that differs. `lines` limits the shown lines of each run."""
    for block in blocks:
        yield _block_heading(block, width)
        if block.said:
            yield _wrapped(f"    ({block.said})", width, "dim italic")
        yield Text("\n").join([*_hunk_lines(block, lines, width), Text()])


def _block_heading(block: BlockDiff, width: int) -> Text:
    text = Text()
    text.append(f"message {block.message}", style="bold")
    text.append(f"  {block.what.value}", style=f"bold {_WHAT_STYLE[block.what]}")
    text.append(f"  {sizes_of(block)}", style="bold")
    text.append(f"  {block.kind_label}  ", style="dim")
    text.append(shortened(visible(block.label), width - text.cell_len))
    return text


def _hunk_lines(block: BlockDiff, limit: int | None, width: int) -> Iterator[Text]:
    for hunk in block.hunks():
        shown = hunk.lines if limit is None else hunk.lines[: {" ": 1, "-": limit}.get(hunk.sign, _SHOWN_NEW)]
        style = {"-": "red", "+": "green"}.get(hunk.sign, "dim")
        for line in shown:
            line = visible(line if limit is None else line[: 2 * width]).expandtabs(4)
            text = Text(f"  {hunk.sign} {line}", style=style)
            if limit is not None:
                text.truncate(width, overflow="ellipsis")
            yield text
        hidden, reasons = len(hunk.lines) - len(shown), block.why(hunk)
        if hidden or reasons:
            more = plural(hidden, "more line") if hidden else ""
            # Several reasons are counted, those of the lines above too.
            whole = f"; of all {len(hunk.lines):,}" if shown and len({why.reason for why in reasons}) > 1 else ""
            why = f"{whole}: {lines_text(reasons)}" if more and reasons else lines_text(reasons)
            said = f"  {hunk.sign} … {more}{why}"
            yield _wrapped(said, width, f"{style} italic")


def _wrapped(text: str, width: int, style: str) -> Text:
    """Wrap a text of ours to the width, with a hanging indent."""
    return Text("\n".join(wrap(visible(text), width, subsequent_indent=" " * 6)), style=style)


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
