"""`condense run` on many files: each is condensed into a folder, and a failing one does not stop the others."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from ... import formats
from ...calling import OnDemand
from ...config.own import load_user_configuration
from ...core.version import __version__
from ...core.wording import plural
from ...errors import CondenseError, ExitStatus, UnknownFormatError, UsageError
from ...passes.condensation import Condensation
from ...passes.flags import missed_keeps
from ...report.sections import Table
from ...report.text import percent_text
from ...rows.condensing import add_conversation
from ...rows.facts import WORKED, FileResult, FileStatus, FileTokens, SetReport, Tally, exit_status
from ...rows.many_files import (
    NAME,
    RECORD,
    FileRecord,
    Input,
    add_entry,
    file_hash,
    find_inputs,
    is_up_to_date,
    read_record,
)
from ...rows.reading import FORMAT as ROWS
from ...rows.reading import RowKind, rows_in
from ...storage.files import check_no_links, make_folder, packed, write_bytes
from ...storage.processes import in_order, usable_processors, with_ray
from ...tokens.counting import Counter
from ..commands.shrink import RunOptions, Writing
from ..console import bar, print_lines, print_parts, say
from ..work.reading import read_transcript
from .job import (
    SummaryUse,
    Treatment,
    Worker,
    no_rows_to_split,
    output_of,
    status_of_result,
    was_interrupted,
)
from .ran import write_report
from .rows import RowsOutcome, RowsTask, condense_rows, lines_of, print_set, report_of, status_of_rows
from .workers import Spread, check_keep_in, done_to_each, may_call

_STYLES: Final = {
    FileStatus.FAILED: "red",
    FileStatus.PASSED_OVER: "dim",
    FileStatus.UP_TO_DATE: "dim",
}
_SHOWN: Final = 20
"""Reasons, and warnings, that are shown one by one."""
_SEVERAL: Final = 2
"""Processes that Ray is told to use: it decides how many there are."""
_NAMED: Final = 3
"""Files that are named among those that were passed over."""


def run_many(files: Sequence[str], treatment: Treatment, options: RunOptions) -> int:
    """Condense every file, print the outcome of each, and return the exit status. Raises CondenseError."""
    out_dir, showing = options.out_dir, options
    folder = None if options.dry_run else out_dir
    inputs = find_inputs([*files], out_dir.absolute() if out_dir is not None else None)
    if not inputs:
        raise UsageError("No files to condense were found.", "Files end in .json or .jsonl, also .gz and .zst.")
    check_keep_in(inputs, treatment)
    started = time.perf_counter()
    results, outcome = _work_on_all(_tasks(inputs, folder, treatment), folder, treatment, options)
    below = {str(each.path): str(each.below) for each in inputs}
    if not showing.is_silent:
        output, base = str(out_dir) if folder is not None else None, str(inputs[0].base)
        report = report_of(base, output, treatment, outcome, is_written=folder is not None, results=results)
        write_report(showing, report)
        if not (showing.json or showing.quiet):
            lines = lines_of(report, outcome.tally, time.perf_counter() - started, showing)
            _show(report, results, lines, below)
    if showing.quiet or showing.json:  # A status that is not 0 needs a reason, as where one file is run.
        for line in _first(_reasons([each for each in results if each.exit_status], below)):
            say(f"condense: {line.removeprefix('* ')}")
    return exit_status(results)


def _tasks(inputs: Sequence[Input], folder: Path | None, treatment: Treatment) -> list[Job]:
    """Return a job for each file, with its record from an earlier run. Creates the folder."""
    if folder is not None:
        make_folder(folder)
        check_no_links(folder, NAME)
    known = read_record(folder) if folder is not None else {}
    rules = rules_of(treatment)
    return [Job(each.path, each.named, folder, str(each.below), known.get(str(each.below)), rules) for each in inputs]


def _work_on_all(
    tasks: Sequence[Job], folder: Path | None, treatment: Treatment, writing: Writing
) -> tuple[list[FileResult], RowsOutcome]:
    """Return the outcome of each file, and of all together. Each finished file is recorded at once."""
    results: list[FileResult] = []
    tally, told = Tally(), SummaryUse()
    processes = 1 if may_call(treatment.calls) else min(writing.jobs or usable_processors(), len(tasks))
    spread: Spread = _in_processes
    if writing.engine == "ray":
        spread, processes = on_ray(treatment, writing.jobs), _SEVERAL
    try:
        with bar(len(tasks), "files") as done:
            for finished, told in done_to_each(work_on, treatment, tasks, processes, spread=spread):  # noqa: B007
                if folder is not None and finished.entry is not None:
                    add_entry(folder, finished.entry)
                results.append(finished.result)
                tally.add(finished.tally)
                done(len(results))
    except KeyboardInterrupt:
        if folder is not None:
            ready = f"{len(results):,} of {plural(len(tasks), 'file is', 'files are')}"
            say(f"condense: {ready} done; the same command continues from there.")
        raise
    place = {str(task.path): number for number, task in enumerate(tasks)}
    results.sort(key=lambda result: place[result.input])
    return results, RowsOutcome(tally, told, ExitStatus.DONE)


def _show(report: SetReport, results: Sequence[FileResult], lines: Sequence[str], below: dict[str, str]) -> None:
    shown = [each for each in results if each.status is not FileStatus.PASSED_OVER]
    rows = [_cells(each, below[each.input], is_written=report.output is not None) for each in shown]
    styles = [_STYLES.get(each.status, "") for each in shown]
    columns = ("file", "before", "after", "saved", "status")
    if rows:
        print_parts([Table(columns, rows, (1, 2, 3), is_path=True, styles=styles)])
    print_set(report, lines, _first(_reasons(results, below)))
    warnings = (f"{below[each.input]}: {warning}" for each in results for warning in each.warnings)
    print_lines(_first(warnings), "yellow")
    print_lines(_left_alone(results, below), "dim")
    if report.output is not None and any(each.status in WORKED for each in results):
        print_lines([f"Written: {report.output}"], "bold")


def _cells(result: FileResult, name: str, *, is_written: bool) -> list[str]:
    if result.status not in WORKED:
        return [name, "", "", "", result.status]
    status = "would change" if result.status is FileStatus.DONE and not is_written else result.status
    tokens = result.tokens
    saved = percent_text(tokens.saved_percent)
    return [name, f"{tokens.before:,}", f"{tokens.after:,}", saved, status + (" *" if result.why else "")]


def _reasons(results: Iterable[FileResult], below: dict[str, str]) -> Iterator[str]:
    """Say why files failed, or which faults the written ones have."""
    for each in results:
        if each.why and each.status is not FileStatus.PASSED_OVER:
            mark = "* " if each.status in WORKED else ""
            yield f"{mark}{below[each.input]}: {each.why.removeprefix(each.input).lstrip(': ')}"


def _first(lines: Iterable[str]) -> Iterator[str]:
    """Yield the first lines, and the number of the others."""
    told = list(lines)
    yield from told[:_SHOWN]
    if len(told) > _SHOWN:
        yield f"… and {len(told) - _SHOWN:,} more; --json lists all"


def _left_alone(results: Sequence[FileResult], below: dict[str, str]) -> Iterator[str]:
    names = [below[each.input] for each in results if each.status is FileStatus.PASSED_OVER]
    if names:
        more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
        files = plural(len(names), "other file")
        yield f"Skipped {files}, not a transcript that can be written ({', '.join(names[:_NAMED])}{more})."
    ready = sum(each.status is FileStatus.UP_TO_DATE for each in results)
    if ready:
        yield f"{plural(ready, 'file is', 'files are')} up to date from an earlier run."


class Job(Struct, frozen=True):
    """A file to condense into `folder`, under the relative name `below`; `entry` is its record from an earlier run."""

    path: Path
    named: bool
    folder: Path | None
    below: str
    entry: FileRecord | None
    rules: str = ""
    """A hash of all but the file's content that decides what becomes of it."""

    @property
    def output(self) -> Path | None:
        return self.folder / self.below if self.folder is not None else None

    def ready_output(self) -> Path | None:
        """Return the output path in an existing folder, with no link on the way. Raises OutputError."""
        if self.folder is None:
            return None
        check_no_links(self.folder, self.below)
        output = self.folder / self.below
        make_folder(output.parent)
        return output


