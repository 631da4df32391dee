"""A diff as JSON. Documented in docs/json-report.md."""

from __future__ import annotations

import msgspec

from ..tokens import BUILT_IN, CounterName
from .diff import Diff, What
from .facts import SHAPE, Counting, Pair


class Counted(Pair, frozen=True):
    """Tokens before and after, and how they were counted."""

    encoding: str
    exact: bool
    counting: Counting
    counter: CounterName = BUILT_IN


class Lines(msgspec.Struct, frozen=True):
    """Neighbouring lines with one fate: `sign` is "-" or "+", `line` counts from 1 in the older text."""

    sign: str
    line: int
    lines: list[str]


class ChangedBlock(msgspec.Struct, frozen=True):
    message: int
    role: str
    kind: str
    what: str
    label: str
    tokens: Pair
    lines: list[Lines] | msgspec.UnsetType = msgspec.UNSET


class DiffReport(msgspec.Struct, frozen=True):
    version: int
    messages: Pair
    messages_changed: int
    tokens: Counted
    counts: dict[str, int]
    blocks: list[ChangedBlock]


def as_report(diff: Diff, *, with_lines: bool) -> DiffReport:
    return DiffReport(
        SHAPE,
        Pair(diff.messages_before, diff.messages_after),
        diff.messages_changed,
        Counted(
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
                [Lines(hunk.sign, hunk.line, list(hunk.lines)) for hunk in block.hunks() if hunk.sign != " "]
                if with_lines
                else msgspec.UNSET,
            )
            for block in diff.blocks
        ],
    )
