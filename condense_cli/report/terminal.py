"""The report of a run, and of a diff, for people: tables and colours by Rich."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ..passes.receipts import Receipt
from .diff import BlockDiff, Diff, What
from .facts import Report

_BAR = 40
_STATUS_STYLE = {"completed": "green", "skipped": "yellow", "failed": "red"}
_WHAT_STYLE = {
    What.CUT: "yellow",
    What.SUPPRESSED: "red",
    What.CHANGED: "cyan",
    What.REMOVED: "red",
    What.ADDED: "green",
}


def render_report(
    report: Report, contents: list[tuple[str, str, int, int]], *, verbose: bool = False
) -> RenderableType:
    """The whole report: sizes, what changed, the passes, warnings."""
    parts: list[RenderableType] = [_headline(report), "", _sizes(report)]
    if contents:
        parts += ["", _contents(contents)]
    parts += ["", _passes(report, verbose)]
    parts += [*_notes(report)]
    return Group(*parts)


def render_summary(report: Report) -> Text:
    """The report in one line, for standard error when the transcript goes to standard output."""
    tokens = report.tokens
    text = Text("condense: ", style="bold")
    text.append(
        f"{tokens.before:,} → {tokens.after:,} tokens ({_percent(tokens.saved_percent)} saved{_estimate(report)}), "
        f"{report.messages.before:,} → {report.messages.after:,} messages, {report.configuration}",
        style="default",
    )
    return text


def _percent(value: float) -> str:
    return f"{value:.1f} %"


def _estimate(report: Report) -> str:
    return "" if report.tokens.exact else ", estimated"


def _headline(report: Report) -> Text:
    tokens = report.tokens
    text = Text()
    text.append(f"{tokens.before:,} → {tokens.after:,} tokens", style="bold")
    text.append("   ")
    left = round(_BAR * tokens.after / tokens.before) if tokens.before else _BAR
    text.append("█" * left, style="cyan")
    text.append("░" * (_BAR - left), style="dim")
    text.append(f"   {_percent(tokens.saved_percent)} saved", style="bold green" if tokens.saved else "bold")
    return text


def _table(*columns: str, right: tuple[int, ...] = ()) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="dim", show_edge=False)
    for index, column in enumerate(columns):
        table.add_column(column, justify="right" if index in right else "left", overflow="fold")
    return table


def _sizes(report: Report) -> Table:
    table = _table("", "before", "after", "saved", right=(1, 2, 3))
    pairs = [
        ("tokens", report.tokens.before, report.tokens.after),
        ("messages", report.messages.before, report.messages.after),
        ("bytes", report.bytes.before, report.bytes.after),
    ]
    for name, before, after in pairs:
        table.add_row(name, f"{before:,}", f"{after:,}", f"{before - after:,}")
    return table


def _contents(contents: list[tuple[str, str, int, int]]) -> Table:
    table = _table("changed", "how", "blocks", "tokens saved", right=(2, 3))
    for content, operation, blocks, saved in contents:
        table.add_row(content, operation, f"{blocks:,}", f"{saved:,}")
    return table


def _passes(report: Report, verbose: bool) -> Table:
    table = _table("pass", "status", "tokens after", "changes", "", right=(2, 3))
    for entry in report.passes:
        note = Text(entry.reason, style="dim")
        if verbose and entry.status == "completed":
            note = Text(f"{entry.seconds * 1000:.0f} ms", style="dim")
        table.add_row(
            entry.name,
            Text(entry.status, style=_STATUS_STYLE.get(entry.status, "")),
            f"{entry.tokens_after:,}",
            f"{entry.changes:,}",
            note,
        )
    return table


def _notes(report: Report) -> Iterator[RenderableType]:
    tokens = report.tokens
    model = report.model or "model unknown"
    if tokens.exact:
        counted = f"Counted with {tokens.encoding}, exact for {model}."
    else:
        counted = f"Tokens are estimates for {model}, counted with {tokens.encoding}."
    if tokens.estimated.before:
        counted += f" {tokens.estimated.before:,} of them stand for images and encrypted thinking."
    if tokens.overhead:
        counted += f" Every request carries about {tokens.overhead:,} more (system prompt and tools)."
    yield ""
    yield Text(f"{report.input}: {report.format}, configuration {report.configuration}. {counted}", style="dim")
    if tokens.target is not None and tokens.after > tokens.target:
        yield Text(f"The target of {tokens.target:,} tokens was not reached.", style="bold yellow")
    for warning in report.warnings:
        yield Text(f"Warning: {warning}", style="yellow")


def render_diff_line(diff: Diff) -> Text:
    """What a diff found, in one line."""
    counts = [f"{diff.count(what):,} {what.value}" for what in What if diff.count(what)]
    saved = diff.tokens_before - diff.tokens_after
    percent = 100 * saved / diff.tokens_before if diff.tokens_before else 0.0
    text = Text()
    if not diff.blocks:
        return text.append(f"No difference in {diff.messages_before:,} messages, {diff.tokens_before:,} tokens.")
    text.append(f"{diff.tokens_before:,} → {diff.tokens_after:,} tokens ({percent:+.1f} % saved)", style="bold")
    text.append(
        f"   {diff.messages_changed:,} of {diff.messages_before:,} messages differ; blocks: {', '.join(counts)}"
    )
    return text


def render_blocks(blocks: list[BlockDiff], lines: int | None, width: int) -> Iterator[RenderableType]:
    """Each block that differs: a heading, then its lines. `lines` limits how many of each run are shown."""
    for block in blocks:
        yield _block_heading(block)
        yield Padding(Text("\n").join(_hunk_lines(block, lines, width - 4)), (0, 0, 1, 2))


def _block_heading(block: BlockDiff) -> Text:
    text = Text(no_wrap=True, overflow="ellipsis")
    text.append(f"#{block.message}", style="bold")
    text.append(f"  {block.what.value:<10}", style=f"bold {_WHAT_STYLE[block.what]}")
    text.append(f" {block.tokens_before:>6,} → {block.tokens_after:<6,}", style="bold")
    text.append(f" {block.role.value} {block.kind.value.replace('_', ' ')}  ", style="dim")
    text.append(block.label.replace("\n", " "))
    return text


def _hunk_lines(block: BlockDiff, limit: int | None, width: int) -> Iterator[Text]:
    for hunk in block.hunks():
        shown = hunk.lines if limit is None else hunk.lines[: 1 if hunk.sign == " " else limit]
        style = {"-": "red", "+": "green"}.get(hunk.sign, "dim")
        for line in shown:
            visible = line if limit is None else line[: width * 2].expandtabs(4)[: max(8, width)]
            yield Text(f"{hunk.sign} {visible}", style=style, no_wrap=limit is not None, overflow="ellipsis")
        hidden = len(hunk.lines) - len(shown)
        if hidden:
            yield Text(f"{hunk.sign} … {hidden:,} more line{'s' if hidden > 1 else ''}", style=f"{style} italic")


def render_receipts(receipts: Sequence[Receipt]) -> Iterator[RenderableType]:
    """Every block and pass with what was done to it and why."""
    table = _table("message", "block", "pass", "what", "tokens", "why", right=(0, 1, 4))
    for receipt in sorted(receipts, key=lambda receipt: (receipt.message, receipt.block)):
        what = receipt.operation if receipt.is_change else "kept"
        tokens = f"{receipt.tokens_before:,}"
        if receipt.is_change:
            tokens += f" → {receipt.tokens_after:,}"
        content = receipt.content_type or receipt.kind or "message"
        table.add_row(
            f"#{receipt.message}",
            str(receipt.block) if receipt.block >= 0 else "",
            receipt.pass_id,
            Text(f"{what} {content.replace('_', ' ')}", style="" if receipt.is_change else "dim"),
            tokens,
            Text(receipt.kept.value if receipt.kept else receipt.reason, style="dim"),
        )
    yield table
    yield ""
