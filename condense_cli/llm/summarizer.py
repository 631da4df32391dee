"""Summarize for passes: by a profile's model if permitted, else offline."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from decimal import Decimal
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ..config.models import Configuration
from ..config.own import UserConfiguration
from ..config.profiles import INSTALLED, Access
from ..core.transcript import Message, Transcript
from ..core.values import ContentType
from ..core.wording import plural
from ..errors import ConfigurationError
from ..ledger.checklist import of_messages, of_text
from ..passes.offline import Offline
from ..passes.summaries import OFFLINE, Outcome, Refused, Summarizer, Task, TextTask, Written
from ..tokens.counting import Counter, encoding_for
from ..tokens.factor import typical_of
from .access import AccessChoice, Permission, Redactor, choose
from .budget import Accounts, Budget, Spent, conversation_of
from .cache import Cache, cache_path
from .calls import Caller, Progress
from .client import Cause, Failure, ReasonNames, failure
from .prompts import PromptTask, Subject, flattened
from .summaries import planned, summarize, window_of

_USUAL_LIMIT: Final = 4_000
"""Tokens of a batch summary if neither configuration nor profile sets a limit, not counting an earlier summary that it
takes over.
"""
_OF_WINDOW: Final = 8
"""Such a summary takes at most this fraction (1/N) of the window, which must also hold the joined summaries of parts.
"""

_SUBJECTS: Final = {
    ContentType.TOOL_PARAMETERS: Subject.TOOL_PARAMETERS,
    ContentType.TOOL_RESULTS: Subject.TOOL_RESULT,
}


Installed = Callable[[str], Callable[[Counter], Summarizer]]
"""Returns the factory of an installed package's summarizer by name. Raises ConfigurationError."""


def none_installed(name: str) -> Callable[[Counter], Summarizer]:
    raise ConfigurationError(f"There is no summarizer named {name!r}.")


class ProfileUse(Struct, frozen=True):
    """Work of one profile: summaries written, the number of those from the cache, refusals, and cost."""

    profile: str
    model: str
    written: int
    cached: int
    refused: int
    spent: Spent

    def __add__(self, other: ProfileUse) -> ProfileUse:
        return ProfileUse(
            self.profile,
            self.model,
            self.written + other.written,
            self.cached + other.cached,
            self.refused + other.refused,
            self.spent + other.spent,
        )


