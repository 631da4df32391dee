"""What presets would save, cost and keep of a transcript, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from .. import api
from ..config.preset_folders import preset_names
from ..config.presets import load_preset
from ..core.arguments import COUNT, COUNTER, TEXT, TEXTS, a_transcript, with_arguments
from ..core.factor import factor_of
from ..core.tokens import BUILT_IN, Counter, CounterName, encoding_for
from ..core.transcript import Transcript
from ..report.costs.facts import PriceSource
from ..report.costs.usage import overhead_of
from ..report.estimate import facts as facts
from .evaluating import kept_here


@with_arguments(presets=TEXTS, model=TEXT, overhead_tokens=COUNT, counter=COUNTER)
def estimate(
    transcript: Transcript,
    *,
    presets: Sequence[str] = (),
    model: str | None = None,
    overhead_tokens: int | None = None,
    counter: CounterName = BUILT_IN,
    quality: bool = False,
) -> facts.Estimate:
    """What presets (all, where none is named) would save, cost and keep; docs/json-report.md explains every figure.

    The one that leaves the least comes first. How much they keep of what later work needs is expected of this
    transcript, or with `quality` measured on it. Summaries are those of the offline summarizer. `model` is the
    model that will continue the conversation, `overhead_tokens` what its system prompt and tools take besides;
    `counter` counts for all of them, whatever a preset says. Raises ConfigurationError.
    """
    transcript = a_transcript(transcript)
    if model is not None:
        transcript = transcript.continued_by(model)
    count = Counter.of(transcript, counter)
    factor = factor_of(transcript, count)
    names = presets or preset_names()
    kept, warnings = None, []
    if quality:
        kept, reason = kept_here(transcript, [(name, load_preset(name)) for name in names], count=count)
        warnings += [reason] if reason else []
    condensations = [
        (name, api.condense(transcript, preset=name, counter=count, factor=factor, proves=False), ()) for name in names
    ]
    return facts.build(
        transcript,
        condensations,
        count=count,
        factor=factor,
        encoding=encoding_for(transcript.model, counter),
        overhead=overhead_of(transcript, count, factor, overhead_tokens),
        source="",
        price_source=PriceSource.of(transcript.model, datetime.now(UTC), lives_hour=transcript.lives_hour),
        warnings=warnings,
        kept=kept,
    )
