"""`condense run` on a set of rows: every row is condensed on its own, in several processes, and written as it comes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import IO, TYPE_CHECKING, assert_never

from msgspec import Struct
from msgspec.structs import replace

from ...calling import OnDemand
from ...core.factor import factor_as
from ...delivering import Destination, Where
from ...errors import ExitStatus, UsageError
from ...passes.flags import missed_keeps
from ...rows.condensing import ROOM, Counters, New, flow, for_each_row, split, tally_parts, tally_result, work_in_order
from ...rows.facts import Tally
from ...rows.reading import RowKind, RowLines, is_array, is_parquet
from ..console import write_out
from ..reading import name_of
from ..running.one import nothing_kept
from ..running.work import SummaryUse, Treatment, Worker, status_of
from ..running.workers import done_to_each, may_call

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer as Buffer

    from ...core.transcript import Transcript


class RowsTask(Struct, frozen=True):
    """What is done to the rows of a file. `is_written` tells whether anybody wants the lines afterwards."""

    file: str
    kind: RowKind
    treatment: Treatment
    is_written: bool = True


class Done(Struct, frozen=True):
    """A batch of rows that was condensed: the lines to write, and what came of it."""

    lines: list[bytes]
    tally: Tally
    status: ExitStatus
    missed: frozenset[str]


class RowsOutcome(Struct, frozen=True):
    """The outcome of all rows; the status is about the calls of models alone.

    `missed` says of each selector of --keep that matched nothing in any row that it did.
    """

    tally: Tally
    told: SummaryUse
    status: ExitStatus
    missed: tuple[str, ...] = ()


def check_destination(to: Destination) -> None:
    """Raises UsageError for places that only a session goes to."""
    if to.where in (Where.NEW_SESSION, Where.IN_PLACE):
        raise UsageError("A set of rows needs an output file.", "Name it with -o FILE.")


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
    if task.treatment.splits and (is_parquet(task.file) or is_array(task.file)):
        raise UsageError("--split needs rows that are lines of JSON.", "Convert them: one row on a line.")
    calls = task.treatment.calls
    if may_call(calls) and (calls.settled().is_any or not calls.is_planned):
        jobs = 1  # A limit is for all rows together.
    tally, told, status = Tally(), SummaryUse(), ExitStatus.DONE
    missed = {*task.treatment.work.overrides.keep}
    with flow(task.file, task.kind, output) as (kind, lines, write):
        do = partial(condense_batch, task, kind)
        for done, told in done_to_each(do, task.treatment, lines, jobs, shared=summaries, spread=work_in_order):  # noqa: B007
            tally.add(done.tally)
            status = max(status, done.status)
            missed &= done.missed
            write(done.lines)
            progress(tally)
        said = tuple(f"--keep {selector} matches nothing." for selector in sorted(missed))
        if said and summaries is None and tally.rows > tally.bad:
            raise nothing_kept(said)
    return RowsOutcome(tally, told, status, said)


def condense_batch(task: RowsTask, kind: RowKind, treatment: Treatment, summaries: OnDemand, batch: RowLines) -> Done:
    """Condense the rows of a batch. Raises KeyboardInterrupt where that stopped a call."""
    work = treatment.work
    most = work.target_tokens if treatment.splits else None
    if most is not None:
        work = replace(work, target_tokens=int(ROOM * most))
    condensed = Worker(work, treatment.calls, summaries)
    counters = Counters(work.configuration.counter)
    tally = Tally()
    missed = {*work.overrides.keep}

    def condense(transcript: Transcript, line: int) -> New:
        transcript = work.continuing(transcript)
        missed.intersection_update(missed_keeps([*missed], transcript.messages))
        count = counters(transcript)
        if most is None:
            return tally_result(condensed(transcript, count), tally, line)
        factor = factor_as(work.count, transcript, count)
        parts = split(transcript, most, lambda beginning: condensed(beginning, count, factor), count, factor)
        bare = sum(map(count.message, transcript.messages))
        return tally_parts(transcript, parts, most, tally, bare, factor)

    lines = for_each_row(batch, name_of(task.file), kind, tally, condense)
    status = status_of(summaries, ExitStatus.DONE, allow_partial=treatment.allow_partial)
    if status is ExitStatus.INTERRUPTED:
        raise KeyboardInterrupt
    return Done(lines if task.is_written else [], tally, status, frozenset(missed))


class StandardOutput(BytesIO):
    """Standard output as a stream: what is written goes there."""

    def write(self, data: Buffer) -> int:
        written = bytes(data)
        write_out(written)
        return len(written)

    def writelines(self, lines: Iterable[Buffer]) -> None:
        write_out(b"".join(lines))
