"""The files of a run, condensed by Ray's workers: each file by one, which writes it where it belongs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from msgspec.structs import replace

from ...errors import UsageError
from ...rows.ray_engine import as_done
from .one_of_many import Finished, Job, died
from .work import SummaryUse, Treatment
from .workers import Spread, may_call

SEVERAL: Final = 2
"""Processes that are told to work: how many there are is Ray's to say."""


def on_ray(treatment: Treatment, most: int | None) -> Spread:
    """What spreads files over Ray's workers, so many at a time. Raises UsageError; what it gives, CondenseError.

    A worker has no folder that it works in: it is told whole paths.
    """
    if may_call(treatment.calls):
        raise UsageError(
            "--engine ray cannot call models, because a budget needs a single process.", "Leave out --engine."
        )

    def spread(work: Callable[[Any], Any], tasks: Iterator[Any], jobs: int) -> Iterator[Any]:
        given: list[Job] = [*tasks]
        folder = given[0].folder if given else None
        if folder is None:
            yield from as_done(work, given, _died, most)
            return
        for finished, told in as_done(work, [replace(job, folder=folder.absolute()) for job in given], _died, most):
            yield _named(finished, folder), told

    return spread


def _died(job: Job, why: str) -> tuple[Finished, SummaryUse]:
    return died(job, why), SummaryUse()


def _named(finished: Finished, folder: Path) -> Finished:
    """The same with the output as the user named the folder."""
    output = finished.result.output
    if output is None:
        return finished
    below = Path(output).relative_to(folder.absolute())
    return replace(finished, result=replace(finished.result, output=str(folder / below)))
