"""`condense run`: condense one transcript."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import ExitStatus, UsageError
from .console import console, exits, say, write_text
from .options import (
    AllowCalls,
    AllowPartial,
    ExceptTools,
    File,
    FormatOption,
    KeepRecent,
    MaxCost,
    MaxSummaryTokens,
    NoCache,
    NoConfig,
    OnlyTools,
    OverheadTokens,
    Pins,
    Preset,
    Profile,
    Range,
    Redact,
    Session,
    TargetTokens,
    overrides_of,
)
from .providing import Assignments, Provider, registry_of_user, say_error, settings_with
from .reading import input_file, name_of, read_transcript

if TYPE_CHECKING:
    from decimal import Decimal

    from ..passes.pipeline import Condensation
    from ..report.facts import Cost, Report
    from ..tokens import Counter

EXAMPLES = (
    "Examples:\n\n\b\n"
    "condense run session.jsonl                  report and diff, nothing written\n"
    "condense run session.jsonl --preset speed -o small.jsonl\n"
    "condense run session.jsonl --target-tokens 60000 -o small.jsonl\n"
    "condense run session.jsonl --new-session    and how to resume it\n"
    "condense run session.jsonl --in-place       condense undo takes it back\n"
    "condense run session.jsonl --lossless-only -o small.jsonl\n"
    "condense run session.jsonl --slim -o small.jsonl\n"
    "condense run session.jsonl --provider truncation --set max_tool_result_lines=20\n"
    "condense run session.jsonl --keep-recent 20 --except-tools 'mcp__*' --pin TODO\n"
    "condense run session.jsonl --only-tools Read --range 10:-30\n"
    "cat session.jsonl | condense run - | next-program\n"
    "condense run --session latest               the newest session of this project\n"
    "condense run session.jsonl --cost           and when that pays\n"
    "condense run session.jsonl --profile gpt-4o-mini -o small.jsonl\n"
    "condense run session.jsonl --json | jq .tokens.saved_percent"
)


def run(
    file: File = None,
    session: Session = None,
    preset: Preset = None,
    config: Annotated[
        Path | None, typer.Option("--config", "-c", metavar="FILE", help="YAML or JSON configuration to run instead.")
    ] = None,
    no_config: NoConfig = False,
    provider: Provider = None,
    assignments: Assignments = None,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE|-", help="Write the condensed transcript there.")
    ] = None,
    target_tokens: TargetTokens = None,
    target_percent: Annotated[
        float | None,
        typer.Option("--target-percent", metavar="P", help="Get down to P percent of the tokens."),
    ] = None,
    keep_recent: KeepRecent = None,
    only_tools: OnlyTools = None,
    except_tools: ExceptTools = None,
    range: Range = None,
    pin: Pins = None,
    lossless_only: Annotated[
        bool,
        typer.Option(
            "--lossless-only",
            help="No pass, only references; condense restore undoes them.",
        ),
    ] = False,
    slim: Annotated[
        bool,
        typer.Option(
            "--slim",
            help="Leave out of the file, too, what only the client shows; the model never sees it, and "
            "condense restore does not bring it back.",
        ),
    ] = False,
    drop_thinking: Annotated[bool, typer.Option("--drop-thinking", help="Leave out all thinking that may go.")] = False,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict", help="Exit with status 4 when the target is missed; the result is written all the same."
        ),
    ] = False,
    model: Annotated[
        str | None,
        typer.Option("--model", "-m", metavar="NAME", help="Model that continues.  [default: the recorded one]"),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE", help="Write the JSON report there as well.")
    ] = None,
    new_session: Annotated[
        bool, typer.Option("--new-session", help="Write a session beside FILE that its client can resume.")
    ] = False,
    in_place: Annotated[bool, typer.Option("--in-place", help="Replace FILE; a backup stays beside it.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace FILE even if a program has it open or just changed it.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="Report only, write no transcript.")] = False,
    cost: Annotated[bool, typer.Option("--cost", help="Show what the next turn costs and when it pays.")] = False,
    overhead_tokens: OverheadTokens = None,
    explain: Annotated[bool, typer.Option("--explain", help="Give a reason for every block.")] = False,
    profile: Profile = None,
    allow_calls: AllowCalls = False,
    max_cost: MaxCost = None,
    max_summary_tokens: MaxSummaryTokens = None,
    no_cache: NoCache = False,
    redact: Redact = False,
    allow_partial: AllowPartial = False,
    format: FormatOption = None,
    lenient: Annotated[bool, typer.Option("--lenient", help="Keep lines that are not JSON as they are.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No report.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="The whole diff, timings and costs.")] = False,
) -> None:
    """Condense a transcript.

    On a terminal this prints what would change and what that saves. In a pipe the condensed transcript
    goes to standard output and the report to standard error. FILE is changed only by --in-place;
    condense undo takes that back.
    """
    with exits():
        _check_targets(target_tokens, target_percent)
        overrides = overrides_of(
            keep_recent, only_tools, except_tools, range, pin, lossless_only=lossless_only, drop_thinking=drop_thinking
        )
        file = input_file(file, session)
        from .destination import Kind, destination, proposal

        to = destination(
            file,
            output,
            new_session=new_session,
            in_place=in_place,
            force=force,
            report=report,
            json=json,
            dry_run=dry_run,
        )

        from msgspec.structs import replace

        from .. import api, formats
        from ..config.presets import DEFAULT_PRESET
        from ..passes.flags import name_flags
        from ..passes.limits import target_of
        from ..report import facts
        from ..tokens import Counter, encoding_for
        from .summarizing import calls_of, status_of, summaries_for, told_of

        status = ExitStatus.DONE
        registry = registry_of_user()
        settings = settings_with(preset, config, provider, assignments, registry, no_config=no_config)
        configuration, name = settings.configuration, settings.name
        if lossless_only:
            name = "lossless only" if name == DEFAULT_PRESET and preset is None else f"{name}, lossless only"
        transcript = read_transcript(file, format, lenient)
        is_writable = formats.format_named(transcript.format).is_writable
        to.check(transcript)
        if model:
            transcript = replace(transcript, model=model)
        encoding = encoding_for(transcript.model)
        counter = Counter.of(transcript)
        if target_percent is not None:
            target_tokens = int(counter.transcript(transcript) * target_percent / 100)
        elif target_tokens is None and settings.has_own_target:
            target_tokens = target_of(configuration, counter.transcript(transcript))
        calls = calls_of(
            profile, allow_calls, max_cost, max_summary_tokens, no_cache=no_cache, redact=redact, is_planned=dry_run
        )
        with summaries_for(configuration, counter, calls) as summaries:
            result = api.condense(
                transcript,
                configuration,
                target_tokens=target_tokens,
                counter=counter,
                summarizer=summaries,
                clock=time.perf_counter,
                slim=slim,
                overrides=overrides,
                registry=registry,
            )
        result = name_flags(result, overrides)
        if strict and result.target is None:
            raise UsageError("--strict needs a target.", "Name one with --target-tokens or --target-percent.")
        data = api.dump(result) if is_writable else b""
        written = to.write(data, transcript)
        if strict and result.is_target_missed:
            status = ExitStatus.TARGET_MISSED
        status = status_of(summaries, status, allow_partial=allow_partial)
        if result.error is not None:
            say_error(result)
            status = ExitStatus.FAILED
        if quiet and not json and report is None:
            raise SystemExit(int(status))
        told = told_of(summaries)
        is_cost_wanted = cost or verbose or json or report is not None
        facts_of_run = facts.build(
            result,
            count=counter,
            encoding=encoding,
            source=name_of(file),
            output=written.output,
            configuration=name,
            size_after=len(data) if is_writable else None,
            explain=explain,
            cost=_cost(result, counter, overhead_tokens, told.cost) if is_cost_wanted or told.cost else None,
            slim=slim,
            overhead_tokens=overhead_tokens,
            summaries=told.used,
            backup=written.backup,
            new_session=written.new_session,
            warnings=(*written.warnings, *told.warnings, *([str(result.error)] if result.error else ())),
        )
        if report is not None:
            from ..files import write_bytes

            write_bytes(report, facts.to_json(facts_of_run).encode())
        if json:
            write_text(facts.to_json(facts_of_run))
        elif not quiet:
            _show(result, facts_of_run, counter, to.writes_stdout, verbose, explain)
            for line in written.said:
                console().print(line, style="bold", soft_wrap=True)
            if to.kind is Kind.NOWHERE and not dry_run and result.transcript.is_changed:
                console().print(proposal(file, transcript.format, is_writable=is_writable), style="dim", soft_wrap=True)
        raise SystemExit(int(status))


run.__doc__ = (run.__doc__ or "") + "\n\n    " + EXAMPLES.replace("\n", "\n    ")


def _check_targets(target_tokens: int | None, target_percent: float | None) -> None:
    if target_tokens is not None and target_percent is not None:
        raise UsageError("--target-tokens and --target-percent cannot be used together.", "Name one target.")
    if target_percent is not None and not 0 < target_percent < 100:
        raise UsageError(f"--target-percent must be more than 0 and less than 100, not {target_percent:g}.")


def _cost(result: Condensation, counter: Counter, overhead_tokens: int | None, summaries: Decimal) -> Cost:
    """What the run means in money. Only where it is shown: the prices take longer to load than a small run takes."""
    from datetime import UTC, datetime

    from ..report.costs import PriceSource, cost_of
    from ..report.facts import overhead_of

    overhead, _ = overhead_of(result.before, counter, overhead_tokens)
    return cost_of(result, counter, overhead, PriceSource.of(result.before.model, datetime.now(UTC)), summaries)


def _show(
    result: Condensation, report: Report, counter: Counter, writes_stdout: bool, verbose: bool, explain: bool
) -> None:
    if writes_stdout and not (verbose or explain):
        from ..report.cost_text import cost_figures
        from ..report.facts import summary
        from ..report.slimming import slim_line
        from ..report.summaries import sentences

        say(f"condense: {summary(report)}")
        if report.slim:
            say(f"condense: {slim_line(report, report.slim)}")
        figures = cost_figures(report.cost, report.model, is_changed=bool(report.tokens.saved))
        for sentence in (*sentences(report.summaries), *([figures] if figures else ())):
            say(f"condense: {sentence}")
        for warning in report.warnings:
            say(f"condense: warning: {warning}")
        return
    from ..report import terminal

    screen = console(stderr=writes_stdout)
    for part in terminal.render_run(result, report, counter, screen.width, verbose=verbose, explain=explain):
        screen.print(part)