class Finished(Struct, frozen=True):
    """The outcome of a file, its figures, and its record if it is done."""

    result: FileResult
    tally: Tally = field(default_factory=Tally)
    entry: FileRecord | None = None


def work_on(treatment: Treatment, summaries: OnDemand, job: Job) -> Finished:
    """Condense one file and write it. Errors in the file are part of the outcome, never raised."""
    if summaries.made is not None:
        summaries.made.failures.clear()  # Those of the file before are no matter of this one.
    try:
        return _worked(treatment, summaries, job)
    except CondenseError as error:
        if isinstance(error, UnknownFormatError | _OnlyReadError) and not job.named:
            return Finished(FileResult(str(job.path), None, FileStatus.PASSED_OVER, why=error.message))
        return Finished(_failed(job, int(error.status), error.message))
    except MemoryError:
        return Finished(_failed(job, int(ExitStatus.FAILED), "Not enough memory."))
    except Exception as error:  # One file of many must not stop the others.
        why = f"Internal error ({type(error).__name__}: {error}); please report it."
        return Finished(_failed(job, int(ExitStatus.FAILED), why))


def rules_of(treatment: Treatment) -> str:
    """Return a hash of everything that decides the output and is the same for every file; limits of cost are not."""
    profiles = {name: known.profile for name, known in load_user_configuration().profiles.items()}
    models = (treatment.calls.profile, may_call(treatment.calls), treatment.calls.settled().redact, profiles)
    how = (treatment.format, treatment.to, treatment.lenient, *["split"] * treatment.splits)
    rules = (RECORD, __version__, treatment.work, models, *how)
    return hashlib.sha256(msgspec.json.encode(rules, enc_hook=vars)).hexdigest()


