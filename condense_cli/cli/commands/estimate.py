"""`condense estimate`: what presets would bring and cost, side by side."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from ...errors import UsageError
from ..console import console, exits, say, write_text
from ..options import (
    AllowCalls,
    CountAs,
    CounterOption,
    File,
    FormatOption,
    LenientReading,
    Model,
    OverheadTokens,
    Profile,
    Redact,
    Session,
    TargetPercent,
    TargetTokens,
    check_targets,
    complete_preset,
)
from ..reading import input_file, name_of, read_transcript
from ..running.providing import Assignments, checked, complete_provider, provider_with, registry_of_user, say_error
from ..running.several import check_rows

if TYPE_CHECKING:
    from ...config.layers import Settings
    from ...config.models import Configuration
    from ...providers.registry import Registry

EXAMPLES = (
    "Examples:\n\n\b\n"
    "condense estimate session.jsonl                   all presets\n"
    "condense estimate session.jsonl speed mine.yaml   these two\n"
    "condense estimate session.jsonl --target-tokens 60k   which get there\n"
    "condense estimate session.jsonl --quality     what each keeps of this session\n"
    "condense estimate session.jsonl --provider truncation --provider native\n"
    "condense estimate --session latest speed\n"
    "condense estimate session.jsonl -m claude-opus-4-5 --overhead-tokens 20000\n"
    "condense estimate session.jsonl --count o200k     in plain counts\n"
    "condense estimate session.jsonl --json | jq '.presets[].saved_percent'"
)


def estimate(
    file: File = None,
    presets: Annotated[
        list[str] | None, typer.Argument(metavar="[PRESET]...", help="Presets, or files.  [default: all presets]")
    ] = None,
    session: Session = None,
    preset: Annotated[
        list[str] | None,
        typer.Option(
            "--preset", "-p", metavar="NAME|PATH", autocompletion=complete_preset, help="A preset; may be repeated."
        ),
    ] = None,
    provider: Annotated[
        list[str] | None,
        typer.Option(
            "--provider", metavar="NAME", autocompletion=complete_provider, help="A provider; may be repeated."
        ),
    ] = None,
    assignments: Assignments = None,
    model: Model = None,
    target_tokens: TargetTokens = None,
    target_percent: TargetPercent = None,
    overhead_tokens: OverheadTokens = None,
    counter: CounterOption = None,
    count_as: CountAs = None,
    quality: Annotated[
        bool,
        typer.Option("--quality", help="Measure on this transcript how much each keeps of what later work needs."),
    ] = False,
    profile: Profile = None,
    allow_calls: AllowCalls = False,
    redact: Redact = False,
    json: Annotated[bool, typer.Option("--json", help="Print the estimate as JSON.")] = False,
    format: FormatOption = None,
    lenient: LenientReading = False,
) -> None:
    """Show what presets would save and cost. Nothing is written.

    Condensing saves tokens at every turn and costs once: what follows the first change is written to
    the provider's cache anew. The table says what that costs and after how many turns it has paid, and
    how much of what later work needs each preset keeps: typically, or with --quality on this transcript.
    With --profile or --allow-calls the calls for summaries are priced as well; none is made. With --count exact the
    one that counts is made.
    """
    with exits():
        from datetime import UTC, datetime

        from msgspec.structs import replace

        from ... import api
        from ...core.tokens import BUILT_IN, Counter, encoding_for
        from ...report.costs.facts import PriceSource
        from ...report.costs.usage import overhead_of
        from ...report.estimate import facts as facts_of_estimate
        from ...report.estimate.typical import typical_of
        from ...report.run.facts import to_json
        from ...rows.recognising import rows_in
        from ..running.counting import check_one, count_asked, factor_for
        from ..running.settings import presets_here, settings_if_any
        from ..running.summarizing import summaries_for, told_of

        check_targets(target_tokens, target_percent)
        if session is not None and file is not None:
            presets, file = [file, *(presets or [])], None
        file = input_file(file, session)
        registry = registry_of_user()
        names = list(dict.fromkeys([*(presets or []), *(preset or [])]))
        if not (names or provider):
            names = presets_here().names()
        configurations = [(name, checked(presets_here().named(name), registry)) for name in names]
        configurations += _of_providers(provider or [], assignments, registry)
        settings = settings_if_any()
        _warn_of_settings(names, settings)
        counter = counter or (settings.configuration.counter if settings else BUILT_IN)
        how, calls = count_asked(count_as, settings, profile, allow_calls, redact=redact)
        kind = rows_in(file, format)
        if kind is not None:
            from ..rows.estimate import estimate_rows

            of_one: dict[str, object] = {"--target-tokens": target_tokens, "--target-percent": target_percent}
            of_one["--quality"] = quality or None
            check_rows(file, of_one | {"--overhead-tokens": overhead_tokens})
            configurations = [(name, replace(each, counter=counter)) for name, each in configurations]
            check_one(how, "this is a set of rows")
            estimate_rows(file, kind, configurations, registry.given, model=model, how=how, calls=calls, json=json)
            return
        transcript = read_transcript(file, format, lenient)
        if model:
            transcript = replace(transcript, model=model)
        encoding = encoding_for(transcript.model, counter)
        count = Counter.of(transcript, counter)
        factor = factor_for(how, transcript, count, calls)
        before = factor.shown(count.transcript(transcript))
        if target_percent is not None:
            target_tokens = int(before * target_percent / 100)
        found = []
        warnings: dict[str, None] = {}
        for name, configuration in configurations:
            with summaries_for(configuration, count, calls) as summaries:
                result = api.condense(
                    transcript,
                    configuration,
                    target_tokens=target_tokens,
                    counter=count,
                    factor=factor,
                    summarizer=summaries,
                    registry=registry,
                    proves=False,
                )
            say_error(result)
            told = told_of(summaries)
            found.append((name, result, told.used))
            warnings |= dict.fromkeys(told.warnings)
        kept = None
        if quality:
            from ...measuring import kept_here

            configured = [(name, registry.configured(configuration)) for name, configuration in configurations]
            share = None if target_tokens is None else target_tokens / max(1, before)
            kept, reason = kept_here(transcript, configured, count=count, target=share)
            warnings |= dict.fromkeys([reason] if reason else [])
        if kept is None and target_tokens is None:
            kept = typical_of(name for name in names if presets_here().folder_of(name) is None)
        estimate = facts_of_estimate.build(
            transcript,
            found,
            count=count,
            factor=factor,
            encoding=encoding,
            overhead=overhead_of(transcript, count, factor, overhead_tokens),
            source=name_of(file),
            price_source=PriceSource.of(transcript.model, datetime.now(UTC)),
            target=target_tokens,
            warnings=tuple(warnings),
            kept=kept,
        )
        if json:
            write_text(to_json(estimate))
            return
        from rich.text import Text

        from ...report.estimate.terminal import render_estimate

        screen = console()
        for part in render_estimate(estimate, screen.width):
            screen.print(part, soft_wrap=isinstance(part, Text) and not screen.is_terminal)


def _of_providers(
    ids: list[str], assignments: list[str] | None, registry: Registry
) -> Iterator[tuple[str, Configuration]]:
    """Each provider with its own defaults, and with what --set says."""
    if assignments and len(ids) != 1:
        raise UsageError(
            "--set needs one --provider.", "For example --provider truncation --set max_tool_result_lines=20."
        )
    for id in dict.fromkeys(ids):
        yield id, provider_with(id, assignments, registry)


def _warn_of_settings(names: list[str], settings: Settings | None) -> None:
    """Say so where a plain run here does what none of the presets does: its figures would contradict these."""
    from ..running.settings import presets_here

    if settings is not None and not {settings.name, *settings.files} & {*names, *presets_here().names()}:
        say(
            f"condense: warning: A run here uses {settings.name}, which is none of these; "
            "condense run FILE --dry-run shows what it does."
        )
