"""`condense run` on a set of rows: every row is condensed on its own, in several processes, and written as it comes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import IO, TYPE_CHECKING, assert_never

from msgspec import Struct

from ...errors import ExitStatus, UsageError
from ...report.costs.text import digits
from ...report.run.facts import Summarized
from ...rows.condensing import Counters, for_each_row, tallied
from ...rows.reading import Lines
from ...rows.row import Kind
from ...rows.tally import Tally
from ...rows.working import flow, results
from ..console import write_out
from ..reading import name_of
from ..running.destination import Destination, Where
from ..running.summarizing import Calls, OnDemand, Told, status_of, summaries_for, told_of
from ..running.work import Treatment, Worker

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer as Buffer

    from ...core.transcript import Transcript


class RowsTask(Struct, frozen=True):
    """What is done to the rows of a file. `is_written` tells whether anybody wants the lines afterwards."""

    file: str
    kind: Kind
    treatment: Treatment
    is_written: bool = True


class Done(Struct, frozen=True):
    """A batch of rows that was condensed: the lines to write, and what came of it."""

    lines: list[bytes]
    tally: Tally
    told: Told
    status: ExitStatus


class RowsOutcome(Struct, frozen=True):
    """What came of all rows; the status is about the calls of models alone."""

    tally: Tally
    told: Told
    status: ExitStatus


def check_destination(to: Destination) -> None:
    """Raises UsageError for places that only a session goes to."""
    if to.where in (Where.NEW_SESSION, Where.IN_PLACE):
        raise UsageError("A set of rows is written to a file of its own.", "Name it with -o FILE.")


def output_of(to: Destination) -> Path | IO[bytes] | None:
    """Where the rows go."""
    if not to.writes_anything:
        return None
    match to.where:
        case Where.STDOUT:
            return StandardOutput()
        case Where.FILE:
            return Path(str(to.output))
        case Where.NOWHERE | Where.NEW_SESSION | Where.IN_PLACE:
            return None
        case other:
            assert_never(other)


def condense_rows(
    task: RowsTask,
    output: Path | IO[bytes] | None,
    jobs: int,
    progress: Callable[[Tally], None] = lambda tally: None,
    summaries: OnDemand | None = None,
) -> RowsOutcome:
    """Condense all rows and write them. Raises CondenseError; then no file is written.

    `summaries` are those of a larger run, which this one takes part in, as the one process that it is.
    """
    outcome = RowsOutcome(Tally(), Told(), ExitStatus.DONE)
    with (
        flow(task.file, task.kind, output) as (kind, lines, write),
        _work(task, kind, jobs, summaries) as (work, jobs),
    ):
        for done in results(work, lines, jobs):
            outcome.tally.add(done.tally)
            outcome = RowsOutcome(
                outcome.tally,
                done.told if jobs == 1 else together(outcome.told, done.told),
                max(outcome.status, done.status),
            )
            write(done.lines)
            progress(outcome.tally)
    return outcome


@contextmanager
def _work(
    task: RowsTask, kind: Kind, jobs: int, shared: OnDemand | None
) -> Iterator[tuple[Callable[[Lines], Done], int]]:
    """What is done to a batch, and by how many processes."""
    from ...core.tokens import Counter

    calls = task.treatment.calls
    if shared is not None:
        yield _condense_here(task, kind, shared), 1
    elif jobs > 1 and (calls.is_planned or not may_call(calls)):
        yield partial(_condense_apart, task, kind), jobs
    else:
        with summaries_for(task.treatment.work.configuration, Counter(), calls) as summaries:
            yield _condense_here(task, kind, summaries), 1


def _condense_here(task: RowsTask, kind: Kind, summaries: OnDemand) -> Callable[[Lines], Done]:
    """What is done to a batch in this process."""
    counters = Counters(task.treatment.work.configuration.counter)

    def condense(batch: Lines) -> Done:
        tally, lines = _condense_batch(task, kind, counters, summaries, batch)
        status = status_of(summaries, ExitStatus.DONE, allow_partial=task.treatment.allow_partial)
        if status is ExitStatus.INTERRUPTED:
            raise KeyboardInterrupt
        return Done(lines, tally, told_of(summaries), status)

    return condense


def may_call(calls: Calls) -> bool:
    """Whether models may be called: then one process does the work and keeps to the budget; the calls overlap."""
    from ...config.user import load_user_configuration

    return calls.profile is not None or calls.allow_calls or load_user_configuration().allow_calls


def _condense_apart(task: RowsTask, kind: Kind, batch: Lines) -> Done:
    """The same in a process of its own, where no model is ever called."""
    from ...core.tokens import Counter

    work, calls = task.treatment.work, task.treatment.calls
    with summaries_for(work.configuration, Counter(), calls) as summaries:
        tally, lines = _condense_batch(task, kind, Counters(work.configuration.counter), summaries, batch)
        return Done(lines, tally, told_of(summaries), ExitStatus.DONE)


def _condense_batch(
    task: RowsTask, kind: Kind, counters: Counters, summaries: OnDemand, batch: Lines
) -> tuple[Tally, list[bytes]]:
    work = task.treatment.work
    condensed = Worker(work, task.treatment.calls, summaries)
    tally = Tally()

    def condense(transcript: Transcript, line: int) -> bytes | None:
        transcript = work.continuing(transcript)
        return tallied(condensed(transcript, counters(transcript)), tally, line)

    lines = for_each_row(batch, name_of(task.file), kind, tally, condense)
    counters.forget()
    return tally, lines if task.is_written else []


def together(one: Told, other: Told) -> Told:
    """What two processes told of summaries."""
    used = {each.profile: each for each in one.used}
    for each in other.used:
        before = used.get(each.profile)
        used[each.profile] = each if before is None else _added(before, each)
    return Told(tuple(used.values()), one.cost + other.cost, tuple(dict.fromkeys((*one.warnings, *other.warnings))))


def _added(one: Summarized, other: Summarized) -> Summarized:
    from msgspec.structs import replace

    return replace(
        one,
        written=one.written + other.written,
        cached=one.cached + other.cached,
        refused=one.refused + other.refused,
        calls=one.calls + other.calls,
        tokens=one.tokens + other.tokens,
        cost=_sum(one.cost, other.cost),
        at_least=one.at_least or other.at_least,
    )


def _sum(one: str | None, other: str | None) -> str | None:
    known = [Decimal(cost) for cost in (one, other) if cost is not None]
    return digits(sum(known, Decimal(0))) if known else None


class StandardOutput(BytesIO):
    """Standard output as a stream: what is written goes there."""

    def write(self, data: Buffer) -> int:
        written = bytes(data)
        write_out(written)
        return len(written)

    def writelines(self, lines: Iterable[Buffer]) -> None:
        write_out(b"".join(lines))
