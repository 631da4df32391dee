"""The facts of a run, in the shape of the JSON report. Documented in docs/json-report.md."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ...core.transcript import Slimmed, Transcript
from ...core.version import __version__
from ...extractive.reason import LineReason
from ...passes.condensation import Condensation
from ...passes.decisions import REFER
from ...passes.receipts import NOTE, SUMMARIZE, Receipt
from ...tokens.counting import BUILT_IN, Counter, CounterName, Encoding
from ...tokens.factor import Factor, Known
from ...window.use import overhead_of
from ..costs import Cost
from ..inspection.savings import References, references_after
from ..sections import SHAPE
from ..text import operation_label, percent, receipt_text
from .shortcomings import warnings_of

if TYPE_CHECKING:
    from ...quality.evaluation import KeptShare
    from ...quality.losses import LostRanking


class Saving(Struct, frozen=True):
    """The saving by one operation on one kind of content, in how many blocks."""

    content: str
    operation: str
    blocks: int
    tokens: int


def savings_of(condensation: Condensation, saved: int) -> list[Saving]:
    """Return the savings by content and operation, the largest first. The model's tokens add up to `saved`.

    An operation is what came of a block in the end. One that is cut and has references counts in both shares.
    """
    blocks: dict[tuple[int, int, str], list[Receipt]] = {}
    for receipt in condensation.changes:
        blocks.setdefault((receipt.message, receipt.block, _content(receipt)), []).append(receipt)
    by_references = dict(condensation.by_references)
    totals: dict[tuple[str, str], list[int]] = {}
    for (message, block, content), receipts in blocks.items():
        for operation, tokens in _shares(receipts, by_references.pop((message, block), 0)):
            if tokens:  # Nothing is saved on a block whose references became lines again.
                entry = totals.setdefault((content, operation), [0, 0])
                entry[0] += 1
                entry[1] += tokens
    shown = condensation.factor.parts([tokens for _, tokens in totals.values()], saved)
    rows = [
        Saving(content, operation, number, tokens)
        for ((content, operation), (number, _)), tokens in zip(totals.items(), shown, strict=True)
    ]
    return sorted(rows, key=lambda row: -row.tokens)


def restorable_in(savings: Iterable[Saving]) -> int:
    """Return the savings by references."""
    return sum(saving.tokens for saving in savings if saving.operation == REFER)


def _shares(receipts: list[Receipt], by_references: int) -> Iterator[tuple[str, int]]:
    """Yield the savings on one block by references and by its last cut."""
    yield REFER, by_references
    saved = sum(receipt.tokens_before - receipt.tokens_after for receipt in receipts)
    cuts = [receipt.operation for receipt in receipts if receipt.operation != REFER]
    yield cuts[-1] if cuts else REFER, saved - by_references


def _content(receipt: Receipt) -> str:
    if receipt.content_type:
        return receipt.content_type.value.replace("_", " ")
    if receipt.kind:
        return receipt.kind.value.replace("_", " ")
    return {SUMMARIZE: "summary", NOTE: "notes"}.get(receipt.operation, "messages")


class SlimKind(msgspec.Struct, frozen=True):
    """`values` of one kind; `bytes` is the size that the file loses by them."""

    name: str
    values: int
    records: int
    bytes: int


class Slim(msgspec.Struct, frozen=True):
    """Data that only a client shows; `kinds` has the largest first, and they add up to `bytes`."""

    bytes: int
    kinds: list[SlimKind]


def slim_of(transcript: Transcript) -> Slim:
    by_kind: dict[str, list[Slimmed]] = {}
    for slimmed in transcript.slimmed:
        by_kind.setdefault(slimmed.kind, []).append(slimmed)
    kinds = [
        SlimKind(
            name,
            len(found),
            len({slimmed.place.record for slimmed in found}),
            sum(slimmed.saved for slimmed in found),
        )
        for name, found in by_kind.items()
    ]
    return Slim(sum(kind.bytes for kind in kinds), sorted(kinds, key=lambda kind: -kind.bytes))


class ExplainedLines(Struct, frozen=True):
    """The number of lines with one reason; `message` is the one it points to, `name` the name it cites."""

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
    """Yield the receipts in the model's tokens, which add up to `saved`."""
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


IN_JSON: Final = {
    "lossless_saved": "saved_by_references",
}
"""Names in reports that differ from those here."""

_WORDS: Final[dict[str, str]] = {Known.COUNTED: "counted by the provider", Known.BARE: "plain counts"}
_SUMMARY: Final = 100 - len("condense: ")
"""Characters of a summary, beyond which it says less."""


