"""What `condense run` says of one transcript: the report on a terminal, or a few lines beside the data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..console import console, print_paged, say

if TYPE_CHECKING:
    from decimal import Decimal

    from ...core.tokens import Counter
    from ...passes.condensation import Condensation
    from ...report.run.facts import Cost, Report
    from .destination import Destination
    from .options import Showing


def cost_of_run(result: Condensation, counter: Counter, overhead_tokens: int | None, summaries: Decimal) -> Cost:
    """What the run means in money. Only where it is shown: the prices take longer to load than a small run takes."""
    from datetime import UTC, datetime

    from ...report.costs.facts import PriceSource, cost_of
    from ...report.costs.usage import overhead_of

    overhead, _ = overhead_of(result.before, counter, result.factor, overhead_tokens)
    return cost_of(result, counter, overhead, PriceSource.of(result.before.model, datetime.now(UTC)), summaries)


def shows_money(result: Condensation, to: Destination) -> bool:
    """Whether the report says what the run means in money though nobody asked: not where a script would wait for it."""
    is_smaller = result.tokens_after < result.tokens_before
    return to.reports_to_terminal and is_smaller and result.before.model is not None


def show_run(
    result: Condensation,
    report: Report,
    counter: Counter,
    to: Destination,
    showing: Showing,
    is_cost_asked: bool,
) -> None:
    """All of it on a terminal, a line on standard error in a script, where --log-json wants that for itself."""
    verbose, explain, diff = showing.verbose, showing.explain, showing.diff
    is_brief = to.is_in_a_script and not (verbose or explain or diff)
    if showing.log_json and (is_brief or to.writes_stdout):
        return
    unit = unit_of(report)
    if is_brief:
        from ...report.run.facts import summary

        say(f"condense: {summary(report)}")
        if report.slim:
            from ...report.run.slimming import slim_line

            say(f"condense: {slim_line(report, report.slim, unit)}")
        if report.summaries:
            from ...report.run.summaries import sentences

            for sentence in sentences(report.summaries):
                say(f"condense: {sentence}")
        if report.cost.prices is not None:
            from ...report.costs.text import cost_figures

            say(f"condense: {cost_figures(report.cost, report.model, is_changed=bool(report.tokens.saved))}")
        for warning in report.warnings:
            say(f"condense: warning: {warning}")
        return
    from ...report.run import terminal

    width = console(stderr=to.writes_stdout).width
    shown = terminal.render_run(
        result,
        report,
        counter,
        width,
        verbose=verbose,
        diff=diff,
        explain=explain,
        is_cost_asked=is_cost_asked,
        unit=unit,
    )
    print_paged(shown, stderr=to.writes_stdout)


def unit_of(report: Report) -> str:
    """What the sizes of the report are in. Those of a compressed file are not its size on disk, and are called so."""
    from ...storage.compressed import suffix_of

    is_packed = suffix_of(report.input) or suffix_of(report.output or "")
    return "unpacked bytes" if is_packed else "bytes"
