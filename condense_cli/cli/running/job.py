"""Do the work of a run on one conversation: the only one of a file, one file of many, or a row."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from functools import cache, partial
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from ... import calling
from ...calling import Calls, OnDemand, dollars_of
from ...config.base import Limits, ProviderSettings
from ...config.models import Configuration
from ...config.options import NO_OVERRIDES, Overrides
from ...config.overrides import Settings, without_passes
from ...config.own import load_user_configuration
from ...config.preset_folders import DEFAULT_PRESET
from ...core.transcript import Message, Transcript
from ...errors import ExitStatus, UsageError
from ...formats import detected_format, format_named
from ...passes.condensation import Condensation
from ...passes.context import Context
from ...passes.flags import missed_keeps
from ...passes.limits import target_of
from ...passes.receipts import SUMMARIZE
from ...passes.summaries import OFFLINE
from ...plugins import Installed
from ...providers.proven import checked, condensed
from ...providers.registry import Registry
from ...report.costs import dollars
from ...report.run.facts import Summarized
from ...report.run.sections import known_cost, summarized
from ...tokens.counting import Counter
from ...tokens.factor import CountName, Factor
from ...window.decision import Window, WindowFlags
from ...window.use import Sizing, remarks_on_usage
from ..commands.shrink import RunOptions
from ..console import console
from ..options import Spending
from ..work.counting import factor_for

if TYPE_CHECKING:
    from ...llm.calls import Progress


@contextmanager
def _progress() -> Iterator[Callable[[Progress], None] | None]:
    """One line about calls on the terminal, while there are any."""
    if not sys.stderr.isatty():
        yield None
        return
    status = console(stderr=True).status("")
    is_shown = False

    def show(progress: Progress) -> None:
        nonlocal is_shown
        spent = progress.spent
        cost = f"{'at least ' if spent.unknown else ''}{dollars(spent.cost)}"
        status.update(f"Summaries: {progress.done} of {progress.total}, {spent.tokens:,} tokens, {cost}")
        if not is_shown and progress.done < progress.total:
            is_shown = True
            status.start()

    try:
        yield show
    finally:
        if is_shown:
            status.stop()


summaries_for = partial(calling.summaries_for, showing=_progress)
"""The summarizer of a run, with the progress on the terminal."""


class SummaryUse(Struct, frozen=True):
    """The profiles that wrote the summaries of a run, and their cost."""

    used: tuple[Summarized, ...] = ()
    cost: Decimal = Decimal(0)
    notes: tuple[str, ...] = ()
    worst: Decimal = Decimal(0)
    """The most that calls may cost which were only planned, where no limit covers it."""

    @property
    def warnings(self) -> tuple[str, ...]:
        if not self.worst:
            return self.notes
        from ...llm.budget import as_limit

        enough = as_limit(self.worst)
        return (*self.notes, f"These calls cost at most {enough}: --max-cost {enough[1:]} is enough for all of them.")


def summary_use(on_demand: OnDemand, result: Condensation | None = None) -> SummaryUse:
    """List the profiles that were used; `result` is the outcome of a run on a single conversation."""
    summaries = on_demand.made
    if summaries is None:
        return SummaryUse()
    has_any = result is None or any(receipt.operation == SUMMARIZE for receipt in result.changes)
    without_consent = (
        "Summaries were picked from the text without a model; --profile NAME or --allow-calls lets one write them."
    )
    warnings = [*([without_consent] if summaries.is_without_consent and has_any else ()), *summaries.notes]
    used = tuple(summarized(summaries))
    return SummaryUse(used, known_cost(used), tuple(warnings), summaries.worst)


def without_effect(calls: Calls, told: SummaryUse) -> tuple[str, ...]:
    """Warn if the profile of --profile wrote no summary and counted nothing."""
    if calls.profile in (None, OFFLINE) or calls.is_count_asked or told.used:
        return ()
    return (f"--profile {calls.profile} had no effect: no summary was asked for.",)


def was_interrupted(on_demand: OnDemand) -> bool:
    return on_demand.made is not None and on_demand.made.is_interrupted


def status_of(on_demand: OnDemand, status: ExitStatus, *, allow_partial: bool) -> ExitStatus:
    """Return the exit status: that of interrupted or failed calls, or else `status`."""
    summaries = on_demand.made
    if summaries is None:
        return status
    if summaries.is_interrupted:
        return ExitStatus.INTERRUPTED
    if summaries.failures and not allow_partial:
        return ExitStatus.CALLS_FAILED
    return status


class Work(Struct, frozen=True):
    """The instructions for every conversation of a run: a value that travels to other processes and can be hashed.

    `providers` are the user's settings of them, `target_percent` a share of a conversation's own tokens. `model`
    overrides the recorded one. `count` is the unit of numbers.
    """

    configuration: Configuration
    providers: dict[str, ProviderSettings] = {}
    overrides: Overrides = NO_OVERRIDES
    target_tokens: int | None = None
    target_percent: float | None = None
    model: str | None = None
    slim: bool = False
    if_needed: bool = False
    asked: WindowFlags = WindowFlags()
    overhead_tokens: int | None = None
    count: CountName = "model"

    @property
    def names_blocks(self) -> bool:
        """Whether flags or selectors name blocks to keep or cut."""
        return bool(self.overrides != NO_OVERRIDES or self.configuration.keep or self.configuration.cut)

    def continuing(self, transcript: Transcript) -> Transcript:
        """Return the transcript with the model that will continue it."""
        return transcript.continued_by(self.model) if self.model else transcript


class Treatment(Struct, frozen=True):
    """The instructions for reading, condensing, writing and judging every conversation of a run.

    `name` is the configuration's name in reports. With `splits` a row becomes several of at most the target. `format`
    is None to recognize it, `to` to keep that of the input.
    """

    work: Work
    calls: Calls
    name: str = ""
    format: str | None = None
    to: str | None = None
    splits: bool = False
    lenient: bool = False
    strict: bool = False
    allow_partial: bool = False
    before_compaction: bool = False
    until: str | None = None

    def earlier(self, transcript: Transcript) -> Transcript:
        """Return the state of a session that is asked for. Raises CondenseError if the file does not hold it."""
        if not (self.before_compaction or self.until is not None):
            return transcript
        from ...formats.compacted import before_compaction, before_prompt  # Few runs take an earlier state.

        if self.before_compaction:
            transcript = before_compaction(transcript)
        return transcript if self.until is None else before_prompt(transcript, self.until)


def calls_of(
    spending: Spending, profile: str | None, *, is_planned: bool = False, is_count_asked: bool = False
) -> Calls:
    """Return what the options say about calls of models. Raises UsageError."""
    limits = Limits(
        dollars_of(spending.max_cost, "--max-cost"),
        dollars_of(spending.max_cost_per_conversation, "--max-cost-per-conversation"),
        dollars_of(spending.max_cost_per_day, "--max-cost-per-day"),
        spending.max_summary_tokens,
        spending.redact,
    )
    return Calls(profile, spending.allow_calls, limits, spending.no_cache, is_planned, is_count_asked)


def treatment_of(options: RunOptions, overrides: Overrides, settings: Settings, registry: Registry) -> Treatment:
    """Return how each conversation is treated, from the options and the settings in use. Raises UsageError."""
    calls = calls_of(options, options.profile, is_planned=options.dry_run, is_count_asked=options.count_as == "exact")
    configuration = settings.configuration
    if options.counter is not None:
        configuration = replace(configuration, counter=options.counter)
    work = Work(
        configuration,
        registry.given,
        overrides=overrides,
        target_tokens=options.target_tokens,
        target_percent=options.target_percent,
        model=options.model,
        slim=options.slim,
        if_needed=options.if_needed,
        asked=WindowFlags(None, options.context_window, options.threshold, options.above),
        overhead_tokens=options.overhead_tokens,
        count=options.count_as or configuration.count,
    )
    work = _with_own_target(work, settings)
    if options.strict:
        _check_strict(work, registry)
    name = settings.name
    if overrides.lossless_only:
        is_usual = name == DEFAULT_PRESET and options.preset is None
        name = "lossless only" if is_usual else f"{name}, lossless only"
    return Treatment(
        work,
        calls,
        name,
        options.format,
        options.to_format,
        splits=options.split,
        lenient=options.lenient,
        strict=options.strict,
        allow_partial=options.allow_partial,
        before_compaction=options.before_compaction,
        until=options.until,
    )


def _with_own_target(work: Work, settings: Settings) -> Work:
    """Return the work with the target of the settings, unless a flag gives one."""
    if not settings.has_own_target or work.target_tokens is not None or work.target_percent is not None:
        return work
    tokens, reduction = work.configuration.target_tokens, work.configuration.target_reduction_percent
    percent = 100 - reduction if tokens is None and reduction is not None else None
    return replace(work, target_tokens=tokens, target_percent=percent)


def _check_strict(work: Work, registry: Registry) -> None:
    """Raise UsageError before any work if --strict has no target."""
    configuration = without_passes(work.configuration) if work.overrides.lossless_only else work.configuration
    targets = (work.target_tokens, work.target_percent, target_of(registry.compiled(configuration), 0))
    if all(target is None for target in targets):
        raise UsageError("--strict needs a target.", "Name one with --target-tokens or --target-percent.")


def status_of_result(result: Condensation, summaries: OnDemand, treatment: Treatment) -> ExitStatus:
    """Return the exit status for one conversation, alone or among several."""
    if result.error is not None:
        return ExitStatus.FAILED
    is_missed = treatment.strict and result.is_target_missed
    otherwise = ExitStatus.TARGET_MISSED if is_missed else ExitStatus.DONE
    return status_of(summaries, otherwise, allow_partial=treatment.allow_partial)


class Output(Struct, frozen=True):
    """The bytes to write, or None for a read-only format; and warnings for the report."""

    data: bytes | None
    warnings: tuple[str, ...] = ()


def output_of(result: Condensation, to: str | None) -> Output:
    """Return the result in its own format, or as messages of the API in `--to`. Raises BrokenOutputError."""
    if to is not None:
        from ...api import convert

        conversion = convert(result, to)
        return Output(conversion.data, conversion.notes)
    if not format_named(result.transcript.format).is_writable:
        return Output(None)
    data = checked(result)
    return Output(data, _other_format(data, result.transcript))


def _other_format(data: bytes, transcript: Transcript) -> tuple[str, ...]:
    """Say so when messages of which only texts are left would be read as those of another API."""
    form = format_named(transcript.format)
    if not form.is_default or not transcript.is_changed or any(block.call_id for _, block in transcript.blocks()):
        return ()
    found = detected_format(data)
    if found == form.name or detected_format(transcript.source.data) != form.name:
        return ()
    return (
        f"Only texts are left, which {f'are recognized as {found}' if found else 'are not recognized'}. "
        f"Name --format {form.name} to read them again.",
    )


class Worker:
    """Does the work to one conversation after the other, in one process."""

    def __init__(
        self,
        work: Work,
        calls: Calls,
        summaries: OnDemand,
        registry: Registry | None = None,
        clock: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self._work, self._calls, self._summaries, self._clock = work, calls, summaries, clock
        self._installed = Installed()
        self._registry = registry or Registry(work.providers, installed=self._installed)
        self._user = cache(load_user_configuration)

    def __call__(
        self,
        transcript: Transcript,
        count: Counter,
        factor: Factor | None = None,
        on_pass: Callable[[str], None] = lambda name: None,
    ) -> Condensation:
        """Condense a transcript with this counter. Raises CondenseError.

        `factor` is the transcript's, if known; `on_pass` gets the name of each pass.
        """
        work = self._work
        self._summaries.begin(transcript, count)
        factor = factor or factor_for(work.count, transcript, count, self._calls)
        target = work.target_tokens
        if work.target_percent is not None:
            target = int(factor.shown(count.transcript(transcript)) * work.target_percent / 100)
        configuration = work.configuration
        if target is not None:
            configuration = replace(configuration, target_tokens=target, target_reduction_percent=None)
        context = Context(
            count,
            self._summaries,
            self._clock,
            work.overrides,
            stop_at_target=target is not None,
            selectors=self._installed.selector,
            factor=factor,
            on_pass=on_pass,
        )
        sizing = self._sizing(transcript, count, factor)
        return condensed(transcript, configuration, context, self._registry, sizing, slim=work.slim)

    def _sizing(self, transcript: Transcript, count: Counter, factor: Factor) -> Sizing:
        """Return the inputs of the decision. Prices and the user's file are loaded when the window is asked for."""
        work = self._work
        sizing = Sizing.of(
            transcript,
            work.configuration,
            count,
            factor,
            user=self._user,
            asked=work.asked,
            overhead=work.overhead_tokens,
            only_if_needed=work.if_needed,
        )

        @cache
        def window() -> Window:
            found = sizing.window()
            remarks = remarks_on_usage(transcript, count, factor, work.overhead_tokens)
            return replace(found, warnings=(*found.warnings, *remarks))

        def may_fall_back() -> bool:
            return not self._calls.is_planned and not was_interrupted(self._summaries)

        return replace(sizing, window=window, may_fall_back=may_fall_back)


def check_keep(selectors: Sequence[str], conversations: Iterable[Sequence[Message]]) -> None:
    """Raise UsageError for selectors that match nothing in any conversation. Reads no more than it needs."""

    missed = dict.fromkeys(selectors, "")
    for messages in conversations:
        if not messages:
            continue
        missed = missed_keeps([*missed], messages)
        if not missed:
            return
    if any(missed.values()):
        raise nothing_kept(missed.values())


def nothing_kept(said: Iterable[str]) -> UsageError:
    """Return the error for selectors that match nothing, one line each."""
    return UsageError("\n".join(said), "Nothing was written: condense inspect FILE lists messages, tools and files.")


def no_rows_to_split() -> UsageError:
    """Return the error for --split with a single transcript."""
    return UsageError("--split works on sets of rows, and this is one transcript.", "Leave --split out.")