class Summaries:
    """A `Summarizer` for one run. It keeps use and notes for the report.

    `choose` returns the profile for a task's profile name (or None), `caller` its dependencies. If `is_planned`,
    nothing is called: requests are priced with the longest expected answers, unless the cache has the answer.
    `installed` finds summarizers of packages. `redactor` and `accounts` are those of the callers.
    """

    def __init__(
        self,
        count: Counter,
        choose: Callable[[str | None], AccessChoice],
        caller: Callable[[Access], Caller],
        *,
        is_planned: bool = False,
        installed: Installed = none_installed,
        redactor: Redactor | None = None,
        accounts: Accounts | None = None,
    ) -> None:
        self.count = count
        self.is_planned = is_planned
        self.is_interrupted = False
        self.is_without_consent = False
        """True if the offline summarizer wrote anything because the named profile is not permitted."""
        self.failures: dict[Cause, Failure] = {}
        """First failure for each reason."""
        self._offline = Offline(count)
        self._choose, self._caller = choose, caller
        self._choices: dict[str | None, AccessChoice] = {}
        self._callers: dict[str, Caller] = {}
        self._installed = installed
        self._redactor = redactor
        self._accounts = accounts
        self._installed_made: dict[str, Summarizer] = {}
        self._used: dict[str, ProfileUse] = {}
        self._notes: dict[str, None] = {}

    def begin(self, transcript: Transcript, count: Counter) -> None:
        """Use this conversation and counter from now on."""
        if self._accounts is not None:
            self._accounts.conversation = conversation_of(transcript)
        if count is not self.count:
            self.count, self._offline = count, Offline(count)
            self._installed_made.clear()

    def charged(self) -> tuple[int, Decimal]:
        """Return the number of calls so far, and their known cost in dollars."""
        spent = sum((use.spent for use in self._used.values()), Spent())
        return spent.calls, spent.cost

    @property
    def used(self) -> list[ProfileUse]:
        return list(self._used.values())

    @property
    def worst(self) -> Decimal:
        """Most that the planned calls may cost; 0 if the limit covers that."""
        budget = next((caller.budget for caller in self._callers.values() if caller.budget is not None), None)
        return Decimal(0) if budget is None or budget.has_enough else budget.needed

    @property
    def notes(self) -> list[str]:
        """Sentences for the user: replacements, state of the cache, and masked secrets."""
        notes = list(self._notes)
        if self._redactor is not None and self._redactor.count:
            notes.append(f"{plural(self._redactor.count, 'secret was', 'secrets were')} masked (--redact).")
        return notes

    def _note(self, sentence: str) -> None:
        self._notes[sentence] = None

    def summarize(self, tasks: Sequence[Task], messages: Sequence[Message]) -> list[Outcome]:
        by_profile: dict[str | None, list[int]] = defaultdict(list)
        for number, task in enumerate(tasks):
            by_profile[task.profile].append(number)
        outcomes: dict[int, Outcome] = {}
        for profile, numbers in by_profile.items():
            found = self._of_profile(profile, [tasks[number] for number in numbers], messages)
            outcomes |= zip(numbers, found, strict=True)
        return [outcomes[number] for number in range(len(tasks))]

    def works_offline(self, profile: str | None) -> bool:
        return self._chosen(profile).is_offline

    def _chosen(self, profile: str | None) -> AccessChoice:
        if profile not in self._choices:
            self._choices[profile] = self._choose(profile)
        return self._choices[profile]

    def _of_profile(self, profile: str | None, tasks: Sequence[Task], messages: Sequence[Message]) -> Sequence[Outcome]:
        choice = self._chosen(profile)
        self._notes |= dict.fromkeys(choice.warnings)
        if choice.is_offline:
            found = self._offline.summarize(tasks, messages)
            is_any = any(isinstance(outcome, Written) for outcome in found)
            self.is_without_consent |= is_any and choice.failure is not None
            self._note_use(OFFLINE, "", found, 0, Spent())
            return found
        if choice.access is None or self.is_interrupted:
            why = choice.failure or failure(Cause.INTERRUPTED)
            self._fail(why)
            return [Refused(why.what)] * len(tasks)
        if choice.access.profile.api == INSTALLED:
            return self._by_installed(choice.access, tasks, messages)
        return self._called(choice.access, tasks)

    def _by_installed(self, access: Access, tasks: Sequence[Task], messages: Sequence[Message]) -> Sequence[Outcome]:
        """Summarize with an installed package's code, which may fail in any way."""
        if self.is_planned:
            self._note(f"The summarizer of the profile {access.name} was not used; the offline one replaces it.")
            return self._offline.summarize(tasks, messages)
        try:
            if access.name not in self._installed_made:
                self._installed_made[access.name] = self._installed(access.profile.summarizer or "")(self.count)
            found = list(self._installed_made[access.name].summarize(tasks, messages))
            if len(found) != len(tasks) or not all(isinstance(outcome, Written | Refused) for outcome in found):
                raise TypeError("it does not give one Written or Refused for each task")
        except MemoryError:
            raise
        except Exception as error:
            why = failure(Cause.INSTALLED_FAILED, ReasonNames(profile=access.name), f"{type(error).__name__}: {error}")
            self._fail(why)
            found = [Refused(why.what)] * len(tasks)
        self._note_use(access.name, access.profile.model, found, 0, Spent())
        return found

    def _called(self, access: Access, tasks: Sequence[Task]) -> list[Outcome]:
        if access.name not in self._callers:
            self._callers[access.name] = self._caller(access)
        summarized = planned if self.is_planned else summarize
        at_once = [task.max_parallel_calls for task in tasks if isinstance(task, TextTask) and task.max_parallel_calls]
        allowed = access.profile.max_parallel_calls
        if min(at_once, default=0) > allowed:
            self._note(
                f"The configuration allows {min(at_once)} parallel calls, the profile {access.name} only {allowed} "
                "(max_parallel_calls)."
            )
        caller = replace(self._callers[access.name], max_parallel_calls=min(at_once, default=None))
        asked_for = [self._task(task, access) for task in tasks]
        done = summarized(asked_for, caller)
        self.is_interrupted = self.is_interrupted or done.is_interrupted
        self._notes |= dict.fromkeys(done.notes)
        found: list[Outcome] = []
        for asked, outcome in zip(asked_for, done.outcomes, strict=True):
            if outcome.text is not None:
                missing = asked.checklist.missing(outcome.text) if asked.checklist else ()
                lacks = frozenset(item.entry for item in missing if item.entry)
                found.append(Written(outcome.text, access.name, lacks=lacks))
            else:
                assert outcome.failure is not None
                if outcome.failure.reason is not Cause.NOT_SMALLER:
                    self._fail(outcome.failure)
                found.append(Refused(outcome.failure.what))
        cached = sum(outcome.is_cached and outcome.text is not None for outcome in done.outcomes)
        self._note_use(access.name, access.profile.model, found, cached, done.spent)
        return found

    def _fail(self, why: Failure) -> None:
        """Note advice for a reason, with the detail of its first failure."""
        if why.reason not in self.failures:
            self.failures[why.reason] = why
            self._note(f"{why.hint} ({why.detail.strip('()')})" if why.detail else why.hint)

    def _task(self, task: Task, access: Access) -> PromptTask:
        if isinstance(task, TextTask):
            subject = _SUBJECTS.get(task.block.content_type or ContentType.MESSAGE_TEXT, Subject.MESSAGE_TEXT)
            tokens = self.count(task.text)
            return PromptTask(
                subject,
                (task.text,),
                task.max_tokens,
                task.block.tool,
                task.prompt,
                replaced=tokens,
                checklist=of_text(task.text, task.min_facts, task.max_tokens),
            )
        before = self.count(task.previous)
        usual = min(access.profile.max_tokens, _USUAL_LIMIT + before, window_of(access) // _OF_WINDOW)
        limit = task.max_tokens or usual
        replaced = sum(map(self.count.message, task.messages)) + before
        return PromptTask(
            Subject.CONVERSATION,
            flattened(task.messages),
            limit,
            custom_prompt=task.prompt,
            previous=task.previous or None,
            replaced=replaced,
            checklist=of_messages(task.messages, task.ledger, task.min_facts, limit, task.previous),
            listed=task.listed,
        )

    def _note_use(self, profile: str, model: str, found: Sequence[Outcome], cached: int, spent: Spent) -> None:
        written = sum(isinstance(outcome, Written) for outcome in found)
        used = ProfileUse(profile, model, written, cached, len(found) - written, spent)
        before = self._used.get(profile)
        self._used[profile] = before + used if before else used


@contextmanager
def open_summaries(
    configuration: Configuration,
    user: UserConfiguration,
    count: Counter,
    budget: Budget,
    environment: Mapping[str, str],
    when: datetime,
    *,
    profile: str | None,
    allow_calls: bool,
    no_cache: bool,
    is_planned: bool,
    installed: Installed,
    redactor: Redactor | None,
    progress: Callable[[Progress], None] | None,
) -> Iterator[Summaries]:
    """Open a run's summarizer. `profile` and `allow_calls` permit calls; `environment` has the keys."""
    permission = Permission(profile, allow_calls)
    cache = None if no_cache else Cache(cache_path())

    def caller(access: Access) -> Caller:
        encoding = encoding_for(access.profile.model)
        own = count if encoding.name == count.encoding else type(count)(encoding.name)
        return Caller(
            access,
            own,
            when,
            exact=encoding.exact,
            factor=typical_of(access.profile.model),
            budget=budget,
            cache=cache,
            redactor=redactor,
            progress=progress,
        )

    try:
        yield Summaries(
            count,
            lambda named: choose(named, configuration.profile, user, permission, environment, is_planned=is_planned),
            caller,
            is_planned=is_planned,
            installed=installed,
            redactor=redactor,
            accounts=budget.accounts,
        )
    finally:
        if cache is not None:
            cache.close()
