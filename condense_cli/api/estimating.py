"""Estimate side by side what ways to condense save, cost and keep of a transcript."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from datetime import UTC, datetime

from msgspec.structs import replace

from .. import api
from ..calling import Calls, OnDemand, calls_of, summaries_for
from ..config.loading import load_preset
from ..config.models import Configuration
from ..config.preset_folders import preset_names
from ..core.arguments import (
    CONFIGURATIONS,
    COUNT,
    COUNTER,
    PERCENT,
    POSITIVE,
    TEXT,
    TEXTS,
    a_transcript,
    made_by,
    with_arguments,
)
from ..core.transcript import Transcript
from ..errors import UsageError
from ..passes.condensation import Condensation
from ..plugins import Installed
from ..providers.registry import Registry
from ..report.costs import PriceSource
from ..report.estimate import Estimate, build
from ..report.run.facts import Summarized
from ..report.run.sections import summarized
from ..tokens.counting import BUILT_IN, Counter, CounterName, encoding_for
from ..tokens.factor import Factor, factor_of
from ..window.use import overhead_of

PlannedSummaries = tuple[Sequence[Summarized], Sequence[str]]
"""Writer of the summaries of a run, and remarks on it."""

_SEVERAL = {
    "preset": "Give presets=[{}].",
    "provider": "Give providers=[{}].",
    "configuration": "Give configurations={{'mine': ...}}.",
}


@with_arguments(
    _SEVERAL,
    presets=TEXTS,
    configurations=CONFIGURATIONS,
    providers=TEXTS,
    target_tokens=POSITIVE,
    target_percent=PERCENT,
    model=TEXT,
    overhead_tokens=COUNT,
    counter=COUNTER,
    profile=TEXT,
    registry=made_by("Registry", "Give a condense_cli.providers.registry.Registry."),
)
def estimate(
    transcript: Transcript,
    *,
    presets: Sequence[str] = (),
    configurations: Mapping[str, Configuration] | None = None,
    providers: Sequence[str] = (),
    target_tokens: int | str | None = None,
    target_percent: float | str | None = None,
    model: str | None = None,
    overhead_tokens: int | None = None,
    counter: CounterName = BUILT_IN,
    quality: bool = False,
    profile: str | None = None,
    allow_calls: bool = False,
    registry: Registry | None = None,
) -> Estimate:
    """Estimate what ways to condense save, cost and keep; docs/json-report.md explains every figure.

    Ways are presets (names, or paths of files), configurations by the name to show, and providers with their
    defaults; by default all presets. The one that leaves the least comes first. With `target_tokens`, or
    `target_percent` of the tokens, they stop once that is reached. How much they keep of what later work needs is
    predicted, or with `quality` measured on the transcript. Summaries are those of the offline summarizer; with a
    `profile`, or `allow_calls` for the profiles that configurations name, those of a model are priced without
    calling it.

    `model` is the model that will continue the conversation, `overhead_tokens` the size of its system prompt and
    tools. `counter` counts for all ways, whatever a preset says. `registry` lists the providers. Raises
    ConfigurationError, and UsageError for invalid arguments.
    """
    transcript = a_transcript(transcript)
    assert not isinstance(target_tokens, str)  # The decorator turns 60k and 50% into numbers.
    assert not isinstance(target_percent, str)
    if target_tokens is not None and target_percent is not None:
        raise UsageError("target_tokens and target_percent cannot be used together.", "Use only one.")
    if target_percent is not None and not 0 < target_percent < 100:
        raise UsageError(f"target_percent must be more than 0 and less than 100, not {target_percent:g}.")
    calls = calls_of(profile, allow_calls, None, None, None, None, redact=False, summarizer=None)
    if model is not None:
        transcript = transcript.continued_by(model)
    registry = registry or Registry(installed=Installed())
    names = presets if presets or configurations or providers else preset_names()
    ways = [(name, load_preset(name)) for name in dict.fromkeys(names)]
    ways += (configurations or {}).items()
    ways += [(name, registry.get(name).default_configuration()) for name in dict.fromkeys(providers)]
    count = Counter.of(transcript, counter)
    return estimated(
        transcript,
        ways,
        count=count,
        factor=factor_of(transcript, count),
        registry=registry,
        target_tokens=target_tokens,
        target_percent=target_percent,
        overhead_tokens=overhead_tokens,
        quality=quality,
        calls=replace(calls, is_planned=True) if calls else None,
    )


def _summary_use(result: Condensation, summaries: OnDemand | None) -> PlannedSummaries:
    made = summaries.made if summaries else None
    notes = [*(made.notes if made else ()), *([str(result.error)] if result.error else ())]
    return summarized(made) if made else (), notes


def estimated(
    transcript: Transcript,
    configurations: Sequence[tuple[str, Configuration]],
    *,
    count: Counter,
    factor: Factor,
    registry: Registry,
    target_tokens: int | None,
    target_percent: float | None,
    overhead_tokens: int | None,
    quality: bool,
    calls: Calls | None,
    source: str = "",
    told: Callable[[Condensation, OnDemand | None], PlannedSummaries] = _summary_use,
) -> Estimate:
    """Estimate configurations by the name to show. `source` names the input.

    The calls are planned, not made; without any the offline summarizer writes. Raises CondenseError.
    """
    before = factor.shown(count.transcript(transcript))
    target = target_tokens
    if target_percent is not None:
        target = int(before * target_percent / 100)
    found = []
    warnings: dict[str, None] = {}
    # They read the same texts, and much of what one makes of them is what others make; so does what is told of them.
    with count.sharing():
        for name, configuration in configurations:
            with summaries_for(configuration, count, calls) if calls else nullcontext() as summaries:
                result = api.condense(
                    transcript,
                    configuration,
                    target_tokens=target,
                    counter=count,
                    factor=factor,
                    summarizer=summaries,
                    registry=registry,
                    proves=False,
                )
            used, said = told(result, summaries)
            found.append((name, result, used))
            warnings |= dict.fromkeys(said)
        kept = None
        if quality:
            from .evaluating import kept_here  # Importing it takes a tenth of a second.

            configured = [(name, registry.configured(configuration)) for name, configuration in configurations]
            share = None if target is None else target / max(1, before)
            kept, reason = kept_here(transcript, configured, count=count, target=share, registry=registry)
            warnings |= dict.fromkeys([reason] if reason else [])
        return build(
            transcript,
            found,
            count=count,
            factor=factor,
            encoding=encoding_for(transcript.model, count.counter),
            overhead=overhead_of(transcript, count, factor, overhead_tokens),
            source=source,
            price_source=PriceSource.of(transcript.model, datetime.now(UTC), lives_hour=transcript.lives_hour),
            target=target,
            warnings=tuple(warnings),
            kept=kept,
        )