class Pair(msgspec.Struct, frozen=True):
    before: int
    after: int


class Bytes(msgspec.Struct, frozen=True):
    """Sizes of the file; `after` is null for a format that cannot be written."""

    before: int
    after: int | None


class Bare(msgspec.Struct, frozen=True, rename=IN_JSON):
    """Tokens as they are counted, before the factor."""

    before: int
    after: int
    saved: int
    lossless_saved: int
    target: int | None


class Counting(msgspec.Struct, frozen=True):
    """The model's tokens for one counted token, the source of that factor, and its error in percent.

    Four of five counts stay below `error_percent`, null if nobody measured it. `doubt` says why recorded usage was not
    believed, or is empty.
    """

    factor: float
    source: str
    error_percent: float | None
    doubt: str

    @classmethod
    def of(cls, factor: Factor) -> Counting:
        error = None if factor.error is None else round(100 * factor.error, 1)
        return cls(round(factor.value, 4), factor.known.value, error, factor.doubt)

    def word(self, *, exact: bool) -> str:
        """Return a short word for the source of a figure; empty for exact ones."""
        return _WORDS.get(self.source, "" if exact else "estimated")


class RunTokens(msgspec.Struct, frozen=True, rename=IN_JSON):
    """The model's tokens of the messages; `overhead` (system prompt and tools sent besides them) is not included.

    `lossless_saved` is the part of `saved` by references, in blocks that are cut too; the rest is left out.
    `estimated` is the part of `before` and `after` that cannot be counted: images, documents, encrypted thinking.
    """

    before: int
    after: int
    saved: int
    saved_percent: float
    lossless_saved: int
    encoding: str
    exact: bool
    overhead: int
    overhead_source: str
    estimated: Pair
    target: int | None
    bare: Bare
    counting: Counting
    counter: CounterName = BUILT_IN


class Summarized(msgspec.Struct, frozen=True):
    """The work of one profile: summaries written (some from the cache), tasks refused, and its calls.

    `cost` are the known dollars, or null; `at_least` says that some calls cost more than is known. If it is `planned`,
    nothing was called: these are the requests that would be made, with answers of the greatest length.
    """

    profile: str
    model: str | None
    written: int
    cached: int
    refused: int
    calls: int
    tokens: int
    cost: Decimal | None
    at_least: bool
    planned: bool


class Pass(msgspec.Struct, frozen=True):
    id: str
    name: str
    status: str
    reason: str
    tokens_before: int
    tokens_after: int
    changes: int
    seconds: float
    calls: int
    cost: Decimal


class WrittenSession(msgspec.Struct, frozen=True):
    """A session that was written beside the original; `command` resumes it from the folder `cwd`, null if unknown."""

    id: str
    path: str
    command: list[str]
    cwd: str | None
    is_new: bool


class LostThing(msgspec.Struct, frozen=True):
    """One thing that is gone, and the last message that had it."""

    kind: str
    text: str
    message: int


class LostReport(msgspec.Struct, frozen=True):
    """What nothing says any more: the number of each kind, and the most valuable things, in that order.

    `whole`: nothing else can be named; the counts may be larger by what tells a reader nothing.
    """

    counts: dict[str, int]
    things: list[LostThing]
    whole: bool

    @classmethod
    def of(cls, losses: LostRanking) -> LostReport:
        things = [LostThing(loss.kind.value, loss.text, loss.message) for loss in losses.shown]
        return cls({kind.value: number for kind, number in losses.counts.items()}, things, losses.is_whole)

    @property
    def total(self) -> int:
        """Number of things that can be named, or an estimate if some are not listed."""
        return len(self.things) if self.whole else sum(self.counts.values())


class Report(msgspec.Struct, frozen=True):
    version: int
    condense: str
    input: str
    output: str | None
    backup: str | None
    new_session: WrittenSession | None
    format: str
    model: str | None
    configuration: str
    messages: Pair
    tokens: RunTokens
    bytes: Bytes
    cost: Cost
    passes: list[Pass]
    savings: list[Saving]
    references: References
    summaries: list[Summarized]
    warnings: list[str]
    expected: KeptShare | None = None
    lost: LostReport | None = None
    slim: Slim | None = None
    changes: list[Explained] | msgspec.UnsetType = msgspec.UNSET


class RunFiles(NamedTuple):
    """Names of the files of a run, and the bytes of the result, None if its format cannot be written."""

    source: str
    size: int | None
    output: str | None = None
    backup: str | None = None
    new_session: WrittenSession | None = None


