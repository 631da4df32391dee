"""`condense run` on a set of rows, and other commands' reports on one.

Every row is condensed on its own, in several processes, and written as it comes.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace
from rich.text import Text

from ...calling import Calls, OnDemand
from ...config.base import ProviderSettings
from ...config.models import Configuration
from ...core.transcript import Transcript
from ...core.wording import plural, visible
from ...delivering import TO_A_PIPE, Destination, Where
from ...errors import ExitStatus, UsageError
from ...passes.flags import missed_keeps
from ...report.costs import dollars
from ...report.counted import of_several
from ...report.inspection.facts import CONTENT_TYPES
from ...report.inspection.sections import content_table, tools_table
from ...report.run.sections import sentences
from ...report.sections import BLANK, SHAPE, Part, Sentence, Table, as_warnings, to_json
from ...report.text import TokenShare, ToolShare, percent, tool_shares
from ...rows import facts
from ...rows.condensing import (
    ROOM,
    CheckedRows,
    Contents,
    Counters,
    LargeRow,
    New,
    Restored,
    checking,
    flow,
    for_each_row,
    restoring,
    split,
    survey,
    tally_parts,
    tally_result,
    weighing,
    work_in_order,
)
from ...rows.facts import FileResult, Problem, Tally
from ...rows.reading import RowKind, RowLines, is_array, is_parquet, opened
from ...storage.files import STDIO
from ...storage.processes import usable_processors
from ...tokens.counting import CounterName
from ...tokens.factor import CountName, factor_as
from ..commands.shrink import RunOptions, Showing
from ..console import console, print_lines, print_parts, say, write_out, write_text
from ..work.reading import name_of
from .job import SummaryUse, Treatment, Work, Worker, nothing_kept, status_of, without_effect
from .ran import write_report
from .workers import done_to_each, may_call

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer as Buffer


_SHOWN: Final = 5
"""Bad rows that are named one by one on the terminal."""


class RowsTask(Struct, frozen=True):
    """The file and treatment of a set of rows. Unless `is_written`, the condensed lines are dropped."""

    file: str
    kind: RowKind
    treatment: Treatment
    is_written: bool = True


class Done(Struct, frozen=True):
    """A condensed batch of rows: the lines to write, and their figures."""

    lines: list[bytes]
    tally: Tally
    status: ExitStatus
    missed: frozenset[str]


class RowsOutcome(Struct, frozen=True):
    """The outcome of all rows; the status is about the calls of models alone.

    `missed` says of each selector of --keep that matched nothing in any row that it did.
    """

    tally: Tally
    told: SummaryUse
    status: ExitStatus
    missed: tuple[str, ...] = ()


def condense_rows(
    task: RowsTask,
    output: Path | IO[bytes] | None,
    jobs: int,
    progress: Callable[[Tally], None] = lambda tally: None,
    summaries: OnDemand | None = None,
) -> RowsOutcome:
    """Condense all rows and write them. Raises CondenseError; then no file is written.

    `summaries` are those of a larger run, which this one takes part in, as the one process that it is.
    """
    if task.treatment.splits and (is_parquet(task.file) or is_array(task.file)):
        raise UsageError("--split needs rows that are lines of JSON.", "Convert them: one row on a line.")
    calls = task.treatment.calls
    if may_call(calls) and (calls.settled().is_any or not calls.is_planned):
        jobs = 1  # A limit is for all rows together.
    tally, told, status = Tally(), SummaryUse(), ExitStatus.DONE
    missed = {*task.treatment.work.overrides.keep}
    with flow(task.file, task.kind, output) as (kind, lines, write):
        do = partial(condense_batch, task, kind)
        for done, told in done_to_each(do, task.treatment, lines, jobs, shared=summaries, spread=work_in_order):  # noqa: B007
            tally.add(done.tally)
            status = max(status, done.status)
            missed &= done.missed
            write(done.lines)
            progress(tally)
        said = tuple(f"--keep {selector} matches nothing." for selector in sorted(missed))
        if said and summaries is None and tally.rows > tally.bad:
            raise nothing_kept(said)
    return RowsOutcome(tally, told, status, said)


def condense_batch(task: RowsTask, kind: RowKind, treatment: Treatment, summaries: OnDemand, batch: RowLines) -> Done:
    """Condense the rows of a batch. Raises KeyboardInterrupt if that stopped a call."""
    work = treatment.work
    most = work.target_tokens if treatment.splits else None
    if most is not None:
        work = replace(work, target_tokens=int(ROOM * most))
    condensed = Worker(work, treatment.calls, summaries)
    counters = Counters(work.configuration.counter)
    tally = Tally()
    missed = {*work.overrides.keep}

    def condense(transcript: Transcript, line: int) -> New:
        transcript = work.continuing(transcript)
        missed.intersection_update(missed_keeps([*missed], transcript.messages))
        count = counters(transcript)
        if most is None:
            return tally_result(condensed(transcript, count), tally, line, is_written=task.is_written)
        factor = factor_as(work.count, transcript, count)
        parts = split(transcript, most, lambda beginning: condensed(beginning, count, factor), count, factor)
        bare = sum(map(count.message, transcript.messages))
        return tally_parts(transcript, parts, most, tally, bare, factor)

    lines = for_each_row(batch, name_of(task.file), kind, tally, condense)
    status = status_of(summaries, ExitStatus.DONE, allow_partial=treatment.allow_partial)
    if status is ExitStatus.INTERRUPTED:
        raise KeyboardInterrupt
    return Done(lines if task.is_written else [], tally, status, frozenset(missed))


class StandardOutput(BytesIO):
    """Standard output as a binary stream."""

    def write(self, data: Buffer) -> int:
        written = bytes(data)
        write_out(written)
        return len(written)

    def writelines(self, lines: Iterable[Buffer]) -> None:
        write_out(b"".join(lines))


def run_rows(file: str, kind: RowKind, treatment: Treatment, options: RunOptions, to: Destination) -> ExitStatus:
    """Condense, write and report the rows of a file, in several processes. Raises CondenseError.

    Bad rows are passed through; the status says so unless the user was lenient.
    """
    if to.where in (Where.NEW_SESSION, Where.IN_PLACE):
        raise UsageError("A set of rows needs an output file.", "Name it with -o FILE.")
    showing = options
    task = RowsTask(file, kind, treatment, to.writes_anything)
    output: Path | IO[bytes] | None = None
    if to.writes_anything:
        output = StandardOutput() if to.writes_stdout else Path(str(to.output))
    replaced = to.replaced
    started = time.perf_counter()
    with progress_of(file) as progress:
        outcome = condense_rows(task, output, options.jobs or usable_processors(), progress)
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
    """Say why the status of a run on rows is not 0."""
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
    """Return the report on a set of rows, or on the files in `results`."""
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
    """Return the lines about all rows or files together, the main one first; more if it was asked for."""
    lines = [facts.headline(report), facts.sizes(report), *facts.money(report), *sentences(report.summaries)]
    if showing.cost or showing.verbose:
        lines += facts.prices_of(report)
    return [*lines, *(facts.details(report, tally, seconds) if showing.verbose else ())]


def _show(report: facts.SetReport, lines: Sequence[str], bad: Sequence[str], to: Destination, replaced: str) -> None:
    if to.writes_stdout:
        for line in [lines[0], *lines[2:], *bad, *(f"warning: {each}" for each in report.warnings)]:
            say(f"condense: {line}")
        if to.goes_to_a_pipe:
            say(TO_A_PIPE)
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
    """Yield a line for each of the first bad rows, and the number of the others."""
    shown = problems[:_SHOWN]
    for problem in shown:
        yield f"{name}:{problem.line}: {problem.why}"
    if bad > len(shown):
        yield f"… and {plural(bad - len(shown), 'more bad row')}"


@contextmanager
def progress_of(file: str) -> Iterator[Callable[[Tally], None]]:
    """Show the rows done so far on the terminal, if messages go to one."""
    if not sys.stderr.isatty():
        yield lambda tally: None
        return
    size = os.path.getsize(file) if os.path.isfile(file) else 0
    status = console(stderr=True).status("Reading rows")

    def show(tally: Tally) -> None:
        share = f", {100 * tally.bytes_before / size:.0f}%" if 0 < tally.bytes_before <= size else ""
        status.update(f"{plural(tally.rows, 'row')}{share}: {tally.tokens_before:,} → {tally.tokens_after:,} tokens")

    with status:
        yield show


class RowsEstimate(Struct, frozen=True):
    """A report for every preset, like that of `condense run --json`, the smallest result first."""

    version: int
    input: str
    format: str
    presets: list[facts.SetReport]


def estimate_rows(
    file: str,
    kind: RowKind,
    presets: Sequence[tuple[str, Configuration]],
    providers: dict[str, ProviderSettings],
    *,
    model: str | None,
    how: CountName,
    calls: Calls,
    json: bool,
) -> None:
    """Compare the presets on all rows. The file is read once for each. Raises CondenseError."""
    reports = []
    with _readable_again(file) as path:
        for name, configuration in presets:
            treatment = Treatment(Work(configuration, providers, model=model, count=how), calls, name)
            task = RowsTask(path, kind, treatment, is_written=False)
            outcome = condense_rows(task, None, usable_processors())
            reports.append(report_of(name_of(path), None, treatment, outcome, is_written=False))
    reports.sort(key=lambda report: (report.tokens.after, report.configuration))
    if json:
        write_text(to_json(RowsEstimate(SHAPE, name_of(file), "rows", reports)))
    else:
        _show_estimate(name_of(file), reports)


@contextmanager
def _readable_again(file: str) -> Iterator[str]:
    """Yield the file, or a copy of standard input on disk."""
    if file != STDIO:
        yield file
        return
    with tempfile.TemporaryDirectory(prefix="condense-") as folder:
        path = Path(folder, "stdin.jsonl")
        with opened(STDIO) as source, path.open("wb") as copy:
            shutil.copyfileobj(source, copy, 1 << 20)
        yield str(path)


def _show_estimate(name: str, reports: Sequence[facts.SetReport]) -> None:
    first, has_prices = reports[0], any(entry.before is not None for entry in reports[0].reading)
    columns = ["preset", "tokens after", "saved", "rows changed", *(["read once"] if has_prices else [])]
    rows = [
        [
            each.configuration,
            f"{each.tokens.after:,}",
            f"{each.tokens.saved_percent:.1f}%",
            f"{each.rows.changed:,}",
            *([_reading(each)] if has_prices else []),
        ]
        for each in reports
    ]
    size = f"{name}: {plural(first.rows.total, 'row')}, {first.tokens.before:,} tokens"
    print_parts([Sentence(size, "bold"), BLANK, Table(columns, rows, range(1, len(columns))), BLANK])
    print_lines(bad_rows(first.problems, first.rows.bad, name), "red")
    if first.tokens.count == "o200k":
        print_lines([of_several("o200k")], "dim")
    elif not first.tokens.exact:
        print_lines([f"Counted with {first.tokens.encoding}, an estimate."], "dim")
    if not has_prices:
        print_lines(["The cost of reading is unknown; name the model with --model."], "dim")
    print_parts(as_warnings([*dict.fromkeys(line for each in reports for line in each.warnings)]))


def _reading(report: facts.SetReport) -> str:
    before, after = facts.paid(report)
    return f"{dollars(before)} → {dollars(after)}"


class RowsInspection(Struct, frozen=True):
    """All rows together; `constants` is what messages cost besides their content. Documented in docs/json-report.md."""

    version: int
    input: str
    format: str
    formats: dict[str, int]
    rows: int
    bad: int
    messages: int
    tokens: int
    constants: int
    estimated: int
    bytes: int
    tokens_per_row: int
    content_types: list[TokenShare]
    tools: list[ToolShare]
    largest_rows: list[LargeRow]
    problems: list[Problem]
    counter: CounterName
    count: CountName


def inspect_rows(
    file: str, kind: RowKind, *, model: str | None, counter: CounterName, how: CountName, top: int, json: bool
) -> None:
    """Show what fills the rows. Raises CondenseError."""
    found = survey(file, name_of(file), kind, Contents, partial(weighing, model, counter, how))
    inspection = _inspection(found, name_of(file), top, counter, how)
    if json:
        write_text(to_json(inspection))
    else:
        print_parts(_inspection_parts(inspection))
        print_lines([of_several(inspection.count)], "dim")
        if inspection.bad:
            print_lines([""])
        print_lines(bad_rows(inspection.problems, inspection.bad, inspection.input), "red")


def _inspection(found: Contents, source: str, top: int, counter: CounterName, how: CountName) -> RowsInspection:
    def share(name: str) -> TokenShare:
        tokens = found.content_types[name]
        return TokenShare(name, tokens, percent(tokens, found.tokens_before), found.blocks[name])

    read = found.rows - found.bad
    return RowsInspection(
        version=SHAPE,
        input=source,
        format="rows",
        formats=dict(sorted(found.formats.items())),
        rows=found.rows,
        bad=found.bad,
        messages=found.messages_before,
        tokens=found.tokens_before,
        constants=found.constants,
        estimated=found.estimated,
        bytes=found.bytes_before,
        tokens_per_row=round(found.tokens_before / read) if read else 0,
        content_types=[share(name) for name in CONTENT_TYPES if found.blocks[name]],
        tools=tool_shares(found.calls, found.parameters, found.results, found.tokens_before)[:top],
        largest_rows=found.largest[:top],
        problems=found.problems,
        counter=counter,
        count=how,
    )


def _inspection_parts(found: RowsInspection) -> Iterator[Part]:
    headline = f"{plural(found.tokens, 'token')} in {plural(found.rows, 'row')}, {plural(found.messages, 'message')}"
    yield Sentence(f"{headline}, {found.tokens_per_row:,} tokens a row", "bold")
    yield BLANK
    yield content_table(found.content_types, found.constants, found.tokens)
    if found.tools:
        yield BLANK
        yield tools_table(found.tools)
    if found.largest_rows:
        yield BLANK
        largest = [
            [f"line {each.line:,}", f"{each.tokens:,}", f"{percent(each.tokens, found.tokens):.1f}%"]
            for each in found.largest_rows
        ]
        bars = [each.tokens for each in found.largest_rows]
        yield Table(("largest rows", "tokens", "share"), largest, (1, 2), bars=bars)
    yield BLANK


def validate_rows(file: str, kind: RowKind, *, json: bool, lenient: bool) -> ExitStatus:
    """Check every row against the rules of its API and print the faults. Raises CondenseError."""
    found = survey(file, name_of(file), kind, CheckedRows, checking)
    is_valid = not found.faulty and (lenient or not found.bad)
    if json:
        write_text(to_json(_checked_as_json(found, name_of(file), is_valid=is_valid)))
    else:
        _show_faults(found, name_of(file), is_valid=is_valid)
    return ExitStatus.DONE if is_valid else ExitStatus.INPUT


def _checked_as_json(found: CheckedRows, source: str, *, is_valid: bool) -> dict[str, object]:
    return {
        "version": SHAPE,
        "input": source,
        "format": "rows",
        "formats": dict(sorted(found.formats.items())),
        "rows": {"total": found.rows, "faulty": found.faulty, "bad": found.bad},
        "messages": found.messages_before,
        "valid": is_valid,
        "rules": dict(found.rules.most_common()),
        "faults": found.listed,
        "problems": found.problems,
    }


def _show_faults(found: CheckedRows, name: str, *, is_valid: bool) -> None:
    screen = console()
    for fault in found.listed:
        message = f" #{fault.message}:" if fault.message is not None else ""
        text = Text(visible(f"{name}:{fault.line}:{message} "), style="bold")
        print_lines([text.append(visible(" ".join(fault.said.split())), style="not bold")])
    more = found.faults - len(found.listed)
    if more > 0:
        print_lines([f"… and {plural(more, 'more fault')}"], "dim")
    print_lines(bad_rows(found.problems, found.bad, name), "red")
    rows = plural(found.rows, "row")
    if is_valid:
        screen.print(Text(f"valid: {rows}, {plural(found.messages_before, 'message')}", style="green"))
        return
    bad = f", {found.bad:,} bad" if found.bad else ""
    screen.print(Text(f"not valid: {plural(found.faults, 'fault')} in {found.faulty:,} of {rows}{bad}", style="red"))


def restore_rows(file: str, kind: RowKind, output: str | None) -> Restored:
    """Undo the references of every row; written to a file, to standard output for "-", or nowhere."""
    target: Path | IO[bytes] | None = None
    if output is not None:
        target = StandardOutput() if output == "-" else Path(output)
    return survey(file, name_of(file), kind, Restored, restoring, target)


def said_of_restored(found: Restored, name: str) -> list[str]:
    """Return the lines before the counts of references."""
    rows = f"{plural(found.rows, 'row')}, {found.changed:,} restored"
    return [rows + (f", {found.bad:,} bad" if found.bad else "") + ".", *bad_rows(found.problems, found.bad, name)]


def status_of_restored(found: Restored, *, lenient: bool) -> ExitStatus:
    has_bad = found.bad and not lenient
    return ExitStatus.INPUT if found.unresolved or found.elsewhere or has_bad else ExitStatus.DONE
