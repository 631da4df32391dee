"""The report of a run, and of a diff, for people: tables and colours by Rich."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterable, Iterator, Sequence
from textwrap import wrap
from typing import Final

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from ...core.tokens import Counter
from ...core.transcript import Transcript
from ...core.wording import plural
from ...formats import format_named
from ...passes.condensation import Condensation
from ...passes.decisions import REFER
from ...passes.receipts import PRELUDE, SWITCHED_OFF, THINKING
from ...passes.summaries import OFFLINE
from ...quality.evaluation import KeptShare, expected_of
from ..costs.facts import cost_figures, unknown_price
from ..difference.facts import BlockDiff, Diff, What, of_run
from ..text.fitted_table import shortened
from ..text.labels import change_text, lines_text, operation_label, percent_text
from ..text.tokens import briefly_counted, how_counted
from ..text.visible import visible
from .explanation import largest, render_largest, render_receipts, sizes_of
from .facts import Counting, Report, Saving, Slim, Summarized
from .shortcomings import NOTHING_MORE, within_target
from .summaries import sentences

Ended = tuple[str, Condensation, Sequence[Summarized]]
"""The name of a run, what came of it, and who wrote its summaries."""


def loses(result: Condensation) -> bool:
    """Whether anything went that references do not bring back."""
    return any(change.operation != REFER for change in result.changes)


def expected_by_name(runs: Iterable[Ended], count: Counter) -> dict[str, KeptShare]:
    """Return what each run on one transcript is expected to keep, of those that lose anything.

    What a model says in a summary is in its own words, or not written yet: lines do not tell what is kept of it.
    """
    lossy = {
        name: result
        for name, result, summaries in runs
        if loses(result) and all(each.profile == OFFLINE or not each.written for each in summaries)
    }
    if not lossy:
        return {}
    before = next(iter(lossy.values())).before.messages
    return expected_of(before, {name: result.transcript.messages for name, result in lossy.items()}, count)


def expected_line(kept: KeptShare, *, is_whole: bool) -> str:
    """Say what is expected; `is_whole` tells facts and edit lines apart as well."""
    low, high = f"{kept.low:.0f}", f"{kept.high:.0f}"
    within = "" if low == high else f" (in 8 of 10 cases {low}–{high}%)"
    said = f"Expected to keep {kept.percent:.0f}% of what later work needs{within}"
    parts = [
        f"{share:.0f}% of the {what}"
        for share, what in ((kept.facts, "facts"), (kept.edits, "edit lines"))
        if share is not None
    ]
    return f"{said}: {' and '.join(parts)}." if is_whole and len(parts) == 2 else f"{said}."


_NAMES: Final = {
    "original_files": "files before an edit",
    "result_copies": "copies of results",
    "argument_copies": "copies of arguments",
    "image_copies": "copies of images",
    "todo_lists": "earlier todo lists",
    "progress": "progress of finished calls",
    "request_copies": "copies of requests",
}


def growth(after: Transcript, size: int) -> list[str]:
    """That the file of a conversation with a new summary grew, as clients keep what the summary stands for."""
    before = len(after.source.data)
    form = format_named(after.format)
    if size <= before or form.compaction is None:
        return []
    hint = "; --slim removes what only the client displays" if form.display and not after.slimmed else ""
    said = f"The file grows from {before:,} to {size:,} bytes, because the client keeps what a summary replaces"
    return [f"{said}{hint}."]


def kinds_text(slim: Slim) -> str:
    return ", ".join(f"{kind.bytes:,} {_NAMES[kind.name]}" for kind in slim.kinds)


def slim_line(report: Report, unit: str = "bytes") -> str:
    """What became of the file besides the context, so that nobody takes one for the other."""
    slim = report.slim
    if slim is None or not slim.bytes:
        return f"--slim: nothing in this {report.format} file is for display only."
    tokens = report.tokens
    context = "is unchanged" if not tokens.saved else "can be restored"
    lossless = f"The context {context}; what the client displays cannot be restored."
    return (
        f"--slim: the file goes from {report.bytes.before:,} to {report.bytes.after:,} {unit}, {slim.bytes:,} of that "
        f"without touching the context: {kinds_text(slim)}. "
        + (lossless if tokens.saved == tokens.lossless_saved else "What the client displays cannot be restored.")
    )


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
) -> Iterator[RenderableType]:
    """What a run shows: the answer in about fifteen lines, with the largest cuts; behind it what else was asked for.

    `diff` shows every cut in place of the largest, `explain` why each block was changed or kept, `verbose` the sizes,
    the passes and what the figures rest on. Sizes are in `unit`.
    """
    if result.was_within_target and not report.slim and not explain:
        yield Text(within_target(result), style="bold")
        yield from _notes(report, said_before=within_target(result))
        return
    is_whole = diff or verbose
    yield _headline(report, width)
    yield from _kinds_of_saving(report)
    difference = of_run(result, count)
    if difference.blocks and not (is_whole or explain):
        shown = largest(difference, result, count)
        yield from render_largest(shown, result, width)
    yield ""
    yield from _costs(report, is_cost_asked)
    if report.expected:
        yield Text(expected_line(report.expected, is_whole=is_cost_asked), style="dim")
    if report.slim:
        yield ""
        yield Text(slim_line(report, unit), style="dim")
    if verbose:
        yield from _details(report, unit)
    else:
        yield from _failed(report)
    yield from _notes(report, is_cost_asked=is_cost_asked)
    if explain and result.receipts:
        yield ""
        yield render_receipts(result.receipts, result.factor, width, each_pass=verbose)
    if is_whole and difference.blocks:
        yield ""
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


def _kinds_of_saving(report: Report) -> Iterator[Text]:
    """What was cut, by kind, and what references took the place of; a summary costs. It all adds up to the saving."""
    cut: Tally[str] = Tally()
    for saving in report.savings:
        if saving.operation != operation_label(REFER):
            cut[saving.content] += saving.tokens
    said = [f"{_CONTENTS.get(content, content)} {tokens:,}" for content, tokens in cut.most_common() if tokens > 0]
    cuts = [f"Cut: {', '.join(said)}"] if said else []
    summaries = [f"summaries take {-tokens:,}" for tokens in cut.values() if tokens < 0]
    by_references = report.tokens.lossless_saved
    if by_references > 0:
        undo = "" if said else f"; condense restore undoes all {report.references.resolved:,}"
        references = [f"references save {by_references:,}{undo}"]
    else:
        references = [f"references written out again: {-by_references:,} more"] if by_references else []
    line = "; ".join([*cuts, *summaries, *references])
    if line:
        yield Text(f"{line[0].upper()}{line[1:]}.")


_CONTENTS: Final = {"message text": "text", "tool parameters": "parameters"}


def _details(report: Report, unit: str) -> Iterator[RenderableType]:
    """Sizes, what each operation saved, and what each pass did."""
    yield ""
    yield _sizes(report, unit)
    if report.savings:
        yield ""
        yield _savings(report.savings)
    yield ""
    yield from _passes(report)


def _failed(report: Report) -> Iterator[Text]:
    for entry in report.passes:
        if entry.status == "failed":
            yield Text(visible(f"Failed: {entry.name} ({entry.reason})."), style="red")


def _table(*columns: str, right: tuple[int, ...] = ()) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="dim", show_edge=False)
    for index, column in enumerate(columns):
        table.add_column(column, justify="right" if index in right else "left", overflow="fold")
    return table


def _sizes(report: Report, unit: str) -> Table:
    table = _table("", "before", "after", "saved", right=(1, 2, 3))
    pairs = [
        ("tokens", report.tokens.before, report.tokens.after),
        ("messages", report.messages.before, report.messages.after),
    ]
    if report.bytes.after is not None:
        pairs.append((unit, report.bytes.before, report.bytes.after))
    for name, before, after in pairs:
        table.add_row(name, f"{before:,}", f"{after:,}", f"{before - after:,}")
    return table


def _savings(savings: list[Saving]) -> Table:
    table = _table("changed", "how", "blocks", "tokens saved", right=(2, 3))
    for entry in savings:
        table.add_row(entry.content, entry.operation, f"{entry.blocks:,}", f"{entry.tokens:,}")
    return table


def _passes(report: Report) -> Iterator[RenderableType]:
    """A row for each pass that ran, and a sentence for those that did not for the same reason."""
    table = _table("pass", "tokens after", "changes", "time", right=(1, 2, 3))
    idle: dict[tuple[str, str], list[str]] = {}
    for entry in report.passes:
        if entry.reason == SWITCHED_OFF:
            continue
        if entry.status != "completed":
            idle.setdefault((entry.status, entry.reason), []).append(entry.name)
            continue
        table.add_row(
            visible(entry.name),
            f"{entry.tokens_after:,}",
            f"{entry.changes:,}",
            f"{entry.seconds * 1000:.0f} ms",
            style="dim" if entry.id == PRELUDE and not entry.changes else "",
        )
    if table.row_count:
        yield table
    for (status, reason), names in idle.items():
        said = f"{status.capitalize()}: {', '.join(names)} ({reason})."
        yield Text(visible(said), style="red" if status == "failed" else "dim")


def _costs(report: Report, is_asked: bool) -> Iterator[RenderableType]:
    said = [*sentences(report.summaries)]
    is_known = report.cost.next_turn_before is not None
    figures = cost_figures(report.cost, report.model, is_changed=bool(report.tokens.saved))
    for sentence in said:
        yield Text(visible(sentence))
    if not figures and report.model is None and report.tokens.saved:  # Then the prices were not even loaded.
        figures = unknown_price(None)
    if figures:
        yield Text(visible(figures), style="bold" if is_known else "dim")
    if is_asked and is_known:
        yield Text(" ".join([f"Prices: {report.cost.prices}.", *report.cost.assumed]), style="dim")


def _notes(report: Report, *, said_before: str = "", is_cost_asked: bool = True) -> Iterator[RenderableType]:
    tokens = report.tokens
    if is_cost_asked:
        said = " ".join(how_counted(report))
    else:
        said = briefly_counted(report.model, tokens.counting, exact=tokens.exact)
    yield Text(visible(f"{report.format}, {report.configuration}{_towards_target(report)}. {said}"), style="dim")
    if not tokens.saved and not report.warnings:
        what = "Nothing in the context" if report.slim and report.slim.bytes else "Nothing"
        yield Text(f"{what} was changed: no pass ran.", style="bold")
    for warning in report.warnings:
        if warning == NOTHING_MORE:
            yield Text(warning, style="bold")
        elif warning != said_before:
            yield Text(visible(f"Warning: {warning}"), style="yellow")


def _towards_target(report: Report) -> str:
    """The passes that worked towards the target, by name; nothing without one."""
    if report.tokens.target is None:
        return ""
    names = [one.name for one in report.passes if one.changes and one.id not in (PRELUDE, THINKING)]
    return f"; to the target by: {', then '.join(names)}" if names else ""


def render_diff_line(diff: Diff) -> Text:
    """What a diff found, in one line."""
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
    """Each block that differs: a heading, then its lines. `lines` limits how many of each run are shown."""
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
    """A text of ours in lines of the width, those that follow further in."""
    return Text("\n".join(wrap(visible(text), width, subsequent_indent=" " * 6)), style=style)
