"""Open what writes a run's summaries: permission, connections and limits of calls."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from .config.base import Limits, dollars_in
from .config.own import limits_in, load_user_configuration, unknown_profile
from .core.user_folders import cache_folder
from .errors import ConfigurationError, UsageError
from .plugins import Installed

if TYPE_CHECKING:
    from .config.models import Configuration
    from .core.transcript import Message, Transcript
    from .llm.access import Redactor
    from .llm.budget import Budget
    from .llm.calls import Progress
    from .llm.summarizer import Summaries
    from .passes.condensation import Condensation
    from .passes.summaries import Outcome, Summarizer, Task
    from .tokens.counting import Counter

Dollars = Decimal | float | str | None
"""An amount as function argument; None is no limit."""

Showing = Callable[[], AbstractContextManager["Callable[[Progress], None] | None"]]
"""Opens a progress display for calls."""


class Calls(Struct, frozen=True):
    """Flags or arguments about model calls. Missing limits come from the user's settings."""

    profile: str | None = None
    allow_calls: bool = False
    limits: Limits = Limits()
    no_cache: bool = False
    is_planned: bool = False
    """Price each summary request instead of making it."""
    is_count_asked: bool = False
    """The command line has --count exact: its flags permit that call even if summaries are only planned."""

    def settled(self) -> Limits:
        """Merge limits: given ones first, then variables, then the user's file. Raises ConfigurationError."""
        return self.limits.over(limits_in(os.environ)).over(load_user_configuration().limits)

    def budget(self) -> Budget:
        """Open a new budget for all calls together. Raises ConfigurationError."""
        from .llm.budget import FILE_NAME, Accounts, Budget, Spendable

        limits = self.settled()
        lasting = Spendable(limits.max_cost_per_day, limits.max_cost_per_conversation)
        day = datetime.now().astimezone().strftime("%Y-%m-%d")
        accounts = None if lasting == Spendable() else Accounts(Path(cache_folder()) / FILE_NAME, day, lasting)
        return Budget(limits.max_cost, limits.max_summary_tokens, accounts)


def calls_of(
    profile: str | None,
    allow_calls: bool,
    max_cost: Dollars,
    max_cost_per_conversation: Dollars,
    max_cost_per_day: Dollars,
    max_summary_tokens: int | None,
    redact: bool,
    summarizer: Summarizer | None,
) -> Calls | None:
    """Check the API's arguments about calls. None if they permit no call. Raises UsageError."""
    limits = Limits(
        dollars_of(max_cost, "max_cost"),
        dollars_of(max_cost_per_conversation, "max_cost_per_conversation"),
        dollars_of(max_cost_per_day, "max_cost_per_day"),
        max_summary_tokens,
        redact,
    )
    if profile is None and not allow_calls:
        if limits.is_any:
            raise UsageError(
                "max_cost…, max_summary_tokens and redact apply to model calls only.", "Give profile or allow_calls."
            )
        return None
    if summarizer is not None:
        raise UsageError("A summarizer and a profile cannot be used together.", "Give one of them.")
    if profile is not None:
        check_profile(profile)
    return Calls(profile, allow_calls, limits)


def with_calls(result: Condensation, summaries: OnDemand) -> Condensation:
    """Add calls, cost and notes of the summaries to a result."""
    made = summaries.made
    if made is None:
        return result
    calls, cost = made.charged()
    return replace(result, calls=calls, cost=cost, warnings=(*result.warnings, *made.notes))


def dollars_of(value: Any, name: str) -> Decimal | None:
    """Parse an amount: 0.5, "0.50", "$0.50". Raises UsageError that names the argument `name`."""
    if value is None:
        return None
    amount = None if isinstance(value, bool) else dollars_in(str(value))
    if amount is None:
        raise UsageError(f"{name} must be an amount of dollars, not {value!r}.", f"For example {name} 0.50.")
    return amount


class OnDemand:
    """A `Summarizer` that is opened on first use, because most runs need none."""

    def __init__(
        self, opened: Callable[[Counter], AbstractContextManager[Summaries]], count: Counter, stack: ExitStack
    ) -> None:
        self.made: Summaries | None = None
        self._open, self._count, self._stack = opened, count, stack
        self._transcript: Transcript | None = None

    def begin(self, transcript: Transcript, count: Counter) -> None:
        """Use this conversation and counter from now on; the next conversation may be of another model."""
        self._transcript, self._count = transcript, count
        if self.made is not None:
            self.made.begin(transcript, count)

    def summarize(self, tasks: Sequence[Task], messages: Sequence[Message]) -> list[Outcome]:
        return self._opened().summarize(tasks, messages)

    def works_offline(self, profile: str | None) -> bool:
        return self._opened().works_offline(profile)

    def charged(self) -> tuple[int, Decimal]:
        return self.made.charged() if self.made is not None else (0, Decimal(0))

    def _opened(self) -> Summaries:
        if self.made is None:
            self.made = self._stack.enter_context(self._open(self._count))
            if self._transcript is not None:
                self.made.begin(self._transcript, self._count)
        return self.made


@contextmanager
def summaries_for(
    configuration: Configuration,
    count: Counter,
    calls: Calls,
    budget: Budget | None = None,
    showing: Showing = nullcontext,
) -> Iterator[OnDemand]:
    """Open a run's summarizer. Raises CondenseError, also on first use.

    A given `budget` is shared by many runs, and then this run shows no progress of its own.
    """
    if calls.profile is not None:
        check_profile(calls.profile)
    with ExitStack() as stack:
        yield OnDemand(lambda count: _opened(configuration, count, calls, budget, showing), count, stack)


@contextmanager
def _opened(
    configuration: Configuration, count: Counter, calls: Calls, budget: Budget | None, showing: Showing
) -> Iterator[Summaries]:
    from .llm.summarizer import open_summaries

    user, installed = load_user_configuration(), Installed()
    with (
        nullcontext() if budget else showing() as progress,
        open_summaries(
            configuration,
            user,
            count,
            budget or calls.budget(),
            os.environ,
            datetime.now(UTC),
            profile=calls.profile,
            allow_calls=calls.allow_calls,
            no_cache=calls.no_cache,
            is_planned=calls.is_planned,
            installed=_refuse_limits if calls.settled().is_any else installed.summarizer,
            redactor=redactor_of(calls),
            progress=progress,
        ) as summaries,
    ):
        yield summaries


def redactor_of(calls: Calls) -> Redactor | None:
    """Open the redactor of secrets if one was requested. Raises CondenseError."""
    if not calls.settled().redact:
        return None
    from .llm.access import Redactor

    return Redactor(Path(cache_folder()))


def _refuse_limits(name: str) -> Callable[[Counter], Summarizer]:
    raise ConfigurationError("redact and the limits of cost and tokens have no effect on it.")


def check_profile(name: str) -> None:
    """Raise ConfigurationError if the profile does not exist."""
    profiles = load_user_configuration().profiles
    if name not in profiles:
        raise unknown_profile(name, profiles)
