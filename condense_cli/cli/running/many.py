"""`condense run` on many files: each is condensed into a folder, and a failing one does not stop the others."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ...core.plurals import plural
from ...errors import UsageError
from ...many import facts
from ...many.inputs import Input, find_inputs
from ...many.record import NAME, add_entry, read_record
from ...report.costs.text import dollars
from ...report.text.tokens import of_several
from ...storage.files import check_no_links, make_folder
from ...storage.processes import in_order, usable_processors
from ..console import console, print_lines, print_warnings, say
from .on_ray import SEVERAL, on_ray
from .one_of_many import Job, rules_of, work_on
from .output import write_report
from .summarizing import SummaryUse
from .work import Treatment
from .workers import Spread, done_to_each, may_call

if TYPE_CHECKING:
    from ...core.factor import CountName
    from .options import RunOptions, Writing

_STYLES: Final = {
    facts.FileStatus.FAILED: "red",
    facts.FileStatus.PASSED_OVER: "dim",
    facts.FileStatus.UP_TO_DATE: "dim",
}
_SHOWN: Final = 20
"""Reasons, and warnings, that are shown one by one."""
_NAMED: Final = 3
"""Files that are named among those that were passed over."""


def run_many(
    files: list[str],
    treatment: Treatment,
    options: RunOptions,
) -> int:
    """Condense every file, show what came of each, and give the exit status. Raises CondenseError."""
    out_dir, showing = options.writing.out_dir, options.showing
    folder = None if options.writing.dry_run else out_dir
    inputs = find_inputs(files, out_dir.absolute() if out_dir is not None else None)
    if not inputs:
        raise UsageError("No files to condense were found.", "Files end in .json or .jsonl, also .gz and .zst.")
    results, told = _work_on_all(_tasks(inputs, folder, treatment), folder, treatment, options.writing)
    report = facts.build(
        results,
        output=str(out_dir) if folder is not None else None,
        configuration=treatment.name,
        spent=told.cost,
        summaries=told.used,
        warnings=told.warnings,
    )
    below = {str(each.path): str(each.below) for each in inputs}
    write_report(showing, report)
    if not (showing.json or showing.quiet):
        _show(report, below, treatment.work.count)
    if showing.quiet:  # A status that is not 0 needs a reason, as where one file is run.
        for line in _first(_reasons([each for each in results if each.exit_status], below)):
            say(f"condense: {line.removeprefix('* ')}")
    return facts.exit_status(results)


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
) -> tuple[list[facts.FileResult], SummaryUse]:
    """What came of each file, and what is told of all summaries. Each file that is done is noted at once."""
    results: list[facts.FileResult] = []
    told = SummaryUse()
    processes = 1 if may_call(treatment.calls) else min(writing.jobs or usable_processors(), len(tasks))
    spread: Spread = in_order
    if writing.engine == "ray":
        spread, processes = on_ray(treatment, writing.jobs), SEVERAL
    try:
        with _progress(len(tasks)) as advance:
            for finished, told in done_to_each(work_on, treatment, tasks, processes, spread=spread):  # noqa: B007
                if folder is not None and finished.entry is not None:
                    add_entry(folder, finished.entry)
                results.append(finished.result)
                advance()
    except KeyboardInterrupt:
        if folder is not None:
            done = f"{len(results):,} of {plural(len(tasks), 'file is', 'files are')}"
            say(f"condense: {done} done; the same command continues from there.")
        raise
    place = {str(task.path): number for number, task in enumerate(tasks)}
    return sorted(results, key=lambda result: place[result.input]), told


@contextmanager
def _progress(total: int) -> Iterator[Callable[[], object]]:
    """A bar on the terminal, if messages go to one."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("Condensing"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=total)
        yield lambda: progress.advance(task)


def _show(report: facts.ManyReport, below: dict[str, str], how: CountName) -> None:
    from ...report.text.fitted_table import fitted_table

    screen = console()
    counts, tokens = report.files, report.tokens
    shown = [each for each in report.results if each.status is not facts.FileStatus.PASSED_OVER]
    rows = [_cells(each, below[each.input], is_written=report.output is not None) for each in shown]
    styles = [_STYLES.get(each.status, "") for each in shown]
    if len(shown) > 1:
        finished = counts.done + counts.unchanged + counts.up_to_date
        rows.append(["all", *_figures(tokens), f"{finished:,} of {counts.total - counts.passed_over:,}"])
        styles.append("bold")
    columns = ("file", "before", "after", "saved", "status")
    if rows:
        table = fitted_table(columns, rows, (1, 2, 3), screen.width, flexible=0, is_path=True, styles=styles)
        screen.print(table)
        print_lines([of_several(how)], "dim")
    print_lines(_first(_reasons(report.results, below)), "red")
    warnings = (f"{below[each.input]}: {warning}" for each in report.results for warning in each.warnings)
    print_lines(_first(warnings), "yellow")
    print_lines(_left_alone(report, below), "dim")
    if report.spent != "0":
        print_lines([f"Summaries cost {dollars(report.spent)}."])
    print_warnings(report.warnings)
    if report.output is None:
        print_lines(["Nothing was written; add --out-dir DIR."], "dim")
    elif counts.failed + counts.passed_over < counts.total:
        print_lines([f"Written to {report.output}"], "bold")


def _cells(result: facts.FileResult, name: str, *, is_written: bool) -> list[str]:
    if result.status not in facts.WORKED:
        return [name, "", "", "", result.status]
    status = "would change" if result.status is facts.FileStatus.DONE and not is_written else result.status
    return [name, *_figures(result.tokens), status + (" *" if result.why else "")]


def _figures(tokens: facts.FileTokens) -> tuple[str, str, str]:
    return f"{tokens.before:,}", f"{tokens.after:,}", f"{tokens.saved_percent:.1f}%"


def _reasons(results: Iterable[facts.FileResult], below: dict[str, str]) -> Iterator[str]:
    """Why files failed, or what is wrong with those that were written."""
    for each in results:
        if each.why and each.status is not facts.FileStatus.PASSED_OVER:
            mark = "* " if each.status in facts.WORKED else ""
            yield f"{mark}{below[each.input]}: {each.why.removeprefix(each.input).lstrip(': ')}"


def _first(lines: Iterable[str]) -> Iterator[str]:
    """The first lines, and how many more there are."""
    told = list(lines)
    yield from told[:_SHOWN]
    if len(told) > _SHOWN:
        yield f"… and {len(told) - _SHOWN:,} more; --json lists all"


def _left_alone(report: facts.ManyReport, below: dict[str, str]) -> Iterator[str]:
    counts = report.files
    if counts.passed_over:
        files = plural(counts.passed_over, "other file")
        names = [below[each.input] for each in report.results if each.status is facts.FileStatus.PASSED_OVER]
        more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
        yield f"Skipped {files}, not a transcript that can be written ({', '.join(names[:_NAMED])}{more})."
    if counts.up_to_date:
        files = plural(counts.up_to_date, "file is", "files are")
        yield f"{files} up to date from an earlier run."
