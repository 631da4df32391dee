"""What `condense run` shows of a set of rows, and the status it ends with."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from ...core.plurals import plural
from ...delivering import Destination
from ...errors import ExitStatus
from ...report.run.summaries import sentences
from ...rows import facts
from ...storage.processes import usable_processors
from ..console import console, print_lines, print_warnings, say
from ..reading import name_of
from ..running.output import write_report
from ..running.work import Treatment
from .condensing import RowsOutcome, RowsTask, check_destination, condense_rows, output_of

if TYPE_CHECKING:
    from ...rows.row import RowKind
    from ...rows.tally import Problem, Tally
    from ..running.options import RunOptions

_SHOWN: Final = 5
"""Bad rows that are named one by one on the terminal."""


def run_rows(file: str, kind: RowKind, treatment: Treatment, options: RunOptions, to: Destination) -> ExitStatus:
    """Condense the rows of a file in so many processes, write and report them. Raises CondenseError.

    Bad rows are passed through, and the status says so unless the user was lenient.
    """
    check_destination(to)
    showing = options.showing
    task = RowsTask(file, kind, treatment, to.writes_anything)
    output = output_of(to)
    started = time.perf_counter()
    with progress_of(file) as progress:
        outcome = condense_rows(task, output, options.writing.jobs or usable_processors(), progress)
    if not showing.is_silent:
        report = report_of(task, outcome, to.output if output is not None else None, treatment.name)
        more = facts.details(outcome.tally, time.perf_counter() - started) if showing.verbose else []
        if showing.cost or showing.verbose:
            more = [*facts.prices_of(report), *more]
        write_report(showing, report)
        if not (showing.json or showing.quiet):
            _show(report, name_of(file), to, more)
    if showing.quiet and not treatment.lenient:  # They are why the status is not 0.
        for line in bad_rows(outcome.tally.problems, outcome.tally.bad, name_of(file)):
            say(f"condense: {line}")
    return status_of_rows(outcome, treatment)


def status_of_rows(outcome: RowsOutcome, treatment: Treatment) -> ExitStatus:
    tally = outcome.tally
    if outcome.status is not ExitStatus.DONE:
        return outcome.status
    if tally.bad and not treatment.lenient:
        return ExitStatus.INPUT
    return ExitStatus.TARGET_MISSED if treatment.strict and tally.missed else ExitStatus.DONE


def report_of(task: RowsTask, outcome: RowsOutcome, output: str | None, configuration: str) -> facts.RowsReport:
    from datetime import UTC, datetime

    return facts.build(
        outcome.tally,
        source=name_of(task.file),
        output=output,
        configuration=configuration,
        is_written=task.is_written,
        now=datetime.now(UTC),
        counter=task.treatment.work.configuration.counter,
        count=task.treatment.work.count,
        spent=outcome.told.cost,
        summaries=outcome.told.used,
        warnings=outcome.told.warnings,
    )


def _show(report: facts.RowsReport, name: str, to: Destination, more: Sequence[str]) -> None:
    lines = [facts.headline(report), facts.sizes(report), *facts.money(report), *sentences(report.summaries), *more]
    bad = list(bad_rows(report.problems, report.rows.bad, name))
    if to.writes_stdout:
        for line in [lines[0], *lines[2:], *bad, *(f"warning: {each}" for each in report.warnings)]:
            say(f"condense: {line}")
        return
    print_lines(lines[:1], "bold")
    print_lines(lines[1:])
    print_lines(bad, "red")
    print_warnings(report.warnings)
    if report.output is not None:
        print_lines([f"Written: {report.output}"], "bold")
    elif not to.dry_run:
        print_lines(["Nothing was written; add -o FILE to write the condensed rows."], "dim")


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
