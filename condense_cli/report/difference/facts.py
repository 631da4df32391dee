"""The facts of `condense diff`. Documented in docs/json-report.md."""

from __future__ import annotations

import msgspec

from ...core.tokens import BUILT_IN, CounterName
from ...extractive.reason import tally
from ..as_json import SHAPE
from ..run.facts import Counting, ExplainedLines, LostReport, Pair, lines_of
from .diff import BlockDiff, Diff, What


class CountedDifference(Pair, frozen=True):
    """Tokens before and after, and how they were counted."""

    encoding: str
    exact: bool
    counting: Counting
    counter: CounterName = BUILT_IN


class LineRun(msgspec.Struct, frozen=True):
    """Neighbouring lines with one fate: `sign` is "-" or "+", `line` counts from 1 in the older text."""

    sign: str
    line: int
    lines: list[str]
    why: list[ExplainedLines]


class ChangedBlock(msgspec.Struct, frozen=True):
    message: int
    role: str
    kind: str
    what: str
    label: str
    tokens: Pair
    reason: str
    lines: list[LineRun] | msgspec.UnsetType = msgspec.UNSET
    stayed: list[ExplainedLines] | msgspec.UnsetType = msgspec.UNSET


class DiffReport(msgspec.Struct, frozen=True):
    version: int
    messages: Pair
    messages_changed: int
    tokens: CountedDifference
    counts: dict[str, int]
    blocks: list[ChangedBlock]
    lost: LostReport


def build(diff: Diff, lost: LostReport, *, with_lines: bool) -> DiffReport:
    return DiffReport(
        SHAPE,
        Pair(diff.messages_before, diff.messages_after),
        diff.messages_changed,
        CountedDifference(
            diff.tokens_before,
            diff.tokens_after,
            diff.encoding,
            diff.exact,
            Counting.of(diff.factor),
            diff.counter,
        ),
        {what.value: diff.count(what) for what in What},
        [
            ChangedBlock(
                block.message,
                block.role.value,
                block.kind.value,
                block.what.value,
                block.label,
                Pair(block.tokens_before, block.tokens_after),
                block.said,
                _runs(block) if with_lines else msgspec.UNSET,
                lines_of(tally(line.why for line in block.lines if line.stays)) if with_lines else msgspec.UNSET,
            )
            for block in diff.blocks
        ],
        lost,
    )


def _runs(block: BlockDiff) -> list[LineRun]:
    return [
        LineRun(hunk.sign, hunk.line, list(hunk.lines), lines_of(tally(block.why(hunk))))
        for hunk in block.hunks()
        if hunk.sign != " "
    ]
