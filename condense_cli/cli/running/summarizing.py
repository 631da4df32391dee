"""Summaries of a run: how calls are shown while they are made, and what is told of them in the end."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct

from ... import calling
from ...calling import Calls, OnDemand
from ...errors import ExitStatus
from ...passes.receipts import SUMMARIZE
from ...passes.summaries import OFFLINE

if TYPE_CHECKING:
    from ...llm.calls import Progress
    from ...passes.condensation import Condensation
    from ...report.run.facts import Summarized


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


summaries_for = partial(calling.summaries_for, showing=_progress)
"""The summarizer of a run, with the progress on the terminal."""


class SummaryUse(Struct, frozen=True):
    """What the report says of the summaries."""

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
    """List the profiles that were used; `result` is the only conversation that came of it, where there is only one."""
    summaries = on_demand.made
    if summaries is None:
        return SummaryUse()
    from ...report.run.summaries import known_cost, summarized

    has_any = result is None or any(receipt.operation == SUMMARIZE for receipt in result.changes)
    without_consent = (
        "Summaries were picked from the text without a model; --profile NAME or --allow-calls lets one write them."
    )
    warnings = [*([without_consent] if summaries.is_without_consent and has_any else ()), *summaries.notes]
    used = tuple(summarized(summaries))
    return SummaryUse(used, known_cost(used), tuple(warnings), summaries.worst)


def without_effect(calls: Calls, told: SummaryUse) -> tuple[str, ...]:
    """Warn where the profile that --profile names was asked for nothing, neither summaries nor counts."""
    if calls.profile in (None, OFFLINE) or calls.is_count_asked or told.used:
        return ()
    return (f"--profile {calls.profile} had no effect: no summary was asked for.",)


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
