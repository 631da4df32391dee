"""`condense run` on one transcript: it is condensed, written, and told of."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from ...config.overrides import NO_OVERRIDES
from ...core.tokens import Counter, encoding_for
from ...passes.condensation import Condensation
from ...passes.explained import explained
from ...passes.flags import name_flags
from ...passes.modes.shortening import EXTRACT
from ...passes.receipts import NO_TARGET
from ...report.run import facts
from ...report.run.slimming import growth
from ...report.text.shares import percent
from ...report.text.visible import visible
from ..console import console, say, tell
from ..reading import name_of, read_transcript
from .destination import Delivery, Destination, Where, proposal
from .log import log_run
from .output import is_silent, tell_report
from .progress import progress_of
from .providing import say_error
from .report import cost_of_run, show_run, shows_money
from .summarizing import SummaryUse, summaries_for, summary_use
from .work import Output, Treatment, Worker, output_of, status_of_result

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ...errors import ExitStatus
    from ...providers.registry import Registry
    from .options import Showing


_MORE: Final = "--diff shows every change, --explain says why, --html FILE makes a page of them."
_LEAST: Final = 10
_MOST: Final = 90
"""Percent of the tokens: below, a target keeps little more than rules do, and above there is little to choose."""


class Ran(Struct, frozen=True):
    """A transcript after the run: what came of it, what was written, and what is told of the summaries."""

    file: str
    result: Condensation
    count: Counter
    output: Output
    written: Delivery
    told: SummaryUse


def run_one(file: str, treatment: Treatment, showing: Showing, to: Destination, registry: Registry) -> ExitStatus:
    """Condense the transcript, write it and report it. Raises CondenseError."""
    work = treatment.work
    # Calls of models have a line of their own.
    is_wanted = not (showing.quiet or showing.log_json or treatment.calls.profile or treatment.calls.allow_calls)
    with progress_of(file, is_wanted=is_wanted) as tell_pass:
        transcript = work.continuing(read_transcript(file, treatment.format, treatment.lenient))
        if treatment.to is None:
            to.check(transcript)
        count = Counter.of(transcript, work.configuration.counter)
        factor = None
        if work.count == "exact":
            from .counting import factor_for

            factor = factor_for(work.count, transcript, count, treatment.calls)
        with summaries_for(work.configuration, count, treatment.calls) as summaries:
            result = Worker(work, treatment.calls, summaries, registry, time.perf_counter)(
                transcript, count, factor, tell_pass
            )
    if work.overrides != NO_OVERRIDES or work.configuration.keep or work.configuration.cut:
        result = name_flags(result, work.overrides, work.configuration)
    output = output_of(result, treatment.to)
    written = to.write(output.data or b"", transcript)
    status = status_of_result(result, summaries, treatment)
    if not showing.log_json:  # Its line names the error.
        say_error(result)
    if is_silent(showing):
        if written.new_session is not None:  # For `claude --resume "$(condense run … --new-session -q)"`.
            tell(written.new_session.id)
        return status
    if showing.explain or showing.html is not None:
        result = explained(result, count)
    ran = Ran(file, result, count, output, written, summary_use(summaries))
    report = _report(ran, treatment, showing, to)
    if showing.html is not None:
        _write_page(showing.html, ran, report)
    tell_report(showing, report, lambda: _show(ran, report, showing, to))
    if showing.log_json or showing.verbose:
        log_run(result, report, work, status, as_json=showing.log_json)
    return status


def _is_cost_asked(ran: Ran, showing: Showing) -> bool:
    return showing.cost or showing.verbose or bool(ran.told.cost)


def _report(ran: Ran, treatment: Treatment, showing: Showing, to: Destination) -> facts.Report:
    result, work, told = ran.result, treatment.work, ran.told
    is_cost_wanted = _is_cost_asked(ran, showing) or showing.json
    is_cost_wanted |= showing.report is not None or showing.html is not None
    is_cost_wanted |= not showing.quiet and shows_money(result, to)
    cost = cost_of_run(result, ran.count, work.overhead_tokens, told.cost) if is_cost_wanted else None
    return facts.build(
        result,
        count=ran.count,
        encoding=encoding_for(result.before.model, ran.count.counter),
        source=name_of(ran.file),
        output=ran.written.output,
        configuration=treatment.name,
        size_after=None if ran.output.data is None else len(ran.output.data),
        explain=showing.explain,
        cost=cost,
        slim=work.slim,
        overhead_tokens=work.overhead_tokens,
        summaries=told.used,
        backup=ran.written.backup,
        new_session=ran.written.new_session,
        warnings=tuple(_warnings(ran, is_converted=treatment.to is not None)),
    )


def _write_page(path: Path, ran: Ran, report: facts.Report) -> None:
    """Write the page of the run. Raises OutputError."""
    from ...report.page.run import run_page
    from ...storage.files import write_bytes

    write_bytes(path, run_page(ran.result, report, ran.count).encode())


def _warnings(ran: Ran, *, is_converted: bool) -> Iterator[str]:
    """What there is to warn of besides what the passes did."""
    yield from ran.output.warnings
    if ran.output.data is not None and not is_converted and ran.result.transcript.has_new_summary:
        yield from growth(ran.result.transcript, len(ran.output.data))
    yield from ran.written.warnings
    yield from ran.told.warnings
    if ran.result.error is not None:
        yield str(ran.result.error)


def _show(ran: Ran, report: facts.Report, showing: Showing, to: Destination) -> None:
    """The report for people, and what to do next where nothing was written."""
    result = ran.result
    if not result.is_needed and not showing.log_json:
        for warning in report.warnings:
            say(f"condense: {warning}")
        return
    is_cost_asked = _is_cost_asked(ran, showing)
    show_run(result, report, ran.count, to, showing, is_cost_asked)
    for line in ran.written.said:
        tell(line)
    if showing.html is not None:
        (say if to.writes_stdout else tell)(f"Page: {visible(str(showing.html))}")
    if to.where is Where.NOWHERE and not to.dry_run and result.transcript.is_changed:
        how = proposal(ran.file, result.before.format, is_writable=ran.output.data is not None)
        more = () if showing.diff or showing.explain or showing.verbose else (_MORE,)
        for line in (how, *more, *_better(result)):
            console().print(line, style="dim", soft_wrap=True)


def _better(result: Condensation) -> Iterator[str]:
    """What keeps more in as many tokens: passes that pick lines for a target, where there was none."""
    share = round(percent(result.tokens_after, result.tokens_before))
    is_picked = any(receipt.operation == EXTRACT for receipt in result.changes)
    if not is_picked and any(receipt.reason == NO_TARGET for receipt in result.passes) and _LEAST <= share <= _MOST:
        yield f"Tip: --target-percent {share} usually keeps more useful content at this size."
