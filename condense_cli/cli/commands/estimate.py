"""`condense estimate`: what presets would bring and cost, side by side."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, ClassVar, NamedTuple

import typer

from ...errors import UsageError
from ..console import console, exits, print_parts, say, write_text
from ..grouped import grouped
from ..help_pages import InGroups
from ..options import (
    AllowCalls,
    Assignments,
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
    complete_provider,
    preset_option,
)
from ..reading import input_file, name_of, read_transcript
from ..running.options import check_targets
from ..running.providing import checked, provider_with, registry_of_user, say_error
from ..running.several import check_rows

if TYPE_CHECKING:
    from ...calling import Calls, OnDemand
    from ...config.models import Configuration
    from ...config.overrides import Settings
    from ...passes.condensation import Condensation
    from ...providers.registry import Registry
    from ...report.estimate.facts import Estimate
    from ..running.counting import Counted

EXAMPLES = (
    "Examples:\n\n\b\n"
    "condense estimate session.jsonl                       all presets\n"
    "condense estimate session.jsonl speed mine.yaml       these two\n"
    "condense estimate session.jsonl --target-tokens 60k   which reach it\n"
    "condense estimate session.jsonl --quality             measured on this one\n"
    "condense estimate session.jsonl --provider truncation --provider native\n"
    "condense estimate --session latest speed\n"
    "condense estimate session.jsonl -m claude-opus-4-5 --overhead-tokens 20000\n"
    "condense estimate session.jsonl --count o200k         plain counts\n"
    "condense estimate session.jsonl --json | jq '.presets[].saved_percent'"
)


class Command(InGroups):
    groups: ClassVar = {
        "Common options": (
            "session",
            "preset",
            "provider",
            "assignments",
            "target_tokens",
            "target_percent",
            "quality",
        ),
        "Output": ("json",),
        "Counting tokens": ("model", "overhead_tokens", "counter", "count_as"),
        "Model calls": ("profile", "allow_calls", "redact"),
        "Reading": ("format_name", "lenient"),
    }


class Comparing(NamedTuple):
    """What is to be compared: presets and providers, on a transcript or a set of rows."""

    file: File = None
    presets: Annotated[
        list[str] | None, typer.Argument(metavar="[PRESET]...", help="Presets, by name or path.  [default: all]")
    ] = None
    session: Session = None
    preset: Annotated[list[str] | None, preset_option(help="Preset to compare; may be repeated.")] = None
    provider: Annotated[
        list[str] | None,
        typer.Option(
            "--provider", metavar="NAME", autocompletion=complete_provider, help="Provider to compare; may be repeated."
        ),
    ] = None
    assignments: Assignments = None

    @property
    def source(self) -> str:
        """The file; with --session all arguments are presets. Raises UsageError."""
        return input_file(None if self.session is not None else self.file, self.session)

    @property
    def names(self) -> list[str]:
        """The presets that are named, each once."""
        first = [self.file] if self.session is not None and self.file is not None else []
        return list(dict.fromkeys([*first, *(self.presets or []), *(self.preset or [])]))


class EstimateFigures(NamedTuple):
    """In which numbers."""

    model: Model = None
    target_tokens: TargetTokens = None
    target_percent: TargetPercent = None
    overhead_tokens: OverheadTokens = None
    counter: CounterOption = None
    count_as: CountAs = None
    quality: Annotated[
        bool,
        typer.Option(
            "--quality", help="Measure on this transcript how much of what later work needs each preset keeps."
        ),
    ] = False


class PricedCalls(NamedTuple):
    """Which calls are priced, or made with --count exact."""

    profile: Profile = None
    allow_calls: AllowCalls = False
    redact: Redact = False


class EstimateOutput(NamedTuple):
    """How it is read and printed."""

    json: Annotated[bool, typer.Option("--json", help="Print the estimate as JSON.")] = False
    format_name: FormatOption = None
    lenient: LenientReading = False


class _Ways(NamedTuple):
    """What is compared: every configuration by its name, of which the first ones are presets."""

    presets: list[str]
    configurations: list[tuple[str, Configuration]]
    registry: Registry


@grouped
def estimate(comparing: Comparing, measuring: EstimateFigures, calling: PricedCalls, printing: EstimateOutput) -> None:
    """Compare what presets would save and cost. Nothing is written.

    Condensing saves tokens on every turn, at a one-time cost: everything after the first change has to be cached again.
    The table shows that cost, after how many turns it has paid for itself, and how much of what later work needs each
    preset is expected to keep (--quality measures it). With --profile or --allow-calls it includes the
    price of summaries, without calling a model; only --count exact makes a call.
    """
    with exits():
        from msgspec.structs import replace

        from ...report.run.facts import to_json
        from ...rows.reading import rows_in
        from ..running.counting import check_one, count_asked, counted_transcript
        from ..running.settings import counter_of, settings_if_any

        check_targets(measuring.target_tokens, measuring.target_percent)
        file = comparing.source
        ways = _ways(comparing, registry_of_user())
        settings = settings_if_any()
        _warn_of_settings(ways.presets, settings)
        counter = counter_of(measuring.counter, settings)
        how, calls = count_asked(
            measuring.count_as, settings, calling.profile, calling.allow_calls, redact=calling.redact
        )
        kind = rows_in(file, printing.format_name)
        if kind is not None:
            from ..rows.estimate import estimate_rows

            of_one: dict[str, object] = {
                "--target-tokens": measuring.target_tokens, "--target-percent": measuring.target_percent,
                "--quality": measuring.quality or None, "--overhead-tokens": measuring.overhead_tokens,
            }  # fmt: skip
            check_rows(file, of_one)
            configurations = [(name, replace(each, counter=counter)) for name, each in ways.configurations]
            check_one(how, "this is a set of rows")
            estimate_rows(
                file, kind, configurations, ways.registry.given,
                model=measuring.model, how=how, calls=calls, json=printing.json,
            )  # fmt: skip
            return
        transcript = read_transcript(file, printing.format_name, printing.lenient)
        if measuring.model:
            transcript = transcript.continued_by(measuring.model)
        counted = counted_transcript(transcript, counter, how, calls)
        found = _estimated(counted, ways, measuring, calls, name_of(file))
        if printing.json:
            write_text(to_json(found))
            return
        from ...report.estimate.terminal import render_estimate

        print_parts(render_estimate(found, console().width))


def _estimated(counted: Counted, ways: _Ways, measuring: EstimateFigures, calls: Calls, source: str) -> Estimate:
    """What each configuration makes of the transcript. Raises CondenseError."""
    from ...api.estimating import PlannedSummaries, estimated
    from ..running.work import SummaryUse, summary_use

    def told(result: Condensation, summaries: OnDemand | None) -> PlannedSummaries:
        say_error(result)
        use = summary_use(summaries) if summaries else SummaryUse()
        return use.used, use.notes

    return estimated(
        counted.transcript,
        ways.configurations,
        count=counted.count,
        factor=counted.factor,
        registry=ways.registry,
        target_tokens=measuring.target_tokens,
        target_percent=measuring.target_percent,
        overhead_tokens=measuring.overhead_tokens,
        quality=measuring.quality,
        calls=calls,
        source=source,
        told=told,
    )


def _ways(comparing: Comparing, registry: Registry) -> _Ways:
    """All presets where nothing is named. Raises CondenseError."""
    from ..running.settings import presets_here

    here = presets_here()
    names = comparing.names or ([] if comparing.provider else here.names())
    configurations = [(name, checked(here.named(name), registry)) for name in names]
    configurations += _of_providers(comparing.provider or [], comparing.assignments, registry)
    return _Ways(names, configurations, registry)


def _of_providers(
    ids: list[str], assignments: list[str] | None, registry: Registry
) -> Iterator[tuple[str, Configuration]]:
    """Each provider with its own defaults, and with what --set says."""
    if assignments and len(ids) != 1:
        raise UsageError(
            "--set needs one --provider.", "For example --provider truncation --set max_tool_result_lines=20."
        )
    for provider_id in dict.fromkeys(ids):
        yield provider_id, provider_with(provider_id, assignments, registry)


def _warn_of_settings(names: list[str], settings: Settings | None) -> None:
    """Say so where a plain run here does what none of the presets does: its figures would contradict these."""
    from ..running.settings import presets_here

    if settings is not None and not {settings.name, *settings.files} & {*names, *presets_here().names()}:
        say(
            f"condense: warning: A run here uses {settings.name}, which is not in this table; "
            "condense run FILE --dry-run shows its effect."
        )