class _OnlyReadError(UsageError):
    """The file is of a format that cannot be written."""


def _failed(job: Job, status: int, why: str) -> FileResult:
    return FileResult(str(job.path), None, FileStatus.FAILED, status, why=why)


def _worked(treatment: Treatment, summaries: OnDemand, job: Job) -> Finished:
    made_from = f"{job.rules}:{file_hash(job.path)}" if job.output is not None else ""
    if job.output is not None and job.entry is not None and is_up_to_date(job.entry, made_from, job.output):
        return Finished(_result(job, FileStatus.UP_TO_DATE, job.entry.tally), job.entry.tally)
    kind = rows_in(str(job.path), treatment.format)
    if kind is None:
        result, tally = _conversation(treatment, summaries, job)
    else:
        result, tally = _rows(treatment, summaries, job, kind)
    if job.output is None or result.exit_status:  # What has shortcomings is not up to date: another run may do better.
        return Finished(result, tally)
    return Finished(result, tally, FileRecord(job.below, made_from, file_hash(job.output), tally))


def _conversation(treatment: Treatment, summaries: OnDemand, job: Job) -> tuple[FileResult, Tally]:
    if treatment.splits:
        raise no_rows_to_split()
    transcript = treatment.work.continuing(read_transcript(str(job.path), treatment.format, treatment.lenient))
    if treatment.to is None and not formats.format_named(transcript.format).is_writable:
        raise _OnlyReadError(f"condense reads {transcript.format} files but cannot write them.")
    count = Counter.of(transcript, treatment.work.configuration.counter)
    result = Worker(treatment.work, treatment.calls, summaries)(transcript, count)
    if was_interrupted(summaries):
        raise KeyboardInterrupt
    written = output_of(result, treatment.to)
    data = written.data
    assert data is not None, "the format can be written"
    output = job.ready_output()
    if output is not None:
        write_bytes(output, packed(data, output))
    before = transcript.source.data
    tally = Tally(bytes_before=len(before), bytes_after=len(data))
    add_conversation(result, tally)
    status = status_of_result(result, summaries, treatment)
    missed = missed_keeps(treatment.work.overrides.keep, transcript.messages)
    warnings = (*(result.warnings if result.is_needed else ()), *missed.values(), *written.warnings)
    end = FileStatus.UNCHANGED if data == before else FileStatus.DONE
    return _result(job, end, tally, status, _shortcoming(result, status), warnings), tally


