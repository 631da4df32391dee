"""Evaluate configurations on transcripts, and judge the compactions that clients recorded."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from functools import partial
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from .. import api
from ..config.loading import load_preset
from ..config.models import CUT, Configuration
from ..config.preset_folders import preset_names
from ..core.arguments import CONFIGURATIONS, COUNT, COUNTER, SHARES, TEXTS, a_transcript, with_arguments
from ..core.transcript import Message, Transcript
from ..errors import CondenseError, GoneError, UsageError
from ..formats.compacted import compactions, stretches
from ..passes.receipts import REACHED
from ..passes.summaries import Summarizer
from ..providers.registry import Registry
from ..quality.baselines import BASELINES, EXTRACTION
from ..quality.cases import SMALLEST, Case, Way
from ..quality.evaluation import AS_IS, BUDGETS, CUTS, Evaluated, kept_by
from ..quality.evaluation import evaluate as _evaluate
from ..quality.recorded import judge
from ..quality.witnesses import WITNESSES
from ..report.costs import PriceSource
from ..report.estimate import KeptFigures, KeptSource
from ..report.evaluation import Measured, measured
from ..report.recorded import RecordedFile, recorded_file
from ..storage.processes import in_order
from ..tokens.counting import BUILT_IN, Counter, CounterName
from ..tokens.factor import Factor, factor_of
from ..window.use import overhead_of

KNOWN_WAYS: Final = BASELINES | EXTRACTION
"""Ways without a configuration, by the names that the command line and `evaluate` take."""


class Plan(Struct, frozen=True):
    """Settings of a measurement: configurations by the name to show, ways to compare with, shares of tokens and of
    messages."""

    configurations: tuple[tuple[str, Configuration], ...]
    against: tuple[str, ...] = tuple(BASELINES)
    budgets: tuple[float, ...] = BUDGETS
    cuts: tuple[float, ...] = CUTS
    smallest: int = SMALLEST
    format: str | None = None
    lenient: bool = False
    counter: CounterName = BUILT_IN
    witnesses: tuple[str, ...] = ()

    @property
    def ways(self) -> list[Way]:
        return [
            *(configured(name, configuration) for name, configuration in self.configurations),
            *(KNOWN_WAYS[name] for name in self.against),
        ]

    def measure(
        self,
        transcript: Transcript,
        name: str = "",
        done: Callable[[float], None] = lambda share: None,
        ways: Sequence[Way] | None = None,
        clock: Callable[[], float] = time.process_time,
    ) -> Evaluated:
        return _evaluate(
            transcript,
            self.ways if ways is None else ways,
            budgets=self.budgets,
            cuts=self.cuts,
            smallest=self.smallest,
            witnesses=self.witnesses,
            name=name,
            count=Counter.of(transcript, self.counter),
            clock=clock,
            done=done,
        )


class Unread(Struct, frozen=True):
    """A file that could not be read, and the reason."""

    name: str
    reason: str


def configured(
    name: str,
    configuration: Configuration,
    writing: Callable[[Case], AbstractContextManager[Summarizer | None]] = lambda case: nullcontext(),
    registry: Registry | None = None,
) -> Way:
    """Make a way to condense from a configuration. `writing` opens the summarizer of one case; the default is
    offline."""

    def condensed(case: Case, target: int | None, factor: Factor | None) -> Sequence[Message]:
        with writing(case) as summarizer:
            earlier = []
            if target is not None and summarizer is None and configuration.passes:
                earlier = case.reached.setdefault(target, [])
            for beginning, messages in earlier:
                if beginning == _beginning(configuration, len(beginning.passes)):
                    return messages
            result = api.condense(
                case.before,
                configuration,
                target_tokens=target,
                counter=case.count,
                factor=factor,
                summarizer=summarizer,
                registry=registry,
                proves=False,
            )
        reached = {receipt.id for receipt in result.passes if receipt.reason == REACHED}
        first = next((number for number, each in enumerate(configuration.passes) if each.id in reached), None)
        if first is not None and all(each.id in reached for each in configuration.passes[first:]):
            earlier.append((_beginning(configuration, first), result.transcript.messages))
        return result.transcript.messages

    def to_target(case: Case, target: int) -> Sequence[Message]:
        factor = factor_of(case.before, case.count)
        return condensed(case, factor.shown(target), factor)

    def as_is(case: Case) -> Sequence[Message]:
        return condensed(case, None, None)

    return Way(name, to_target, ((AS_IS, as_is),))


def _beginning(configuration: Configuration, passes: int) -> Configuration:
    """Return a configuration without its name and without what would follow some passes once the target is reached."""
    asked = (each for each in configuration.passes[passes:] if each.id == CUT)  # Runs whatever is reached.
    return replace(configuration, name="", description="", passes=(*configuration.passes[:passes], *asked))


@with_arguments(
    presets=TEXTS,
    configurations=CONFIGURATIONS,
    against=TEXTS,
    budgets=SHARES,
    cuts=SHARES,
    smallest=COUNT,
    witnesses=TEXTS,
    counter=COUNTER,
)
def evaluate(
    transcript: Transcript,
    *,
    presets: Sequence[str] = (),
    configurations: Mapping[str, Configuration] | None = None,
    against: Sequence[str] = tuple(BASELINES),
    budgets: Sequence[float] = BUDGETS,
    cuts: Sequence[float] = CUTS,
    smallest: int = SMALLEST,
    witnesses: Sequence[str] = (),
    counter: CounterName = BUILT_IN,
) -> Measured:
    """Measure how much of what a transcript later needed is still present after condensing what came before.

    Presets (by default all) and configurations, by the name to show, run as they are and down to each budget, a
    share of the tokens before a cut; cuts are shares of the messages. `against` names ways to compare with
    (`KNOWN_WAYS`), `witnesses` measures beside the three recalls (`WITNESSES`). A transcript of fewer than
    `smallest` tokens is left out. docs/quality.md has the definitions, docs/json-report.md every figure. `counter`
    counts, whatever a configuration says. Raises ConfigurationError, and UsageError for an unknown name.
    """
    for name in against:
        if name not in KNOWN_WAYS:
            raise UsageError(
                f"There is no method named {name!r} to compare with.", f"There are {', '.join(KNOWN_WAYS)}."
            )
    check_witnesses(witnesses)
    if not presets and configurations is None:
        presets = preset_names()
    named = {name: load_preset(name) for name in presets} | dict(configurations or {})
    plan = Plan(
        tuple(named.items()),
        tuple(against),
        tuple(budgets),
        tuple(cuts),
        smallest,
        counter=counter,
        witnesses=tuple(witnesses),
    )
    return measured(plan.measure(a_transcript(transcript)), budgets)


def check_witnesses(names: Sequence[str]) -> None:
    """Raise UsageError for an unknown measure."""
    for name in names:
        if name not in WITNESSES:
            raise UsageError(f"There is no measure named {name!r}.", f"There are {', '.join(WITNESSES)}.")


def kept_here(
    transcript: Transcript,
    configurations: Sequence[tuple[str, Configuration]],
    *,
    count: Counter | None = None,
    target: float | None = None,
    registry: Registry | None = None,
) -> tuple[KeptFigures | None, str]:
    """Measure how much configurations keep on this transcript; or return None and the reason.

    They run as they are, or down to a target as a share of the tokens before each cut.
    """
    count = count or Counter.of(transcript)
    ways = [configured(name, configuration, registry=registry) for name, configuration in configurations]
    budgets: tuple[float, ...] = ()
    if target is None:
        ways = [replace(way, to_target=None) for way in ways]
    else:
        ways = [replace(way, as_is=()) for way in ways]
        budgets = (min(1.0, target),)
    found = _evaluate(transcript, ways, budgets=budgets, count=count)
    known = {name: kept for name, _ in configurations if (kept := kept_by(name, [found])) is not None}
    if not known:
        why = "; ".join(dict.fromkeys(left_out.reason for left_out in found.left_out))
        return None, f"How much each keeps could not be measured on this transcript: {why}."
    return KeptFigures(KeptSource(len(found.cuts)), known), ""


def evaluate_files(
    names: Sequence[str], plan: Plan, *, jobs: int = 1, done: Callable[[float], None] = lambda files: None
) -> list[Evaluated | Unread]:
    """Measure files in `jobs` processes; results are in the order of the names.

    `done` is called with the number of finished files, a part of one as a fraction.
    """
    if jobs <= 1 or len(names) <= 1:
        return evaluate_in_turn(names, plan, done)
    found: list[Evaluated | Unread] = []
    # Files differ in length: one at a time, so that no process waits for a long one.
    for result in in_order(partial(evaluate_file, plan=plan), names, min(jobs, len(names)), ahead=len(names)):
        found.append(result)
        done(len(found))
    return found


def evaluate_in_turn(
    names: Sequence[str],
    plan: Plan,
    done: Callable[[float], None] = lambda files: None,
    *,
    ways: Sequence[Way] | None = None,
    clock: Callable[[], float] = time.process_time,
) -> list[Evaluated | Unread]:
    """Measure files one after the other in this process, with other ways than the plan's, or another clock, if
    given.

    `done` is called as by `evaluate_files`.
    """
    found: list[Evaluated | Unread] = []
    for name in names:
        found.append(evaluate_file(name, plan, lambda share: done(len(found) + share), ways=ways, clock=clock))
        done(len(found))
    return found


def evaluate_file(
    name: str,
    plan: Plan,
    done: Callable[[float], None] = lambda share: None,
    *,
    ways: Sequence[Way] | None = None,
    clock: Callable[[], float] = time.process_time,
) -> Evaluated | Unread:
    """Measure one file; "-" is standard input."""
    try:
        transcript = api.load(name, format=plan.format, lenient=plan.lenient)
        return plan.measure(transcript, name, done, ways, clock)
    except GoneError as error:
        raise GoneError(f"{name}: {error.message}") from error
    except CondenseError as error:
        return Unread(name, error.message)


BESIDE: Final = ("balanced",)
"""Presets that are compared with the client by default."""


@with_arguments(presets=TEXTS, configurations=CONFIGURATIONS, counter=COUNTER)
def judge_recorded(
    transcript: Transcript,
    *,
    presets: Sequence[str] = (),
    configurations: Mapping[str, Configuration] | None = None,
    counter: CounterName = BUILT_IN,
) -> RecordedFile:
    """Judge the compactions that a client made: what each kept of what later work needed, and its cost.

    Each is compared with what presets (by default `balanced`) and configurations leave of the same conversation at
    the same size, without a model. docs/quality.md has the definitions, docs/json-report.md every figure. Raises
    ConfigurationError.
    """
    if not presets and configurations is None:
        presets = BESIDE
    named = {name: load_preset(name) for name in presets} | dict(configurations or {})
    return _judged("", a_transcript(transcript), Plan(tuple(named.items()), (), counter=counter))


def judge_files(
    names: Sequence[str], plan: Plan, *, jobs: int = 1, done: Callable[[float], None] = lambda files: None
) -> list[RecordedFile | Unread]:
    """Judge the compactions in files, in `jobs` processes; results are in the order of the names.

    `done` is called with the number of finished files.
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
