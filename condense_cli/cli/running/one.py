"""`condense run` on one transcript: it is condensed, written, and told of."""

from __future__ import annotations

import sys
import time
from contextlib import nullcontext
from typing import TYPE_CHECKING

from ...core.tokens import Counter
from ...delivering import Where
from ...errors import ExitStatus
from ...report.text.visible import visible
from ..console import say, tell, write_out
from ..reading import read_transcript
from .keeping import check_keep
from .log import log_run
from .output import write_report
from .providing import say_error
from .report import Ran, show, write_page
from .summarizing import SummaryUse, summaries_for, summary_use
from .work import Treatment, Worker, output_of, status_of_result

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from ...delivering import Destination
    from ...passes.condensation import Condensation
    from ...providers.registry import Registry
    from .options import Showing
    from .progress import Tell


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
