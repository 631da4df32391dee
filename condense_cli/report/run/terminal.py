"""Render the report of a run, and of a diff, with colours by Rich."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap

from rich.console import RenderableType
from rich.text import Text

from ...core.tokens import Counter
from ...core.wording import plural, shortened, visible
from ...passes.condensation import Condensation
from ..difference import BlockDiff, Diff, What, of_run
from ..sections import BLANK, Part, Sentence
from ..text import change_text, lines_text, percent_text
from . import sections
from .expected import expected_line
from .explanation import largest, receipts_table, render_largest, sizes_of
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
