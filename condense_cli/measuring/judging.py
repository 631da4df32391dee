"""Judging the compactions that files record, in several processes; the pure part is `quality.recorded`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Final

from .. import api
from ..config.models import Configuration
from ..config.presets import load_preset
from ..core.arguments import CONFIGURATIONS, COUNTER, TEXTS, a_transcript, with_arguments
from ..core.factor import factor_of
from ..core.tokens import BUILT_IN, Counter, CounterName
from ..core.transcript import Transcript
from ..errors import CondenseError
from ..formats.compacted import compactions, stretches
from ..quality.recorded import judge
from ..report.costs.money import PriceSource
from ..report.costs.usage import overhead_of
from ..report.evaluation.recorded import RecordedFile, recorded_file
from ..storage.processes import in_order
from .evaluating import Plan, Unread

BESIDE: Final = ("balanced",)
"""Presets that stand beside the client where nothing is named."""


@with_arguments(presets=TEXTS, configurations=CONFIGURATIONS, counter=COUNTER)
def judge_recorded(
    transcript: Transcript,
    *,
    presets: Sequence[str] = (),
    configurations: Mapping[str, Configuration] | None = None,
    counter: CounterName = BUILT_IN,
) -> RecordedFile:
    """Judge the compactions that a client made: what each kept of what later work needed, and what it cost.

    Beside each stands what presets (`balanced`, where nothing is named) and configurations leave of the same
    conversation at the same size, without a model. docs/quality.md has the definitions, docs/json-report.md every
    figure. Raises ConfigurationError.
    """
    if not presets and configurations is None:
        presets = BESIDE
    named = {name: load_preset(name) for name in presets} | dict(configurations or {})
    return _judged("", a_transcript(transcript), Plan(tuple(named.items()), (), counter=counter))


def judge_files(
    names: Sequence[str], plan: Plan, *, jobs: int = 1, done: Callable[[float], None] = lambda files: None
) -> list[RecordedFile | Unread]:
    """Judge what files record, in several processes where `jobs` says so; in the order of the names.

    `done` is told how many files are finished.
    """
    found: list[RecordedFile | Unread] = []
    for result in in_order(partial(_judge_file, plan), names, min(jobs, len(names))):
        found.append(result)
        done(len(found))
    return found


def _judge_file(plan: Plan, name: str) -> RecordedFile | Unread:
    try:
        return _judged(name, api.load(name, format=plan.format, lenient=plan.lenient), plan)
    except CondenseError as error:
        return Unread(name, error.message)


def _judged(name: str, transcript: Transcript, plan: Plan) -> RecordedFile:
    prices = PriceSource.of(transcript.model, datetime.now(UTC), lives_hour=transcript.lives_hour)
    found = compactions(transcript.source, transcript.format)
    if not found:
        return recorded_file(name, transcript, None if found is None else [], 0, prices)
    count = Counter.of(transcript, plan.counter)
    factor = factor_of(transcript, count)
    ways = plan.ways
    return recorded_file(
        name,
        transcript,
        [judge(stretch, ways, count, factor) for stretch in stretches(transcript, found)],
        overhead_of(transcript, count, factor)[0],
        prices,
    )
