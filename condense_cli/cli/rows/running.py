"""What `condense run` shows of a set of rows, and the status it ends with."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from msgspec import UNSET, UnsetType

from ...core.wording import plural
from ...delivering import Destination
from ...errors import ExitStatus
from ...report.run.summaries import sentences
from ...rows import facts
from ...storage.processes import usable_processors
from ..console import console, print_lines, say
from ..reading import name_of
from ..running.one import write_report
from ..running.work import Treatment, without_effect
from .condensing import RowsOutcome, RowsTask, check_destination, condense_rows, output_of

if TYPE_CHECKING:
    from ...rows.facts import FileResult, Problem, Tally
    from ...rows.reading import RowKind
    from ..running.options import RunOptions, Showing

_SHOWN: Final = 5
"""Bad rows that are named one by one on the terminal."""


def run_rows(file: str, kind: RowKind, treatment: Treatment, options: RunOptions, to: Destination) -> ExitStatus:
    """Condense the rows of a file in so many processes, write and report them. Raises CondenseError.

    Bad rows are passed through, and the status says so unless the user was lenient.
    """
    check_destination(to)
    showing = options.showing
    task = RowsTask(file, kind, treatment, to.writes_anything)
    output, replaced = output_of(to), to.replaced
    started = time.perf_counter()
    with progress_of(file) as progress:
        outcome = condense_rows(task, output, options.writing.jobs or usable_processors(), progress)
    bad = [*bad_rows(outcome.tally.problems, outcome.tally.bad, name_of(file))]
    if not showing.is_silent:
        place = to.output if output is not None else None
        report = report_of(name_of(file), place, treatment, outcome, is_written=to.writes_anything)
        write_report(showing, report)
        if not (showing.json or showing.quiet):
            lines = lines_of(report, outcome.tally, time.perf_counter() - started, showing)
            _show(report, lines, bad, to, replaced)
    status = status_of_rows(outcome, treatment)
    if status and (showing.quiet or showing.json):  # Nothing else tells the reason on standard error.
        for line in _why(status, outcome, bad):
            say(f"condense: {line}")
    return status


def _why(status: ExitStatus, outcome: RowsOutcome, bad: Sequence[str]) -> Sequence[str]:
    """Why the status of a run on rows is not 0."""
    match status:
        case ExitStatus.CALLS_FAILED:
            return ("Not every summary could be written.", *outcome.told.warnings)
        case ExitStatus.TARGET_MISSED:
            return (f"{plural(outcome.tally.missed, 'row')} did not reach the target.",)
        case _:
            return bad


def status_of_rows(outcome: RowsOutcome, treatment: Treatment) -> ExitStatus:
    tally = outcome.tally
    if outcome.status is not ExitStatus.DONE:
        return outcome.status
    if tally.bad and not treatment.lenient:
        return ExitStatus.INPUT
    return ExitStatus.TARGET_MISSED if treatment.strict and tally.missed else ExitStatus.DONE


def report_of(
    source: str,
    output: str | None,
    treatment: Treatment,
    outcome: RowsOutcome,
    *,
    is_written: bool,
    results: Sequence[FileResult] | UnsetType = UNSET,
) -> facts.SetReport:
    """The report on a set of rows, or on the files that `results` tell of."""
    from datetime import UTC, datetime

    return facts.build(
        outcome.tally,
        source=source,
        output=output,
        configuration=treatment.name,
        is_written=is_written,
        now=datetime.now(UTC),
        counter=treatment.work.configuration.counter,
        count=treatment.work.count,
        spent=outcome.told.cost,
        summaries=outcome.told.used,
        warnings=(*outcome.told.warnings, *without_effect(treatment.calls, outcome.told)),
        results=results,
    )


def lines_of(report: facts.SetReport, tally: Tally, seconds: float, showing: Showing) -> list[str]:
    """What is said of all rows or files together, the first line above all; more where it was asked for."""
    lines = [facts.headline(report), facts.sizes(report), *facts.money(report), *sentences(report.summaries)]
    if showing.cost or showing.verbose:
        lines += facts.prices_of(report)
    return [*lines, *(facts.details(report, tally, seconds) if showing.verbose else ())]


def _show(report: facts.SetReport, lines: Sequence[str], bad: Sequence[str], to: Destination, replaced: str) -> None:
    if to.writes_stdout:
        for line in [lines[0], *lines[2:], *bad, *(f"warning: {each}" for each in report.warnings)]:
            say(f"condense: {line}")
        return
    print_set(report, lines, bad)
    if report.output is not None:
        print_lines([f"Written: {report.output}{replaced}"], "bold")
    elif not to.dry_run:
        print_lines(["Nothing was written; add -o FILE to write the condensed rows."], "dim")


def print_set(report: facts.SetReport, lines: Sequence[str], bad: Iterable[str]) -> None:
    print_lines(lines[:1], "bold")
    print_lines(lines[1:])
    print_lines(bad, "red")
    print_lines((f"Warning: {warning}" for warning in report.warnings), "yellow")


def bad_rows(problems: Sequence[Problem], bad: int, name: str) -> Iterator[str]:
    """A line for each of the first bad rows, of which there are so many."""
    shown = problems[:_SHOWN]
    for problem in shown:
        yield f"{name}:{problem.line}: {problem.why}"
    if bad > len(shown):
        yield f"… and {plural(bad - len(shown), 'more bad row')}"


@contextmanager
def progress_of(file: str) -> Iterator[Callable[[Tally], None]]:
    """One line about rows on the terminal while they are worked on, if messages go to one."""
    if not sys.stderr.isatty():
        yield lambda tally: None
        return
    from rich.status import Status

    size = os.path.getsize(file) if os.path.isfile(file) else 0
    status = Status("Reading rows", console=console(stderr=True))

    def show(tally: Tally) -> None:
        share = f", {100 * tally.bytes_before / size:.0f}%" if 0 < tally.bytes_before <= size else ""
        status.update(f"{plural(tally.rows, 'row')}{share}: {tally.tokens_before:,} → {tally.tokens_after:,} tokens")

    with status:
        yield show
