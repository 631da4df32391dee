"""Files as the rows of a run over many: what came of each, as JSON reports have it. Documented in docs/many.md."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Final, Self

from msgspec import Struct

from ..report.text.labels import percent
from .tally import Tally


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
    def of(cls, tally: Tally) -> Self:
        before, after = tally.tokens_before, tally.tokens_after
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
    tokens: FileTokens = FileTokens(0, 0, 0, 0.0)
    why: str = ""
    warnings: tuple[str, ...] = ()


class FileCounts(Struct, frozen=True):
    total: int
    done: int
    unchanged: int
    up_to_date: int
    passed_over: int
    failed: int

    @classmethod
    def of(cls, results: Sequence[FileResult]) -> Self:
        return cls(len(results), *(sum(each.status is status for each in results) for status in FileStatus))


def exit_status(results: Sequence[FileResult]) -> int:
    """0 when every file is done; of several statuses the gravest: 1, then 3, 5 and 4."""
    found = {result.exit_status for result in results}
    return next((status for status in (1, 3, 5, 4, *sorted(found - {0})) if status in found), 0)
