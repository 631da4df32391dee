"""`condense run`: condense one transcript."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import converting
from .console import exits
from .needing import Above, ContextWindow, IfNeeded, Threshold, check_thresholds
from .options import (
    AllowCalls,
    AllowPartial,
    CountAs,
    CounterOption,
    DropThinking,
    ExceptTools,
    Files,
    FormatOption,
    Jobs,
    KeepRecent,
    Lenient,
    LosslessOnly,
    MaxCost,
    MaxSummaryTokens,
    Model,
    NoCache,
    NoConfig,
    OnlyTools,
    OutDir,
    OverheadTokens,
    Pins,
    Preset,
    Profile,
    Range,
    Redact,
    Session,
    TargetPercent,
    TargetTokens,
    check_targets,
    overrides_of,
)
from .providing import Assignments, Provider, registry_of_user, settings_with
from .reading import input_file
from .run_log import LogJson

EXAMPLES = (
    "Examples:\n\n\b\n"
    "condense run session.jsonl                  report and diff, nothing written\n"
    "condense run session.jsonl --preset speed -o small.jsonl\n"
    "condense run session.jsonl --target-tokens 60000 -o small.jsonl\n"
    "condense run session.jsonl --new-session    and how to resume it\n"
    "condense run session.jsonl --in-place       condense undo takes it back\n"
    "condense run session.jsonl --lossless-only -o small.jsonl\n"
    "condense run session.jsonl --slim -o small.jsonl\n"
    "condense run session.jsonl --provider lossless --set keep_recent=4\n"
    "condense run session.jsonl --keep-recent 20 --except-tools 'mcp__*' --pin TODO\n"
    "condense run session.jsonl --only-tools Read --range 10:-30\n"
    "cat session.jsonl | condense run - | next-program\n"
    "condense run --session latest               the newest session of this project\n"
    "condense run session.jsonl --cost           and how the money is computed\n"
    "condense run run.eval --to anthropic -o messages.json\n"
    "condense run session.jsonl --profile gpt-4o-mini -o small.jsonl\n"
    "condense run session.jsonl --count exact --profile claude-opus-5\n"
    "condense run session.jsonl --if-needed --in-place   when it is nearly full\n"
    "condense run session.jsonl --json | jq .tokens.saved_percent\n"
    "condense run rows.jsonl.gz -o small.jsonl.gz     every row of a set\n"
    "condense run sessions/ extra.jsonl --out-dir small -j 4"
)


def run(
    files: Files = None,
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
    target_percent: TargetPercent = None,
    keep_recent: KeepRecent = None,
    only_tools: OnlyTools = None,
    except_tools: ExceptTools = None,
    range: Range = None,
    pin: Pins = None,
    lossless_only: LosslessOnly = False,
    slim: Annotated[
        bool,
        typer.Option(
            "--slim",
            help="Leave out of the file, too, what only the client shows; the model never sees it, and "
            "condense restore does not bring it back.",
        ),
    ] = False,
    drop_thinking: DropThinking = False,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict", help="Exit with status 4 when the target is missed; the result is written all the same."
        ),
    ] = False,
    model: Model = None,
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE", help="Write the JSON report there as well.")
    ] = None,
    new_session: Annotated[
        bool, typer.Option("--new-session", help="Write a session beside FILE that its client can resume.")
    ] = False,
    out_dir: OutDir = None,
    in_place: Annotated[bool, typer.Option("--in-place", help="Replace FILE; a backup stays beside it.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace FILE even if a program has it open or just changed it.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="Report only, write no transcript.")] = False,
    cost: Annotated[
        bool,
        typer.Option(
            "--cost", help="Show, in a pipe too, what the next turn costs, when it pays, and how that is known."
        ),
    ] = False,
    overhead_tokens: OverheadTokens = None,
    counter: CounterOption = None,
    count_as: CountAs = None,
    if_needed: IfNeeded = False,
    context_window: ContextWindow = None,
    threshold: Threshold = None,
    above: Above = None,
    explain: Annotated[bool, typer.Option("--explain", help="Give a reason for every block.")] = False,
    profile: Profile = None,
    allow_calls: AllowCalls = False,
    max_cost: MaxCost = None,
    max_summary_tokens: MaxSummaryTokens = None,
    no_cache: NoCache = False,
    redact: Redact = False,
    allow_partial: AllowPartial = False,
    jobs: Jobs = None,
    format: FormatOption = None,
    to_format: converting.To = None,
    lenient: Lenient = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No report.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="The whole diff, timings and costs.")] = False,
    log_json: LogJson = False,
) -> None:
    """Condense a transcript.

    On a terminal this prints what would change and what that saves in tokens and money. In a pipe the condensed
    transcript goes to standard output and the report, in a line, to standard error, as it does in a script that
    writes a file. FILE is changed only by --in-place; condense undo takes that back. Several files, or folders, go to
    --out-dir; run again, it goes on where it stopped.
    """
    with exits():
        check_targets(target_tokens, target_percent)
        check_thresholds(threshold, above, if_needed=if_needed)
        converting.check(to_format, in_place=in_place, new_session=new_session)
        overrides = overrides_of(
            keep_recent, only_tools, except_tools, range, pin, lossless_only=lossless_only, drop_thinking=drop_thinking
        )

        # Imported step by step: a wrong flag is told at once, and a run needs the modules of its own kind alone.
        from .several import check_rows, check_several, is_several

        files = files or []
        of_one: dict[str, object] = {"--explain": explain, "--cost": cost, "-v": verbose, "--log-json": log_json}
        are_several = is_several(files, out_dir)
        if are_several:
            places: dict[str, object] = {
                "-o": output,
                "--session": session,
                "--new-session": new_session,
                "--in-place": in_place,
            }
            check_several(files, out_dir, places, of_one, dry_run=dry_run)
        given = files[0] if files else None
        file = "-" if are_several else input_file(given, session, is_latest_said=not log_json)

        from .destination import check_configurations, destination

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

        from ..providers.window import Asked
        from ..rows.recognising import rows_in
        from .counting import check_one, count_of
        from .summarizing import calls_of
        from .telling import Telling
        from .work import Treatment, Work, check_strict, with_own_target

        registry = registry_of_user()
        settings = settings_with(preset, config, provider, assignments, registry, no_config=no_config)
        check_configurations({*settings.files, *([str(config)] if config else ())}, output, report)
        calls = calls_of(
            profile, allow_calls, max_cost, max_summary_tokens, no_cache=no_cache, redact=redact, is_planned=dry_run,
            is_count_asked=count_as == "exact",
        )  # fmt: skip
        configuration = settings.configuration
        if counter is not None:
            configuration = replace(configuration, counter=counter)
        work = Work(
            configuration,
            registry.given,
            overrides=overrides,
            target_tokens=target_tokens,
            target_percent=target_percent,
            model=model,
            slim=slim,
            if_needed=if_needed,
            asked=Asked(None, context_window, threshold, above),
            overhead_tokens=overhead_tokens,
            count=count_of(count_as, settings),
        )
        work = with_own_target(work, settings)
        if strict:
            check_strict(work, registry)
        treatment = Treatment(
            work, calls, format, to_format, lenient=lenient, strict=strict, allow_partial=allow_partial
        )
        name = _lossless_name(settings.name, preset) if lossless_only else settings.name
        telling = Telling(name, json, report, quiet, explain=explain, cost=cost, verbose=verbose, log_json=log_json)

        if are_several:
            check_one(work.count, "these are several")
            from .many import run_many

            raise SystemExit(run_many(files, treatment, telling, out_dir, jobs, dry_run=dry_run))
        kind = rows_in(file, format)
        if kind is not None:
            check_rows(file, of_one | {"--to": to_format})
            check_one(work.count, "this is a set of rows")
            from .run_rows import run_rows

            raise SystemExit(int(run_rows(file, kind, treatment, telling, to, jobs)))
        from .run_one import run_one

        raise SystemExit(int(run_one(file, treatment, telling, to, registry)))


def _lossless_name(name: str, preset: str | None) -> str:
    """What the configuration is called in reports where --lossless-only leaves its passes out."""
    from ..config.presets import DEFAULT_PRESET

    return "lossless only" if name == DEFAULT_PRESET and preset is None else f"{name}, lossless only"
