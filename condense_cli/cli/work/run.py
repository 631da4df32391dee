"""`condense run`: condense a transcript, write it and report it; hand many files and sets of rows to others."""

from __future__ import annotations

import time
from contextlib import ExitStack
from datetime import UTC, datetime

from ...config.options import Overrides
from ...config.overrides import checked
from ...core.wording import quoted, visible
from ...delivering import Destination, Where
from ...errors import ExitStatus, UsageError
from ...passes.condensation import Condensation
from ...passes.flags import name_flags
from ...providers.registry import Registry
from ...report.run.facts import Report, WrittenSession
from ...report.run.shortcomings import why_status
from ...report.sections import to_json_line
from ...rows.reading import rows_in
from ...tokens.counting import Counter
from ..commands.shrink import RunOptions, Showing
from ..console import say, tell, write_out
from ..options import TARGETS
from ..running.job import (
    Treatment,
    Work,
    Worker,
    check_keep,
    no_rows_to_split,
    output_of,
    status_of_result,
    summaries_for,
    summary_use,
    treatment_of,
)
from ..running.ran import Ran, check_configurations, destination, progress_of, show, write_page, write_report
from .counting import check_one
from .providing import registry_of_user, say_error, settings_with
from .reading import LATEST, check_rows, check_targets, check_thresholds, input_file, read_transcript, say_origin


def run(options: RunOptions) -> None:
    """Condense and exit with the status. Raises CondenseError."""
    _check_options(options)
    overrides = checked(options.part(Overrides).replace(target_tokens=None, target_percent=None))
    are_several, files = options.are_several, options.files
    given = files[0] if files else None
    file = "-" if are_several else input_file(given, options.session, is_latest_said=not options.log_json)
    if options.session != LATEST and not (are_several or options.log_json or options.quiet):
        say_origin(file)
    to = destination(file, options)
    registry = registry_of_user()
    settings = settings_with(options, registry)
    named = (str(options.config),) if options.config else ()
    check_configurations({*settings.files, *named}, (options.output, options.report, options.html))
    treatment = treatment_of(options, overrides, settings, registry)
    if are_several:
        check_one(treatment.work.count, "these are several")
        from ..running.many import run_many  # Few runs are on many files.

        raise SystemExit(run_many(files, treatment, options))
    kind = rows_in(file, options.format)
    if kind is not None:
        check_rows(file, _of_one(options) | _earlier(options) | {"--to": options.to_format})
        check_one(treatment.work.count, "this is a set of rows")
        from ..running.rows import run_rows  # Nor on rows.

        raise SystemExit(int(run_rows(file, kind, treatment, options, to)))
    if options.split:
        raise no_rows_to_split()
    status, session = run_one(file, treatment, options, to, registry)
    if options.resume and session is not None:
        from ..foreground import run_in_foreground  # Few runs start a client.

        raise SystemExit(run_in_foreground(session.command, folder=session.cwd))
    raise SystemExit(int(status))


def _check_options(options: RunOptions) -> None:
    """Raise UsageError for options that need others or exclude each other."""
    check_thresholds(options.threshold, options.above, if_needed=options.if_needed)
    to = options.to_format
    if to is not None and to not in TARGETS:
        raise UsageError(f"--to has no format {quoted(to)}.", f"Name one of {', '.join(TARGETS)}.")
    for flag, is_given in (("--in-place", options.in_place), ("--new-session", options.new_session)):
        if to is not None and is_given:
            raise UsageError(
                f"{flag} and --to cannot be used together: what is written is no session of the client.",
                "Write it to a file with -o FILE.",
            )
    check_targets(options.target_tokens, options.target_percent)
    if options.resume and (not options.new_session or options.dry_run):
        raise UsageError("--resume starts the client with a new session.", "Use it with --new-session alone.")
    if options.split and options.target_tokens is None:
        raise UsageError("--split needs a size.", "Set the largest row with --target-tokens 32k.")
    if options.until is not None and not options.until.strip():
        raise UsageError("--until needs words of a prompt.")
    if options.in_place and any(_earlier(options).values()):
        raise UsageError(
            "--in-place would remove what came after the compaction or prompt.", "Use --new-session or -o FILE."
        )
    if options.are_several:
        _check_several(options)
    elif options.engine != "local":
        raise UsageError(f"--engine {options.engine} works on several files.", "Name a folder and --out-dir DIR.")


def _earlier(options: RunOptions) -> dict[str, object]:
    """Return the options that take an earlier state of a session, with their values."""
    return {"--before-compaction": options.before_compaction, "--until": options.until}


def _of_one(showing: Showing) -> dict[str, object]:
    """Return the options that report one transcript, with their values."""
    return {"--explain": showing.explain, "--log-json": showing.log_json, "--html": showing.html}


