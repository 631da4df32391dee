"""`condense estimate`: compare what presets would save and cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from ...api.estimating import PlannedSummaries, estimated
from ...calling import OnDemand
from ...config.models import Configuration
from ...config.overrides import Settings
from ...errors import UsageError
from ...passes.condensation import Condensation
from ...providers.registry import Registry
from ...report.estimate import sections
from ...rows.reading import rows_in
from ..commands.decide import EstimateOptions
from ..console import print_report, say
from ..running.job import SummaryUse, summary_use
from .counting import check_one, count_asked, counted_transcript
from .providing import checked, provider_with, registry_of_user, say_error
from .reading import check_rows, check_targets, input_file, name_of, read_transcript
from .settings import counter_of, presets_here, settings_if_any


def estimate(options: EstimateOptions) -> None:
    """Print the comparison. Raises CondenseError."""
    check_targets(options.target_tokens, options.target_percent)
    # With --session all arguments are presets.
    file = input_file(None if options.session is not None else options.file, options.session)
    registry = registry_of_user()
    presets, configurations = _ways(options, registry)
    settings = settings_if_any()
    _warn_of_settings(presets, settings)
    counter = counter_of(options.counter, settings)
    how, calls = count_asked(options, settings)
    kind = rows_in(file, options.format)
    if kind is not None:
        from ..running.rows import estimate_rows  # With processes to read rows.

        of_one = {
            "--target-tokens": options.target_tokens,
            "--target-percent": options.target_percent,
            "--quality": options.quality or None,
            "--overhead-tokens": options.overhead_tokens,
        }
        check_rows(file, of_one)
        configurations = [(name, replace(each, counter=counter)) for name, each in configurations]
        check_one(how, "this is a set of rows")
        estimate_rows(
            file, kind, configurations, registry.given, model=options.model, how=how, calls=calls, json=options.json
        )
        return
    transcript = read_transcript(file, options.format, options.lenient)
    if options.model:
        transcript = transcript.continued_by(options.model)
    counted = counted_transcript(transcript, counter, how, calls)
    source = name_of(file)

    def told(result: Condensation, summaries: OnDemand | None) -> PlannedSummaries:
        say_error(result)
        use = summary_use(summaries) if summaries else SummaryUse()
        return use.used, use.notes

    found = estimated(
        counted.transcript,
        configurations,
        count=counted.count,
        factor=counted.factor,
        registry=registry,
        target_tokens=options.target_tokens,
        target_percent=options.target_percent,
        overhead_tokens=options.overhead_tokens,
        quality=options.quality,
        calls=calls,
        source=source,
        told=told,
    )
    print_report(found, lambda: sections(found), as_json=options.json)


def _ways(options: EstimateOptions, registry: Registry) -> tuple[list[str], list[tuple[str, Configuration]]]:
    """Return names of presets, and their configurations and those of providers by name. Raises CondenseError."""
    here = presets_here()
    first = [options.file] if options.session is not None and options.file is not None else []
    named = list(dict.fromkeys([*first, *options.presets, *options.preset]))
    names = named or ([] if options.provider else here.names())
    configurations = [(name, checked(here.named(name), registry)) for name in names]
    configurations += _of_providers(options.provider, options.assignments, registry)
    return names, configurations


def _of_providers(
    ids: Sequence[str], assignments: Sequence[str], registry: Registry
) -> Iterator[tuple[str, Configuration]]:
    """Yield each provider with its own defaults and the values of --set."""
    if assignments and len(ids) != 1:
        raise UsageError(
            "--set needs one --provider.", "For example --provider truncation --set max_tool_result_lines=20."
        )
    for provider_id in dict.fromkeys(ids):
        yield provider_id, provider_with(provider_id, assignments, registry)


def _warn_of_settings(names: list[str], settings: Settings | None) -> None:
    """Warn if a plain run here uses settings that no row of the table shows."""
    if settings is not None and not {settings.name, *settings.files} & {*names, *presets_here().names()}:
        say(
            f"condense: warning: A run here uses {settings.name}, which is not in this table; "
            "condense run FILE --dry-run shows its effect."
        )
