"""Declare the parts of the report of a run, for the terminal and the page."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from ...core.transcript import Transcript
from ...core.wording import plural
from ...formats import format_named
from ...passes.decisions import REFER
from ...passes.receipts import NOTE, PRELUDE, SWITCHED_OFF, THINKING
from ...passes.summaries import OFFLINE
from ..costs import cost_figures, digits, dollars, unknown_price
from ..counted import briefly_counted, how_counted
from ..sections import BLANK, Part, Sentence, Table
from ..text import operation_label
from .facts import LostReport, Report, Saving, Slim, Summarized
from .shortcomings import NOTHING_MORE

if TYPE_CHECKING:
    from ...llm.summarizer import ProfileUse, Summaries


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
    """Say that the file grew: the client keeps the messages that a new summary replaces."""
    before = len(after.source.data)
    form = format_named(after.format)
    if size <= before or form.compaction is None:
        return []
    hint = "; --slim removes what only the client displays" if form.shown and not after.slimmed else ""
    said = f"The file grows from {before:,} to {size:,} bytes, because the client keeps what a summary replaces"
    return [f"{said}{hint}."]


def kinds_text(slim: Slim) -> str:
    return ", ".join(f"{kind.bytes:,} {_NAMES[kind.name]}" for kind in slim.kinds)


def slim_line(report: Report, unit: str = "bytes") -> str:
    """Say the effect on the file apart from that on the context."""
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


def summarized(summaries: Summaries) -> list[Summarized]:
    return [
        one_summarized(used, is_planned=summaries.is_planned and used.profile != OFFLINE) for used in summaries.used
    ]


def one_summarized(used: ProfileUse, *, is_planned: bool = False) -> Summarized:
    """Return the facts of one profile."""
    return Summarized(
        used.profile,
        used.model or None,
        used.written,
        used.cached,
        used.refused,
        used.spent.calls,
        used.spent.tokens,
        digits(used.spent.cost) if used.spent.cost or not used.spent.unknown else None,
        used.spent.unknown > 0,
        is_planned,
    )


def known_cost(used: Sequence[Summarized]) -> Decimal:
    """Add up the known dollars of the calls."""
    return sum((each.cost for each in used if each.cost is not None), Decimal(0))


def sentences(used: Sequence[Summarized]) -> Iterator[str]:
    """Say what each profile wrote, in a line. The offline summarizer, which costs nothing, is left out."""
    for each in used:
        if each.profile == OFFLINE:
            continue
        cached = f" ({each.cached} from the cache)" if each.cached else ""
        bound = "about " if each.planned else "at least " if each.at_least else ""
        cost = "at an unknown cost" if each.cost is None else f"{bound}{dollars(each.cost)}"
        verb = "would be written" if each.planned else "written"
        yield (
            f"{plural(each.written, 'summary', 'summaries')} {verb} by {each.profile}{cached}: "
            f"{plural(each.calls, 'call')}, {each.tokens:,} tokens, {cost}."
        )


def kinds_of_saving(report: Report) -> Iterator[Sentence]:
    """Say how the saving adds up: cuts by kind of content, references, and the cost of summaries."""
    cut: Tally[str] = Tally()
    for saving in report.savings:
        if saving.operation != operation_label(REFER):
            cut[saving.content] += saving.tokens
    said = [f"{_CONTENTS.get(content, content)} {tokens:,}" for content, tokens in cut.most_common() if tokens > 0]
    cuts = [f"Cut: {', '.join(said)}"] if said else []
    noted = sum(
        saving.blocks
        for saving in report.savings
        if (saving.operation, saving.content) == (operation_label(NOTE), "tool parameters")
    )
    takes = {"notes": f"notes on {plural(noted, 'call')} take"}
    summaries = [f"{takes.get(content, 'summaries take')} {-tokens:,}" for content, tokens in cut.items() if tokens < 0]
    by_references = report.tokens.lossless_saved
    if by_references > 0:
        undo = "" if said else f"; condense restore undoes all {report.references.resolved:,}"
        references = [f"references save {by_references:,}{undo}"]
    else:
        references = [f"references written out again: {-by_references:,} more"] if by_references else []
    line = "; ".join([*cuts, *summaries, *references])
    if line:
        yield Sentence(f"{line[0].upper()}{line[1:]}.")


_CONTENTS: Final = {"message text": "text", "tool parameters": "parameters"}


BRIEFLY: Final = 5
"""So many lost things are listed where nobody asks for more."""


_THINGS: Final = {"words": "your words"}


def lost_things(lost: LostReport | None, most: int | None = None) -> Iterator[Part]:
    """List what nothing says any more, the most valuable first, and say what lists more of it."""
    if lost is None or not lost.things:
        return
    things = lost.things[:most]
    more = "--explain lists more" if len(things) < len(lost.things) else "condense diff --all-lines lists all"
    of_all = f", {len(things):,} of {lost.total:,} ({more})" if len(things) < lost.total else ""
    yield Sentence(f"No longer said{of_all}:")
    rows = [[_THINGS.get(thing.kind, thing.kind), thing.text, f"message {thing.message}"] for thing in things]
    yield Table(("", "", ""), rows, (2,), flexible=1, title="No longer said", styles=["dim"] * len(rows))


def details(report: Report, unit: str) -> Iterator[Part]:
    """Yield the sizes, the saving of each operation, and the passes."""
    yield BLANK
    yield sizes_table(report, unit)
    if report.savings:
        yield BLANK
        yield savings_table(report.savings)
    yield BLANK
    passes = passes_table(report)
    if passes.rows:
        yield passes
    yield from idle_passes(report)


def failed(report: Report) -> Iterator[Sentence]:
    for entry in report.passes:
        if entry.status == "failed":
            yield Sentence(f"Failed: {entry.name} ({entry.reason}).", "red")


def sizes_table(report: Report, unit: str) -> Table:
    pairs = [
        ("tokens", report.tokens.before, report.tokens.after),
        ("messages", report.messages.before, report.messages.after),
    ]
    if report.bytes.after is not None:
        pairs.append((unit, report.bytes.before, report.bytes.after))
    rows = [[name, f"{before:,}", f"{after:,}", f"{before - after:,}"] for name, before, after in pairs]
    return Table(("", "before", "after", "saved"), rows, (1, 2, 3), title="Sizes")


def savings_table(savings: list[Saving]) -> Table:
    rows = [[entry.content, entry.operation, f"{entry.blocks:,}", f"{entry.tokens:,}"] for entry in savings]
    return Table(("changed", "how", "blocks", "tokens saved"), rows, (2, 3), title="Saved on")


def passes_table(report: Report) -> Table:
    """Return a row for each pass that ran."""
    ran = [entry for entry in report.passes if entry.status == "completed" and entry.reason != SWITCHED_OFF]
    rows = [
        [entry.name, f"{entry.tokens_after:,}", f"{entry.changes:,}", f"{entry.seconds * 1000:.0f} ms"] for entry in ran
    ]
    styles = ["dim" if entry.id == PRELUDE and not entry.changes else "" for entry in ran]
    return Table(("pass", "tokens after", "changes", "time"), rows, (1, 2, 3), title="Passes", styles=styles)


def idle_passes(report: Report) -> Iterator[Sentence]:
    """Yield a sentence for the passes that did not run for the same reason."""
    idle: dict[tuple[str, str], list[str]] = {}
    for entry in report.passes:
        if entry.status != "completed" and entry.reason != SWITCHED_OFF:
            idle.setdefault((entry.status, entry.reason), []).append(entry.name)
    for (status, reason), names in idle.items():
        style = "red" if status == "failed" else "dim"
        yield Sentence(f"{status.capitalize()}: {', '.join(names)} ({reason}).", style)


def costs(report: Report, is_asked: bool) -> Iterator[Part]:
    said = [*sentences(report.summaries)]
    is_known = report.cost.next_turn_before is not None
    figures = cost_figures(report.cost, report.model, is_changed=bool(report.tokens.saved))
    for sentence in said:
        yield Sentence(sentence)
    if not figures and report.model is None and report.tokens.saved:  # Then the prices were not even loaded.
        figures = unknown_price(None)
    if figures:
        yield Sentence(figures, "bold" if is_known else "dim")
    if is_asked and is_known:
        yield Sentence(" ".join([f"Prices: {report.cost.prices}.", *report.cost.assumed]), "dim")


def notes(report: Report, *, said_before: str = "", is_cost_asked: bool = True) -> Iterator[Part]:
    tokens = report.tokens
    if is_cost_asked:
        said = " ".join(how_counted(report))
    else:
        said = briefly_counted(report.model, tokens.counting, exact=tokens.exact)
    yield Sentence(f"{report.format}, {report.configuration}{_towards_target(report)}. {said}", "dim")
    if not tokens.saved and not report.warnings:
        what = "Nothing in the context" if report.slim and report.slim.bytes else "Nothing"
        yield Sentence(f"{what} was changed: no pass ran.", "bold")
    for warning in report.warnings:
        if warning == NOTHING_MORE:
            yield Sentence(warning, "bold")
        elif warning != said_before:
            yield Sentence(f"Warning: {warning}", "yellow")


def _towards_target(report: Report) -> str:
    """Name the passes that worked towards the target; nothing without one."""
    if report.tokens.target is None:
        return ""
    names = [one.name for one in report.passes if one.changes and one.id not in (PRELUDE, THINKING)]
    return f"; to the target by: {', then '.join(names)}" if names else ""
