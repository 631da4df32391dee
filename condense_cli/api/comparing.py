"""Compare ways to condense whose summaries models write, each with its use and what stopped it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import partial
from importlib import import_module
from typing import Final, Protocol

from msgspec.structs import replace

from ..config.models import Configuration
from ..core.arguments import (
    CONFIGURATIONS,
    COUNT,
    SHARES,
    SUMMARIZERS,
    TEXTS,
    TRANSCRIPTS,
    a_transcript,
    with_arguments,
)
from ..core.transcript import Message, Transcript
from ..errors import CallFailedError, StoppedError, UsageError
from ..llm.client import ANSWERED, HOPELESS, Cause
from ..llm.summarizer import ProfileUse, Summaries
from ..passes.summaries import OFFLINE, Outcome, Summarizer, Task
from ..quality.cases import SMALLEST, Case, Way
from ..quality.differences import Compared
from ..quality.differences import compare as differences
from ..quality.evaluation import CUTS, Evaluated, evaluate
from ..quality.recall import RECALLS
from ..tokens.counting import Counter
from .evaluating import Plan, Unread, check_witnesses, configured, evaluate_in_turn

_STOPPING: Final = HOPELESS | {Cause.UNKNOWN_PROFILE}
_GIVE_UP_AFTER: Final = 3
"""Consecutive runs without a successful call after which a way is given up."""


class SummaryWriter(Summarizer, Protocol):
    """A summarizer of one run; `made` keeps what was used, None until a summary is asked for."""

    @property
    def made(self) -> Summaries | None: ...

    def begin(self, transcript: Transcript, count: Counter) -> None: ...

    def works_offline(self, profile: str | None) -> bool: ...


class Contender:
    """A configuration, with the writer of its summaries and a prompt unless they are the usual ones. `opening`
    opens a writer for one run."""

    def __init__(
        self,
        name: str,
        configuration: Configuration,
        opening: Callable[[Counter], AbstractContextManager[SummaryWriter]],
        prompt: str | None = None,
    ) -> None:
        self.name = name
        self.used: dict[str, ProfileUse] = {}
        """Use of each profile so far."""
        self.stopped = ""
        """Why it was tried no further, as a sentence."""
        self._configuration, self._opening, self._prompt = configuration, opening, prompt
        self._in_vain = 0

    @property
    def way(self) -> Way:
        return configured(self.name, self._configuration, self._writing)

    @contextmanager
    def _writing(self, case: Case) -> Iterator[Summarizer]:
        """Open a summarizer for one case. Raises at its end if the run cannot be measured."""
        if self.stopped:
            raise StoppedError(self.stopped)
        with self._opening(case.count) as writer:
            writer.begin(case.before, case.count)  # A limit per conversation needs to know the conversation.
            try:
                yield writer if self._prompt is None else _Prompted(writer, self._prompt)
            finally:
                for used in writer.made.used if writer.made else ():
                    before = self.used.get(used.profile)
                    self.used[used.profile] = before + used if before else used
        if writer.made is not None:
            self._judge(writer.made)

    def _judge(self, made: Summaries) -> None:
        """Raise StoppedError if no further call is made, CallFailedError if no summary was written.

        The content stays then, and would count as kept by the model.
        """
        if made.is_interrupted:
            raise KeyboardInterrupt
        stopping = next((why for reason, why in made.failures.items() if reason in _STOPPING), None)
        if stopping is not None:
            self.stopped = f"{stopping.what} {stopping.hint}"
            raise StoppedError(self.stopped)
        written = any(used.written for used in made.used if used.profile != OFFLINE)
        if not made.failures or written:
            self._in_vain = 0
            return
        why = next(iter(made.failures.values()))
        self._in_vain = 0 if made.failures.keys() & ANSWERED else self._in_vain + 1
        if self._in_vain >= _GIVE_UP_AFTER:
            self.stopped = f"{why.what} {why.hint}"
        raise CallFailedError(str(why), why.hint)


class _Prompted:
    """A summarizer with another prompt."""

    def __init__(self, writer: SummaryWriter, prompt: str) -> None:
        self._writer, self._prompt = writer, prompt

    def summarize(self, tasks: Sequence[Task], messages: Sequence[Message]) -> Sequence[Outcome]:
        return self._writer.summarize([replace(task, prompt=self._prompt) for task in tasks], messages)

    def works_offline(self, profile: str | None) -> bool:
        return self._writer.works_offline(profile)


def compare_files(
    names: Sequence[str],
    plan: Plan,
    contenders: Sequence[Contender],
    done: Callable[[float], None] = lambda files: None,
) -> list[Evaluated | Unread]:
    """Measure files, cut by cut with all contenders in turn, so that a spent budget leaves pairs; then the plan's
    own ways.

    Seconds are wall time, calls included. `done` is called with the number of finished files.
    """
    for client in ("anthropic_client", "openai_client"):
        with suppress(ModuleNotFoundError):  # Imported later, it would count as time of the first way.
            import_module(f"..llm.{client}", __package__)
    ways = [*(contender.way for contender in contenders), *plan.ways]
    return evaluate_in_turn(names, plan, done, ways=ways, clock=time.perf_counter)


@with_arguments(
    transcripts=TRANSCRIPTS,
    ways=CONFIGURATIONS,
    summarizers=SUMMARIZERS,
    budgets=SHARES,
    cuts=SHARES,
    smallest=COUNT,
    witnesses=TEXTS,
)
def compare(
    transcripts: Sequence[Transcript],
    ways: Mapping[str, Configuration],
    *,
    summarizers: Mapping[str, Summarizer] | None = None,
    budgets: Sequence[float] = (),
    cuts: Sequence[float] = CUTS,
    smallest: int = SMALLEST,
    witnesses: Sequence[str] = (),
) -> list[Compared]:
    """Compare every way with the first one at the same cuts of transcripts, and test if the difference is more than
    chance.

    `ways` are configurations by the name to show. `summarizers` write the summaries for some of them, keyed by the
    same names; the others are written offline. The rest is as for `evaluate`; docs/models.md explains the
    result. Raises UsageError for invalid arguments.
    """
    check_witnesses(witnesses)
    if not ways:
        raise UsageError("There is nothing to compare.", "Give a dict from names to Configurations.")
    writers = summarizers or {}
    measured = [
        configured(name, configuration, partial(_given, writers.get(name))) for name, configuration in ways.items()
    ]
    found = [
        evaluate(a_transcript(transcript), measured, budgets=budgets, cuts=cuts, smallest=smallest, witnesses=witnesses)
        for transcript in transcripts
    ]
    first, *others = ways
    return [one for other in others for one in differences(found, other, first, (*RECALLS, *witnesses))]


def _given(writer: Summarizer | None, case: Case) -> AbstractContextManager[Summarizer | None]:
    return nullcontext(writer)
