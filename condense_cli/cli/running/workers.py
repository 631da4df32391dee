"""Work on one piece after the other, files or batches of rows, and sum up the summaries of all of them.

If models may be called, one process does the work and keeps to the budget, and the calls overlap. Otherwise the work is
spread over several.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from functools import partial
from typing import Protocol, TypeVar

from msgspec.structs import replace

from ...calling import Calls, OnDemand
from ...config.own import load_user_configuration
from ...core.transcript import Message
from ...errors import CondenseError
from ...report.costs import digits
from ...report.run.facts import Summarized
from ...rows.many_files import Input
from ...rows.reading import rows_in
from ...storage.processes import in_order
from ...tokens.counting import Counter
from ..work.reading import read_transcript
from .job import SummaryUse, Treatment, check_keep, summaries_for, summary_use

Piece = TypeVar("Piece")
Result = TypeVar("Result")
ToEach = Callable[[Treatment, OnDemand, Piece], Result]
"""Does the work on a piece, with a summarizer. It and the pieces travel to other processes."""


class Spread(Protocol):
    """`processes.in_order`, or what decides how many processes are worth starting."""

    def __call__(self, work: Callable[[Piece], Result], tasks: Iterator[Piece], jobs: int) -> Iterator[Result]: ...


def may_call(calls: Calls) -> bool:
    """Whether models may be called."""
    return calls.profile is not None or calls.allow_calls or load_user_configuration().allow_calls


def done_to_each(
    do: ToEach[Piece, Result],
    treatment: Treatment,
    pieces: Iterable[Piece],
    jobs: int,
    *,
    shared: OnDemand | None = None,
    spread: Spread = in_order,
) -> Iterator[tuple[Result, SummaryUse]]:
    """Yield the result for each piece, in order, with the sum of all summaries so far.

    One process has one summarizer for all pieces, which may be `shared` with a larger run; of several processes each
    has its own.
    """
    if shared is not None:
        for piece in pieces:
            yield do(treatment, shared, piece), summary_use(shared)
    elif jobs == 1:
        with summaries_for(treatment.work.configuration, Counter(), treatment.calls) as summaries:
            yield from done_to_each(do, treatment, pieces, 1, shared=summaries)
    else:
        told = SummaryUse()
        for result, each in spread(partial(apart, do, treatment), iter(pieces), jobs):
            told = _together(told, each)
            yield result, told


def apart(do: ToEach[Piece, Result], treatment: Treatment, piece: Piece) -> tuple[Result, SummaryUse]:
    """Work on a piece in a process of its own, where no model is ever called."""
    with summaries_for(treatment.work.configuration, Counter(), treatment.calls) as summaries:
        return do(treatment, summaries, piece), summary_use(summaries)


def _together(one: SummaryUse, other: SummaryUse) -> SummaryUse:
    """Add up the summaries of two processes."""
    used = {each.profile: each for each in one.used}
    for each in other.used:
        before = used.get(each.profile)
        used[each.profile] = each if before is None else _added(before, each)
    return SummaryUse(
        tuple(used.values()),
        one.cost + other.cost,
        tuple(dict.fromkeys((*one.notes, *other.notes))),
        one.worst + other.worst,
    )


def _added(one: Summarized, other: Summarized) -> Summarized:
    costs = [cost for cost in (one.cost, other.cost) if cost is not None]
    return replace(
        one,
        written=one.written + other.written,
        cached=one.cached + other.cached,
        refused=one.refused + other.refused,
        calls=one.calls + other.calls,
        tokens=one.tokens + other.tokens,
        cost=digits(sum(costs, Decimal(0))) if costs else None,
        at_least=one.at_least or other.at_least,
    )


def check_keep_in(inputs: Iterable[Input], treatment: Treatment) -> None:
    """As `check_keep`, for the files of a run; sets of rows are left to the run on them. Raises UsageError."""
    if not treatment.work.overrides.keep or not (files := [each.path for each in inputs]):
        return
    if not any(rows_in(str(path), treatment.format) is not None for path in files):
        check_keep(treatment.work.overrides.keep, _conversations(map(str, files), treatment))


def _conversations(files: Iterable[str], treatment: Treatment) -> Iterator[Sequence[Message]]:
    for file in files:
        try:
            yield read_transcript(file, treatment.format, treatment.lenient).messages
        except (CondenseError, OSError):  # The run on that file tells it.
            continue