def _check_several(options: RunOptions) -> None:
    """Raise UsageError for options that are for one transcript, or if nothing says where several go."""
    files, out_dir = options.files, options.out_dir
    places: dict[str, object] = {
        "-o": options.output,
        "--session": options.session,
        "--new-session": options.new_session,
        "--in-place": options.in_place,
        **_earlier(options),
    }
    refused = next((option for option, value in (places | _of_one(options)).items() if value), None)
    if out_dir is not None and refused is not None:
        raise UsageError(
            f"{refused} and --out-dir cannot be used together.",
            f"--out-dir takes many transcripts; {refused} works on one.",
        )
    if not files:
        raise UsageError("No transcript given.", "For example: condense run FILE… --out-dir DIR")
    several = f"{files[0]} is a folder"
    if len(files) > 1:
        several = f"{', '.join(files[:2])}{'' if len(files) == 2 else ', …'} are {len(files)} transcripts"
    if refused is not None:
        hint = "--out-dir DIR takes them all." if refused in places else f"Leave {refused} out, or name one transcript."
        raise UsageError(f"{several}, and {refused} works on one transcript.", hint)
    if out_dir is None and not options.dry_run:
        raise UsageError(f"{several}. Say where to write.", "--out-dir DIR writes them there; --dry-run only reports.")


def _log(result: Condensation, report: Report, work: Work, status: ExitStatus, *, as_json: bool) -> None:
    time = datetime.now(UTC).isoformat(timespec="milliseconds")
    from ...report.run import log as run_log  # Few runs log anything.

    log = run_log.build(result, report, work.configuration, time, int(status), if_needed=work.if_needed)
    say(to_json_line(log) if as_json else f"condense: {run_log.as_line(log)}")


def run_one(
    file: str, treatment: Treatment, showing: Showing, to: Destination, registry: Registry
) -> tuple[ExitStatus, WrittenSession | None]:
    """Condense the transcript, write it and report it; return the new session, if any. Raises CondenseError."""
    with ExitStack() as shared:  # What is read on the way is not read again for the report.
        work = treatment.work
        # Calls of models have a line of their own.
        is_wanted = not (showing.quiet or showing.log_json or treatment.calls.profile or treatment.calls.allow_calls)
        with progress_of(file, is_wanted=is_wanted) as tell_pass:
            whole = read_transcript(file, treatment.format, treatment.lenient)
            transcript = work.continuing(treatment.earlier(whole))
            if work.overrides.keep:
                check_keep(work.overrides.keep, [transcript.messages])
            if treatment.to is None:
                to.check(transcript)
            count = Counter.of(transcript, work.configuration.counter)
            shared.enter_context(count.sharing())
            with summaries_for(work.configuration, count, treatment.calls) as summaries:
                condensed = Worker(work, treatment.calls, summaries, registry, time.perf_counter)
                result = condensed(transcript, count, on_pass=tell_pass)
        known = len(result.warnings)
        if work.names_blocks:
            result = name_flags(result, work.overrides, work.configuration)
        output = output_of(result, treatment.to)
        data = output.data or b""
        if to.writes_stdout and not to.dry_run:
            write_out(data)
        written = to.write(data, whole.source.data, whole.format)
        status = status_of_result(result, summaries, treatment)
        told = summary_use(summaries, result)
        if not showing.log_json:  # Its line names the error.
            say_error(result)
            if status and (showing.quiet or showing.json):  # Nothing else tells the reason on standard error.
                if status is ExitStatus.INTERRUPTED:
                    say("condense: Interrupted.")
                elif result.error is None:
                    for line in (*why_status(result), *(told.warnings if status is ExitStatus.CALLS_FAILED else ())):
                        say(f"condense: {visible(line)}")
        if showing.is_silent:
            for warning in result.warnings[known:]:  # What was to be kept, by a name that is mistyped, is gone.
                say(f"condense: warning: {visible(warning)}")
            if written.new_session is not None:  # For `claude --resume "$(condense run … --new-session -q)"`.
                tell(written.new_session.id)
            elif to.where is Where.NEW_SESSION and not to.dry_run:
                say("condense: nothing changed, so no new session was written.")
            return status, written.new_session
        if showing.explain or showing.diff or showing.verbose or showing.html is not None:
            from ...passes.explained import explained  # Only for those who read it.

            result = explained(result, count)
        ran = Ran(file, treatment, showing, to, result, count, output, written, told)
        if showing.html is not None:
            write_page(showing.html, ran)
        if showing.writes_report:
            write_report(showing, ran.report)
        if not (showing.json or showing.quiet):
            show(ran)
        if showing.log_json or showing.verbose:
            _log(result, ran.report, work, status, as_json=showing.log_json)
        return status, written.new_session