def _shortcoming(result: Condensation, status: ExitStatus) -> str:
    """Say why the status is not 0; empty if it is."""
    if result.error is not None:
        return str(result.error)
    if status is ExitStatus.CALLS_FAILED:
        has_lost = result.metrics is not None and result.metrics.fallback is not None
        return f"Not every summary could be written{'' if has_lost else '; the originals stay'}."
    if status is ExitStatus.TARGET_MISSED:
        return f"The target of {result.shown_target:,} tokens was not reached."
    return ""


def _rows(treatment: Treatment, summaries: OnDemand, job: Job, kind: RowKind) -> tuple[FileResult, Tally]:
    if treatment.to is not None:
        raise UsageError("--to works on single transcripts, and this is a set of rows.")
    task = RowsTask(str(job.path), kind, treatment, is_written=job.output is not None)
    outcome = condense_rows(task, job.ready_output(), jobs=1, summaries=summaries)
    tally = outcome.tally
    why = ""
    if tally.bad:
        first = tally.problems[0]
        why = f"{plural(tally.bad, 'bad row')}; line {first.line}: {first.why}"
    tally.problems = [replace(problem, file=str(job.path)) for problem in tally.problems]
    tally.shrunk = []  # Lines say nothing beside those of other files.
    end = FileStatus.DONE if tally.changed else FileStatus.UNCHANGED
    return _result(job, end, tally, status_of_rows(outcome, treatment), why, outcome.missed), tally


def _result(
    job: Job,
    status: FileStatus,
    tally: Tally,
    exit_status: ExitStatus = ExitStatus.DONE,
    why: str = "",
    warnings: tuple[str, ...] = (),
) -> FileResult:
    output = str(job.output) if job.output is not None else None
    form = ROWS if tally.rows else next(iter(tally.formats), ROWS)
    tokens = FileTokens.of(tally)
    return FileResult(str(job.path), output, status, int(exit_status), form, tally.rows, tokens, why, warnings)


def on_ray(treatment: Treatment, most: int | None) -> Spread:
    """Return a function that spreads files over Ray's workers, `most` at a time. Raises UsageError, and CondenseError
    when it runs.

    Workers have no current folder: they get absolute paths.
    """
    if may_call(treatment.calls):
        raise UsageError(
            "--engine ray cannot call models, because a budget needs a single process.", "Leave out --engine."
        )

    def spread(work: Callable[[Any], Any], tasks: Iterator[Any], jobs: int) -> Iterator[Any]:
        given: list[Job] = [*tasks]
        folder = given[0].folder if given else None
        if folder is None:
            yield from with_ray(work, given, _died, most)
            return
        for finished, told in with_ray(work, [replace(job, folder=folder.absolute()) for job in given], _died, most):
            yield _named(finished, folder), told

    return spread


def _in_processes(work: Callable[[Any], Any], tasks: Iterator[Any], jobs: int) -> Iterator[Any]:
    return in_order(work, tasks, jobs, died=_died)


def _died(job: Job, why: str) -> tuple[Finished, SummaryUse]:
    """Return the outcome of a file whose worker died."""
    return Finished(_failed(job, int(ExitStatus.FAILED), why)), SummaryUse()


def _named(finished: Finished, folder: Path) -> Finished:
    """Return the outcome with the output in the folder as the user named it."""
    output = finished.result.output
    if output is None:
        return finished
    below = Path(output).relative_to(folder.absolute())
    return replace(finished, result=replace(finished.result, output=str(folder / below)))
