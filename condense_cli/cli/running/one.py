"""Run `condense run` on one transcript: condense it, write it, and log it."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING

from ...core.tokens import Counter
from ...delivering import Where
from ...errors import CondenseError, ExitStatus, UsageError
from ...report.run.facts import to_json
from ...report.text.visible import visible
from ...rows.reading import rows_in
from ..console import say, tell, write_out, write_text
from ..reading import read_transcript
from .providing import say_error
from .report import Ran, show, write_page
from .work import SummaryUse, Treatment, Worker, output_of, status_of_result, summaries_for, summary_use

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from msgspec import Struct

    from ...core.transcript import Message
    from ...delivering import Destination
    from ...passes.condensation import Condensation
    from ...providers.registry import Registry
    from ...report.run.facts import Report
    from ...rows.many_files import Input
    from .options import Showing
    from .progress import Tell
    from .work import Work


def check_keep(selectors: Sequence[str], conversations: Iterable[Sequence[Message]]) -> None:
    """Raises UsageError for selectors that match nothing in any of the conversations; reads no more than it needs."""
    from ...passes.flags import missed_keeps

    missed = dict.fromkeys(selectors, "")
    for messages in conversations:
        if not messages:
            continue
        missed = missed_keeps([*missed], messages)
        if not missed:
            return
    if any(missed.values()):
        raise nothing_kept(missed.values())


def nothing_kept(said: Iterable[str]) -> UsageError:
    """The error about selectors, each with what is said of it."""
    return UsageError("\n".join(said), "Nothing was written: condense inspect FILE lists messages, tools and files.")


def check_keep_in(inputs: Iterable[Input], treatment: Treatment) -> None:
    """The same for files that a run is given; sets of rows are left to the run on them. Raises UsageError."""
    if not treatment.work.overrides.keep or not (files := [each.path for each in inputs]):
        return
    if not any(rows_in(str(path), treatment.format) is not None for path in files):
        check_keep(treatment.work.overrides.keep, _conversations(map(str, files), treatment))


def _conversations(files: Iterable[str], treatment: Treatment) -> Iterator[Sequence[Message]]:
    for file in files:
        try:
            yield read_transcript(file, treatment.format, treatment.lenient).messages
        except (CondenseError, OSError):  # The run on that file tells it.
            continue


def log_run(result: Condensation, report: Report, work: Work, status: ExitStatus, *, as_json: bool) -> None:
    from datetime import UTC, datetime

    from ...report.run import log as run_log
    from ...report.run.facts import to_json_line

    time = datetime.now(UTC).isoformat(timespec="milliseconds")
    log = run_log.build(result, report, work.configuration, time, int(status), if_needed=work.if_needed)
    say(to_json_line(log) if as_json else f"condense: {run_log.as_line(log)}")


def write_report(showing: Showing, report: Struct) -> None:
    """Write the report where it was asked for. Raises OutputError."""
    if showing.report is not None:
        from ...storage.files import write_bytes

        write_bytes(showing.report, to_json(report).encode())
    if showing.json:
        write_text(to_json(report))


def run_one(file: str, treatment: Treatment, showing: Showing, to: Destination, registry: Registry) -> ExitStatus:
    """Condense the transcript, write it and report it. Raises CondenseError."""
    work = treatment.work
    # Calls of models have a line of their own.
    is_wanted = not (showing.quiet or showing.log_json or treatment.calls.profile or treatment.calls.allow_calls)
    with progress_of(file, is_wanted=is_wanted) as tell_pass:
        transcript = work.continuing(read_transcript(file, treatment.format, treatment.lenient))
        if work.overrides.keep:
            check_keep(work.overrides.keep, [transcript.messages])
        if treatment.to is None:
            to.check(transcript)
        count = Counter.of(transcript, work.configuration.counter)
        with summaries_for(work.configuration, count, treatment.calls) as summaries:
            condensed = Worker(work, treatment.calls, summaries, registry, time.perf_counter)
            result = condensed(transcript, count, on_pass=tell_pass)
    known = len(result.warnings)
    if work.names_blocks:
        from ...passes.flags import name_flags

        result = name_flags(result, work.overrides, work.configuration)
    output = output_of(result, treatment.to)
    data = output.data or b""
    if to.writes_stdout and not to.dry_run:
        write_out(data)
    written = to.write(data, transcript)
    status = status_of_result(result, summaries, treatment)
    told = summary_use(summaries, result)
    if not showing.log_json:  # Its line names the error.
        say_error(result)
        if status and (showing.quiet or showing.json):  # Nothing else tells the reason on standard error.
            _say_why(status, result, told)
    if showing.is_silent:
        for warning in result.warnings[known:]:  # What was to be kept, by a name that is mistyped, is gone.
            say(f"condense: warning: {visible(warning)}")
        if written.new_session is not None:  # For `claude --resume "$(condense run … --new-session -q)"`.
            tell(written.new_session.id)
        elif to.where is Where.NEW_SESSION and not to.dry_run:
            say("condense: nothing changed, so no new session was written.")
        return status
    if showing.explain or showing.diff or showing.verbose or showing.html is not None:
        from ...passes.explained import explained

        result = explained(result, count)
    ran = Ran(file, treatment, showing, to, result, count, output, written, told)
    if showing.html is not None:
        write_page(showing.html, ran)
    if showing.writes_report:
        write_report(showing, ran.report)
    if not (showing.json or showing.quiet):
        show(ran)
    if showing.log_json or showing.verbose:
        log_run(result, ran.report, work, status, as_json=showing.log_json)
    return status


def _say_why(status: ExitStatus, result: Condensation, told: SummaryUse) -> None:
    """Say why the status of a run is not 0, where no error of the provider tells it."""
    from ...report.run.shortcomings import why_status

    if status is ExitStatus.INTERRUPTED:
        say("condense: Interrupted.")
    elif result.error is None:
        for line in (*why_status(result), *(told.warnings if status is ExitStatus.CALLS_FAILED else ())):
            say(f"condense: {visible(line)}")


def progress_of(file: str, *, is_wanted: bool) -> AbstractContextManager[Tell]:
    """What says which pass is at work; nothing does where nobody waits at a terminal."""
    if not (is_wanted and sys.stderr.isatty()):
        return nullcontext(lambda text: None)
    from .progress import on_terminal

    return on_terminal(file)
