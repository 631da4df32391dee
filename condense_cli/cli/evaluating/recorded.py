"""`condense evaluate --recorded`: what the compactions that clients made have kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import ExitStatus, UnreadableError, UsageError
from ..console import bar, console, print_parts, write_text
from .page import write_page

if TYPE_CHECKING:
    from ...api.evaluating import Plan
    from ...report.evaluation.recorded import Recorded
    from .options import Printing


def sessions_here() -> list[str]:
    """The files of all sessions on this machine, the newest first. Raises UnreadableError where there are none."""
    from ...clients.finding import find
    from ...clients.table import session_places

    # What a snapshot records its session records as well.
    files = [file for file in find(session_places(), everything=True).files if not file.is_snapshot]
    if not files:
        raise UnreadableError("There are no sessions on this machine.", "condense sessions shows where it looks.")
    return [file.path for file in files]


def check_without_effect(given: dict[str, bool]) -> None:
    """Raises UsageError for options that cut a transcript, which recorded compactions have done already."""
    named = [option for option, is_given in given.items() if is_given]
    if named:
        raise UsageError(
            f"{named[0]} cannot be used with --recorded.", "The client's compactions decide the cuts and sizes."
        )


def run(names: list[str], plan: Plan, *, jobs: int, printing: Printing) -> ExitStatus:
    """Judge and print. Raises OutputError where the page cannot be written."""
    from ...api.evaluating import Unread, judge_files
    from ...report.evaluation.recorded import build
    from ...report.run.facts import to_json

    with bar(len(names), "transcripts") as done:
        found = judge_files(names, plan, jobs=jobs, done=done)
    report = build(
        [one for one in found if not isinstance(one, Unread)],
        [(one.name, one.reason) for one in found if isinstance(one, Unread)],
        [way.name for way in plan.ways],
    )
    if printing.html is not None:
        from ...report.page.evaluation import recorded_page

        write_page(printing.html, recorded_page(report))
    if printing.json:
        write_text(to_json(report))
    else:
        _print(report)
    return ExitStatus.DONE if report.files else ExitStatus.INPUT


def _print(report: Recorded) -> None:
    from ...report.evaluation.recorded_terminal import render_recorded

    print_parts(render_recorded(report, console().width))
