"""`condense run` on many files: each is condensed into a folder, and a failing one does not stop the others."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ...core.wording import plural
from ...errors import ExitStatus, UsageError
from ...report.text.labels import percent_text
from ...rows.facts import WORKED, FileResult, FileStatus, Tally, exit_status
from ...rows.many_files import NAME, Input, add_entry, find_inputs, read_record
from ...storage.files import check_no_links, make_folder
from ...storage.processes import in_order, usable_processors
from ..console import bar, console, print_lines, say
from ..rows.condensing import RowsOutcome
from ..rows.running import lines_of, print_set, report_of
from .on_ray import SEVERAL, on_ray
from .one import check_keep_in, write_report
from .one_of_many import Job, rules_of, work_on
from .work import SummaryUse, Treatment
from .workers import Spread, done_to_each, may_call

if TYPE_CHECKING:
    from ...rows.facts import SetReport
    from .options import RunOptions, Writing

_STYLES: Final = {
    FileStatus.FAILED: "red",
    FileStatus.PASSED_OVER: "dim",
    FileStatus.UP_TO_DATE: "dim",
}
_SHOWN: Final = 20
"""Reasons, and warnings, that are shown one by one."""
_NAMED: Final = 3
"""Files that are named among those that were passed over."""


def run_many(files: list[str], treatment: Treatment, options: RunOptions) -> int:
    """Condense every file, show what came of each, and give the exit status. Raises CondenseError."""
    out_dir, showing = options.writing.out_dir, options.showing
    folder = None if options.writing.dry_run else out_dir
    inputs = find_inputs(files, out_dir.absolute() if out_dir is not None else None)
    if not inputs:
        raise UsageError("No files to condense were found.", "Files end in .json or .jsonl, also .gz and .zst.")
    check_keep_in(inputs, treatment)
    started = time.perf_counter()
    results, outcome = _work_on_all(_tasks(inputs, folder, treatment), folder, treatment, options.writing)
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
    """What is to be done to each file, with what an earlier run noted in the folder, which is made where it is not."""
    if folder is not None:
        make_folder(folder)
        check_no_links(folder, NAME)
    known = read_record(folder) if folder is not None else {}
    rules = rules_of(treatment)
    return [Job(each.path, each.named, folder, str(each.below), known.get(str(each.below)), rules) for each in inputs]


def _work_on_all(
    tasks: Sequence[Job], folder: Path | None, treatment: Treatment, writing: Writing
) -> tuple[list[FileResult], RowsOutcome]:
    """What came of each file, and of all together. Each file that is done is noted at once."""
    results: list[FileResult] = []
    tally, told = Tally(), SummaryUse()
    processes = 1 if may_call(treatment.calls) else min(writing.jobs or usable_processors(), len(tasks))
    spread: Spread = in_order
    if writing.engine == "ray":
        spread, processes = on_ray(treatment, writing.jobs), SEVERAL
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
    from ...report.text.fitted_table import fitted_table

    screen = console()
    shown = [each for each in results if each.status is not FileStatus.PASSED_OVER]
    rows = [_cells(each, below[each.input], is_written=report.output is not None) for each in shown]
    styles = [_STYLES.get(each.status, "") for each in shown]
    columns = ("file", "before", "after", "saved", "status")
    if rows:
        screen.print(fitted_table(columns, rows, (1, 2, 3), screen.width, flexible=0, is_path=True, styles=styles))
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
    """Why files failed, or what is wrong with those that were written."""
    for each in results:
        if each.why and each.status is not FileStatus.PASSED_OVER:
            mark = "* " if each.status in WORKED else ""
            yield f"{mark}{below[each.input]}: {each.why.removeprefix(each.input).lstrip(': ')}"


def _first(lines: Iterable[str]) -> Iterator[str]:
    """The first lines, and how many more there are."""
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