def build(
    condensation: Condensation,
    files: RunFiles,
    *,
    count: Counter,
    encoding: Encoding,
    configuration: str,
    explain: bool = False,
    slim: bool = False,
    cost: Cost | None = None,
    expected: KeptShare | None = None,
    lost: LostReport | None = None,
    overhead_tokens: int | None = None,
    summaries: Sequence[Summarized] = (),
    warnings: Sequence[str] = (),
) -> Report:
    """Return the report of a run. `cost`, `expected` and `lost` are None if nobody asked: they take a while.

    `overhead_tokens` are those that the user names, `warnings` those of the writing. `slim` tells that display-only
    data was to be left out.
    """
    before, after = condensation.before, condensation.transcript
    factor = condensation.factor
    bare = Bare(
        condensation.tokens_before,
        condensation.tokens_after,
        condensation.tokens_before - condensation.tokens_after,
        condensation.lossless_saved,
        condensation.target,
    )
    saved = condensation.shown_before - condensation.shown_after
    savings = savings_of(condensation, saved)
    overhead, overhead_source = overhead_of(before, count, factor, overhead_tokens)
    return Report(
        version=SHAPE,
        condense=__version__,
        input=files.source,
        output=files.output,
        backup=files.backup,
        new_session=files.new_session,
        format=before.format,
        model=before.model,
        configuration=configuration,
        messages=Pair(len(before.messages), len(after.messages)),
        tokens=RunTokens(
            before=condensation.shown_before,
            after=condensation.shown_after,
            saved=saved,
            saved_percent=percent(saved, condensation.shown_before),
            lossless_saved=restorable_in(savings),
            encoding=encoding.name,
            exact=is_exact(before, encoding),
            overhead=overhead,
            overhead_source=overhead_source,
            estimated=Pair(factor.shown(estimated_tokens(before)), factor.shown(estimated_tokens(after))),
            target=condensation.shown_target,
            bare=bare,
            counting=Counting.of(factor),
            counter=encoding.counter,
        ),
        bytes=Bytes(len(before.source.data), files.size),
        cost=cost or Cost(),
        passes=[
            Pass(
                receipt.id,
                receipt.name,
                receipt.status.value,
                receipt.reason,
                factor.shown(receipt.tokens_before),
                factor.shown(receipt.tokens_after),
                receipt.changes,
                round(receipt.seconds, 4),
                receipt.calls,
                receipt.cost,
            )
            for receipt in condensation.passes
        ],
        savings=[replace(saving, operation=operation_label(saving.operation)) for saving in savings],
        references=references_after(condensation, count),
        summaries=list(summaries),
        warnings=[*warnings_of(condensation, encoding), *warnings],
        expected=expected,
        lost=lost,
        slim=slim_of(after) if slim else None,
        changes=list(explained(condensation.receipts, factor, saved)) if explain else msgspec.UNSET,
    )


def estimated_tokens(transcript: Transcript) -> int:
    """Count the tokens that can only be estimated: images, documents, encrypted thinking."""
    return sum(block.estimate for _, block in transcript.blocks() if not block.forgotten)


class Headline(NamedTuple):
    """The report in a line: what a script is told, for which nothing else need be computed.

    Tokens are the model's; `saved_by_references` is the part saved by references. `known` says how the
    figures are known, empty for exact ones.
    """

    before: int
    after: int
    saved_by_references: int
    known: str
    messages: Pair
    configuration: str

    def __str__(self) -> str:
        known = f", {self.known}" if self.known else ""
        references = f", {self.saved_by_references:,} by references" if self.saved_by_references > 0 else ""
        share = percent(self.before - self.after, self.before)
        lines = [
            f"{self.before:,} → {self.after:,} tokens ({share:.1f}% saved{part}{known}), "
            f"{self.messages.before:,} → {self.messages.after:,} messages, {self.configuration}"
            for part in (references, "")
        ]
        return next((line for line in lines if len(line) <= _SUMMARY), lines[-1])


def headline(condensation: Condensation, encoding: Encoding, configuration: str) -> Headline:
    before, after = condensation.shown_before, condensation.shown_after
    return Headline(
        before,
        after,
        restorable_in(savings_of(condensation, before - after)) if condensation.lossless_saved > 0 else 0,
        Counting.of(condensation.factor).word(exact=is_exact(condensation.before, encoding)),
        Pair(len(condensation.before.messages), len(condensation.transcript.messages)),
        configuration,
    )


def is_exact(transcript: Transcript, encoding: Encoding) -> bool:
    return encoding.exact and not estimated_tokens(transcript)
