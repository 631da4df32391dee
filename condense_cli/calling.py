"""Who writes the summaries of a run: what is permitted, what calls are made with, and how much they may use."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from .config.base import Limits, dollars_in
from .config.variables import limits_in
from .errors import ConfigurationError, UsageError

if TYPE_CHECKING:
    from .config.models import Configuration
    from .config.profiles import Access
    from .core.tokens import Counter
    from .core.transcript import Message, Transcript
    from .llm.access import Redactor
    from .llm.budget import Budget
    from .llm.calls import Caller, Progress
    from .llm.summarizer import Summaries
    from .passes.condensation import Condensation
    from .passes.summaries import Outcome, Summarizer, Task

Dollars = Decimal | float | str | None
"""An amount as the arguments of functions take it; None is no limit."""

Showing = Callable[[], AbstractContextManager["Callable[[Progress], None] | None"]]
"""What shows how far calls are, while there are any."""


class Calls(Struct, frozen=True):
    """What is said about calls of models, by flags or arguments. Limits that are not given are the user's own."""

    profile: str | None = None
    allow_calls: bool = False
    limits: Limits = Limits()
    no_cache: bool = False
    is_planned: bool = False
    """No call is made for a summary; each request is priced instead."""
    is_count_asked: bool = False
    """The command line says --count exact: then its flags permit that call, even where summaries are only planned."""

    def settled(self) -> Limits:
        """All limits: those given, then those of variables, then of the user's file. Raises ConfigurationError."""
        from .config.files import load_user_configuration

        return self.limits.over(limits_in(os.environ)).over(load_user_configuration().limits)

    def budget(self) -> Budget:
        """A new budget: what all calls together may use. Raises ConfigurationError."""
        from datetime import datetime

        from .llm.accounts import FILE_NAME, Accounts, Spendable
        from .llm.budget import Budget
        from .llm.cache import cache_path

        limits = self.settled()
        lasting = Spendable(limits.max_cost_per_day, limits.max_cost_per_conversation)
        day = datetime.now().astimezone().strftime("%Y-%m-%d")
        accounts = None if lasting == Spendable() else Accounts(cache_path().with_name(FILE_NAME), day, lasting)
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
    """The arguments of a function of the API; None where nothing permits a call. Raises UsageError."""
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
    """A result with what its summaries used, and what is to be said of them."""
    from msgspec.structs import replace

    from .llm.budget import Spent

    made = summaries.made
    if made is None:
        return result
    spent = sum((used.spent for used in made.used), Spent())
    return replace(result, calls=spent.calls, cost=spent.cost, warnings=(*result.warnings, *made.notes))


def dollars_of(value: Any, name: str) -> Decimal | None:
    """An amount as it is given: 0.5, "0.50", "$0.50". Raises UsageError, which calls it `name`."""
    if value is None:
        return None
    amount = None if isinstance(value, bool) else dollars_in(str(value))
    if amount is None:
        raise UsageError(f"{name} must be an amount of dollars, not {value!r}.", f"For example {name} 0.50.")
    return amount


class OnDemand:
    """A `Summarizer` that is made when a pass first asks for a summary: most runs ask for none."""

    def __init__(
        self, opened: Callable[[Counter], AbstractContextManager[Summaries]], count: Counter, stack: ExitStack
    ) -> None:
        self.made: Summaries | None = None
        self._open, self._count, self._stack = opened, count, stack
        self._transcript: Transcript | None = None

    def begin(self, transcript: Transcript, count: Counter) -> None:
        """Work on this conversation from now on, and count with this: the next may be of another model."""
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
    """The summarizer of a run. Raises CondenseError, also when it is first used.

    `budget` is that of many runs, of which this is one; then it shows no progress of its own.
    """
    if calls.profile is not None:
        check_profile(calls.profile)
    with ExitStack() as stack:
        yield OnDemand(lambda count: _opened(configuration, count, calls, budget, showing), count, stack)


@contextmanager
def _opened(
    configuration: Configuration, count: Counter, calls: Calls, budget: Budget | None, showing: Showing
) -> Iterator[Summaries]:
    from datetime import UTC, datetime

    from .config.files import load_user_configuration
    from .core.factor import typical_of
    from .core.tokens import encoding_for
    from .llm.access import Permission, choose
    from .llm.cache import Cache, cache_path
    from .llm.calls import Caller
    from .llm.summarizer import Summaries
    from .plugins import Installed

    user = load_user_configuration()
    permission = Permission(calls.profile, calls.allow_calls)
    cache = None if calls.no_cache else Cache(cache_path())
    own_budget = budget or calls.budget()
    limits = calls.settled()
    redactor = redactor_of(calls)
    now = datetime.now(UTC)
    with nullcontext() if budget else showing() as progress:

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
            installed=_unbound if limits.is_any else Installed().summarizer,
            redactor=redactor,
            accounts=own_budget.accounts,
        )
        try:
            yield summaries
        finally:
            if cache is not None:
                cache.close()


def redactor_of(calls: Calls) -> Redactor | None:
    """What masks secrets before anything is sent, where that was asked for. Raises CondenseError."""
    if not calls.settled().redact:
        return None
    from .llm.access import Redactor
    from .llm.cache import cache_path

    return Redactor(cache_path().parent)


def _unbound(name: str) -> Callable[[Counter], Summarizer]:
    raise ConfigurationError("redact and the limits of cost and tokens have no effect on it.")


def check_profile(name: str) -> None:
    """Raises ConfigurationError for a profile that is not there."""
    from .config.files import load_user_configuration, unknown_profile

    profiles = load_user_configuration().profiles
    if name not in profiles:
        raise unknown_profile(name, profiles)
