"""The facts of a run over many files, in the shape that the JSON report has. Documented in docs/many.md."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from enum import StrEnum
from typing import Final

from msgspec import Struct

from ..core.version import __version__
from ..report.costs.text import digits
from ..report.run.facts import SHAPE, Summarized
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


class FileTokens(Struct, frozen=True):
    """The model's tokens of messages; the words are those of the report of one run."""

    before: int
    after: int
    saved: int
    saved_percent: float

    @classmethod
    def of(cls, before: int, after: int) -> FileTokens:
        return cls(before, after, before - after, percent(before - after, before))


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
    tokens: FileTokens = FileTokens.of(0, 0)
    why: str = ""
    warnings: tuple[str, ...] = ()


class FileCounts(Struct, frozen=True):
    total: int
    done: int
    unchanged: int
    up_to_date: int
    passed_over: int
    failed: int


class ManyReport(Struct, frozen=True):
    version: int
    condense: str
    output: str | None
    configuration: str
    files: FileCounts
    tokens: FileTokens
    currency: str
    spent: str
    summaries: list[Summarized]
    results: list[FileResult]
    warnings: list[str]


def build(
    results: Sequence[FileResult],
    *,
    output: str | None,
    configuration: str,
    spent: Decimal,
    summaries: Sequence[Summarized],
    warnings: Sequence[str],
) -> ManyReport:
    def number(status: FileStatus) -> int:
        return sum(result.status is status for result in results)

    worked = [result for result in results if result.status in WORKED]
    return ManyReport(
        version=SHAPE,
        condense=__version__,
        output=output,
        configuration=configuration,
        files=FileCounts(len(results), *map(number, FileStatus)),
        tokens=FileTokens.of(sum(each.tokens.before for each in worked), sum(each.tokens.after for each in worked)),
        currency="USD",
        spent=digits(spent),
        summaries=list(summaries),
        results=list(results),
        warnings=list(warnings),
    )


def exit_status(results: Sequence[FileResult]) -> int:
    """0 when every file is done; of several statuses the gravest: 1, then 3, 5 and 4."""
    found = {result.exit_status for result in results}
    return next((status for status in (1, 3, 5, 4, *sorted(found - {0})) if status in found), 0)
