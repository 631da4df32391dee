"""The facts of a run over many files, in the shape that the JSON report has. Documented in docs/many.md."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from msgspec import Struct

from ..core.version import __version__
from ..report.run.facts import SHAPE
from ..report.text.shares import percent


class FileStatus(StrEnum):
    DONE = "done"
    UNCHANGED = "unchanged"
    """It was written as it was: the configuration finds nothing to do."""
    UP_TO_DATE = "up to date"
    """An earlier run wrote it from the same input, with the same configuration and version."""
    PASSED_OVER = "passed over"
    """A file in a folder that is no transcript, or one of a format that is only read."""
    FAILED = "failed"


WORKED: Final = frozenset({FileStatus.DONE, FileStatus.UNCHANGED, FileStatus.UP_TO_DATE})


class FileResult(Struct, frozen=True):
    """What came of one file. `rows` is 0 for a single conversation; `exit_status` what a run on it alone ends with.

    `why` is a sentence about a file that failed, was passed over or was written with shortcomings; `warnings` are those
    of the run that wrote it.
    """

    input: str
    output: str | None
    status: FileStatus
    exit_status: int = 0
    format: str | None = None
    rows: int = 0
    tokens_before: int = 0
    tokens_after: int = 0
    saved_percent: float = 0.0
    why: str = ""
    warnings: tuple[str, ...] = ()


class Totals(Struct, frozen=True):
    files: int
    done: int
    unchanged: int
    up_to_date: int
    passed_over: int
    failed: int
    tokens_before: int
    tokens_after: int
    saved: int
    saved_percent: float


class ManyReport(Struct, frozen=True):
    version: int
    condense: str
    out_dir: str | None
    configuration: str
    totals: Totals
    currency: str
    spent: str
    files: list[FileResult]
    warnings: list[str]


def build(
    results: Sequence[FileResult], *, out_dir: str | None, configuration: str, spent: str, warnings: Sequence[str]
) -> ManyReport:
    def number(status: FileStatus) -> int:
        return sum(result.status is status for result in results)

    worked = [result for result in results if result.status in WORKED]
    before, after = sum(each.tokens_before for each in worked), sum(each.tokens_after for each in worked)
    totals = Totals(
        files=len(results),
        done=number(FileStatus.DONE),
        unchanged=number(FileStatus.UNCHANGED),
        up_to_date=number(FileStatus.UP_TO_DATE),
        passed_over=number(FileStatus.PASSED_OVER),
        failed=number(FileStatus.FAILED),
        tokens_before=before,
        tokens_after=after,
        saved=before - after,
        saved_percent=percent(before - after, before),
    )
    return ManyReport(SHAPE, __version__, out_dir, configuration, totals, "USD", spent, list(results), list(warnings))


def exit_status(results: Sequence[FileResult]) -> int:
    """0 when every file is done; of several statuses the gravest: 1, then 3, 5 and 4."""
    found = {result.exit_status for result in results}
    return next((status for status in (1, 3, 5, 4, *sorted(found - {0})) if status in found), 0)
