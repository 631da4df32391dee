"""Who writes the summaries of a run: what the flags permit, what calls are made with, and how they are shown."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

from msgspec import Struct

from ...errors import ConfigurationError, ExitStatus, UsageError

if TYPE_CHECKING:
    from ...config.models import Configuration
    from ...config.profiles import Access
    from ...core.tokens import Counter
    from ...core.transcript import Message
    from ...llm.budget import Budget
    from ...llm.calls import Caller, Progress
    from ...llm.redaction import Redactor
    from ...llm.summarizer import Summaries
    from ...passes.summaries import Outcome, Summarizer, Task
    from ...report.run.facts import Summarized
    from .options import Spending


class Calls(Struct, frozen=True):
    """What the flags of a command say about calls of models."""

    profile: str | None = None
    allow_calls: bool = False
    max_cost: Decimal | None = None
    max_tokens: int | None = None
    no_cache: bool = False
    redact: bool = False
    is_planned: bool = False
    """No call is made for a summary; each request is priced instead."""
    is_count_asked: bool = False
    """The command line says --count exact: then its flags permit that call, even where summaries are only planned."""

    @property
    def is_limited(self) -> bool:
        return self.redact or self.max_cost is not None or self.max_tokens is not None

    def budget(self) -> Budget:
        """A new budget: what all calls together may use."""
        from ...llm.budget import Budget

        return Budget(self.max_cost, self.max_tokens)


def calls_of(spending: Spending, *, is_planned: bool = False, is_count_asked: bool = False) -> Calls:
    """The flags as one checked value. Raises UsageError."""
    return Calls(
        spending.profile, spending.allow_calls, _dollars(spending.max_cost), spending.max_summary_tokens,
        spending.no_cache, spending.redact, is_planned, is_count_asked,
    )  # fmt: skip


def _dollars(text: str | None) -> Decimal | None:
    if text is None:
        return None
    try:
        amount = Decimal(text.removeprefix("$"))
    except InvalidOperation:
        amount = Decimal("NaN")
    if not amount.is_finite() or amount < 0:
        raise UsageError(f"--max-cost must be an amount of dollars, not {text!r}.", "For example --max-cost 0.50.")
    return amount


class OnDemand:
    """A `Summarizer` that is made when a pass first asks for a summary: most runs ask for none."""

    def __init__(
        self, open: Callable[[Counter], AbstractContextManager[Summaries]], count: Counter, stack: ExitStack
    ) -> None:
        self.made: Summaries | None = None
        self._open, self._count, self._stack = open, count, stack

    def count_with(self, count: Counter) -> None:
        """Count with this from now on: the next conversation may be of another model."""
        self._count = count
        if self.made is not None:
            self.made.count_with(count)

    def summarize(self, tasks: Sequence[Task], messages: Sequence[Message]) -> list[Outcome]:
        return self._opened().summarize(tasks, messages)

    def works_offline(self, profile: str | None) -> bool:
        return self._opened().works_offline(profile)

    def _opened(self) -> Summaries:
        if self.made is None:
            self.made = self._stack.enter_context(self._open(self._count))
        return self.made


@contextmanager
def summaries_for(
    configuration: Configuration, count: Counter, calls: Calls, budget: Budget | None = None
) -> Iterator[OnDemand]:
    """The summarizer of a run. Raises CondenseError, also when it is first used.

    `budget` is that of many runs, of which this is one; then it shows no progress of its own.
    """
    if calls.profile is not None:
        check_profile(calls.profile)
    with ExitStack() as stack:
        yield OnDemand(lambda count: _opened(configuration, count, calls, budget), count, stack)


@contextmanager
def _opened(configuration: Configuration, count: Counter, calls: Calls, budget: Budget | None) -> Iterator[Summaries]:
    from datetime import UTC, datetime

    from ...config.user import load_user_configuration
    from ...core.factor import typical_of
    from ...core.tokens import encoding_for
    from ...llm.access import Permission, choose
    from ...llm.cache import Cache, cache_path
    from ...llm.calls import Caller
    from ...llm.summarizer import Summaries
    from ...plugins import Installed

    user = load_user_configuration()
    permission = Permission(calls.profile, calls.allow_calls)
    cache = None if calls.no_cache else Cache(cache_path())
    own_budget = budget or calls.budget()
    redactor = redactor_of(calls)
    now = datetime.now(UTC)
    with nullcontext() if budget else _progress() as progress:

        def caller(access: Access) -> Caller:
            encoding = encoding_for(access.profile.model)
            own = count if encoding.name == count.encoding else type(count)(encoding.name)
            return Caller(
                access,
                own,
                now,
                exact=encoding.exact,
                factor=typical_of(access.profile.model),
                budget=own_budget,
                cache=cache,
                redactor=redactor,
                progress=progress,
            )

        summaries = Summaries(
            count,
            lambda dedicated: choose(
                dedicated, configuration.profile, user, permission, os.environ, is_planned=calls.is_planned
            ),
            caller,
            is_planned=calls.is_planned,
            installed=_unbound if calls.is_limited else Installed().summarizer,
            redactor=redactor,
        )
        try:
            yield summaries
        finally:
            if cache is not None:
                cache.close()


def redactor_of(calls: Calls) -> Redactor | None:
    """What masks secrets before anything is sent, where that was asked for. Raises CondenseError."""
    if not calls.redact:
        return None
    from ...llm.cache import cache_path
    from ...llm.redaction import Redactor

    return Redactor(cache_path().parent)


def _unbound(name: str) -> Callable[[Counter], Summarizer]:
    raise ConfigurationError("--redact, --max-cost and --max-summary-tokens cannot bind it.")


def check_profile(name: str) -> None:
    """Raises ConfigurationError for a profile that is not there."""
    from ...config.user import load_user_configuration, unknown_profile

    profiles = load_user_configuration().profiles
    if name not in profiles:
        raise unknown_profile(name, profiles)


@contextmanager
def _progress() -> Iterator[Callable[[Progress], None] | None]:
    """One line about calls on the terminal, while there are any."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.status import Status

    from ...report.costs.text import dollars
    from ..console import console

    status = Status("", console=console(stderr=True))
    is_shown = False

    def show(progress: Progress) -> None:
        nonlocal is_shown
        spent = progress.spent
        cost = f"{'at least ' if spent.unknown else ''}{dollars(str(spent.cost))}"
        status.update(f"Summaries: {progress.done} of {progress.total}, {spent.tokens:,} tokens, {cost}")
        if not is_shown and progress.done < progress.total:
            is_shown = True
            status.start()

    try:
        yield show
    finally:
        if is_shown:
            status.stop()


class Told(Struct, frozen=True):
    """What the report says of the summaries."""

    used: tuple[Summarized, ...] = ()
    cost: Decimal = Decimal(0)
    warnings: tuple[str, ...] = ()


def told_of(on_demand: OnDemand) -> Told:
    summaries = on_demand.made
    if summaries is None:
        return Told()
    from ...report.run.summaries import known_cost, summarized

    without_consent = (
        "Summaries were made offline, from lines of the text: --profile NAME or --allow-calls permits a model."
    )
    warnings = [*([without_consent] if summaries.is_without_consent else ()), *summaries.notes]
    used = tuple(summarized(summaries))
    return Told(used, known_cost(used), tuple(warnings))


def was_interrupted(on_demand: OnDemand) -> bool:
    return on_demand.made is not None and on_demand.made.is_interrupted


def status_of(on_demand: OnDemand, status: ExitStatus, *, allow_partial: bool) -> ExitStatus:
    """The exit status of a run whose work is done otherwise: what was interrupted, or could not be summarized."""
    summaries = on_demand.made
    if summaries is None:
        return status
    if summaries.is_interrupted:
        return ExitStatus.INTERRUPTED
    if summaries.failures and not allow_partial:
        return ExitStatus.CALLS_FAILED
    return status
