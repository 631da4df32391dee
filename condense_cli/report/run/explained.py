"""Why blocks and lines went or stayed, in the shape that JSON reports have. Documented in docs/json-report.md."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from ...core.factor import Factor
from ...extractive.reason import LineReason
from ...passes.receipts import Receipt
from ..text.labels import operation_label
from ..text.reasons import receipt_text


class ExplainedLines(Struct, frozen=True):
    """How many lines have a reason; `message` is the one that it points to, `name` what that one names."""

    reason: str
    lines: int
    message: int | None
    name: str


def lines_of(reasons: Iterable[LineReason]) -> list[ExplainedLines]:
    return [ExplainedLines(why.reason.value, why.lines, why.message, why.name) for why in reasons]


class Explained(Struct, frozen=True, rename={"went": "cut", "stayed": "kept"}):
    """One block and one pass; message and block are positions in the input, block -1 is the message itself.

    The differences of changed blocks add up to what was saved, in the model's tokens and in bare ones. Of a
    block of which lines were picked, `went` and `stayed` tell why.
    """

    pass_id: str
    message: int
    block: int
    kind: str | None
    content_type: str | None
    tool: str | None
    operation: str
    changed: bool
    tokens_before: int
    tokens_after: int
    bare_before: int
    bare_after: int
    reason: str
    went: list[ExplainedLines]
    stayed: list[ExplainedLines]


def explained(receipts: Sequence[Receipt], factor: Factor, saved: int) -> Iterator[Explained]:
    """The receipts in the model's tokens, of which `saved` were saved by all of them together."""
    by_each = [receipt.tokens_before - receipt.tokens_after if receipt.is_change else 0 for receipt in receipts]
    for receipt, less in zip(receipts, factor.parts(by_each, saved), strict=True):
        after = factor.shown(receipt.tokens_after)
        yield Explained(
            receipt.pass_id,
            receipt.message,
            receipt.block,
            receipt.kind.value if receipt.kind else None,
            receipt.content_type.value if receipt.content_type else None,
            receipt.tool,
            operation_label(receipt.operation),
            receipt.is_change,
            after + less,
            after,
            receipt.tokens_before,
            receipt.tokens_after,
            receipt_text(receipt),
            lines_of(receipt.went),
            lines_of(receipt.stayed),
        )
