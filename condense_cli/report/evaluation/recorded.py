"""The facts of `condense evaluate --recorded`: judged compactions of clients.

Documented in docs/json-report.md.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterable, Sequence
from decimal import Decimal
from statistics import fmean
from typing import Final

import msgspec
from msgspec.structs import replace

from ...core.transcript import Transcript
from ...core.version import __version__
from ...formats.compacted import CompactionKind
from ...money.economics import Economics, PrefixRewrite, Rates, weigh
from ...quality.recall import Recall
from ...quality.recorded import CLIENT, Judged, Left, NotJudged
from ..as_json import SHAPE
from ..costs.money import PriceSource, as_money, in_report
from ..run.facts import Cost
from .facts import NotRead

CLIENT_NAME: Final = "client"
_NOTHING: Final = Decimal(0)


class ReadAgain(msgspec.Struct, frozen=True):
    """Files that were read once more after a compaction, of all that were touched before it; and the tokens it took."""

    files: int
    touched: int
    tokens: int


class LeftOver(msgspec.Struct, frozen=True):
    """The result of a way. `saved` are dollars over the following requests, less the one-time cost.

    `recall` is null where the way could not do it, and `error` says why.
    """

    way: str
    tokens: int
    recall: Recall | None
    error: str
    cost: Cost
    saved: str | None

    def share(self, measure: str) -> float | None:
        """Recall from 0 to 1; of `named` the share of the facts that are only named."""
        if self.recall is None:
            return None
        return self.recall.facts.share_named if measure == "named" else self.recall.shares()[measure]


class RecordedCompaction(msgspec.Struct, frozen=True):
    """One compaction. With a `reason` it was not judged, and only what the file says of it is told.

    `client_tokens` are those that the client noted before it, 0 where it did not. `is_readable` is false where what the
    client left is encrypted in part: its recalls are too low then.
    """

    number: int
    kind: str
    is_auto: bool | None
    client_tokens: int
    reason: str = ""
    is_readable: bool = True
    tokens: int = 0
    facts: int = 0
    lines: int = 0
    files: int = 0
    requests: int = 0
    actions: int = 0
    actions_to_edit: int | None = None
    read_again: ReadAgain | None = None
    left: list[LeftOver] = []


class RecordedFile(msgspec.Struct, frozen=True):
    """`compactions` is null where it is not known how files of that format record them."""

    name: str
    format: str
    model: str | None
    compactions: list[RecordedCompaction] | None

    @property
    def judged(self) -> list[RecordedCompaction]:
        return [one for one in self.compactions or () if not one.reason]


class WayMean(msgspec.Struct, frozen=True):
    """Means of a way over the compactions that ask for anything; sums of tokens over all that are judged."""

    way: str
    tokens: int
    facts: float | None
    named: float | None
    edits: float | None
    files: float | None


class RecordedTotal(msgspec.Struct, frozen=True, rename={"judged": "measured"}):
    compactions: int
    judged: int
    tokens: int
    facts: int
    lines: int
    files: int
    ways: list[WayMean]


class Recorded(msgspec.Struct, frozen=True):
    """The first of the `ways` is what the client did."""

    version: int
    condense: str
    ways: list[str]
    total: RecordedTotal
    files: list[RecordedFile]
    unread: list[NotRead]

    def not_judged(self) -> list[tuple[str, int]]:
        """Return the reasons why compactions were not judged, with their numbers."""
        every = (one.reason for file in self.files for one in file.compactions or ())
        return Tally(reason for reason in every if reason).most_common()


def recorded_file(
    name: str,
    transcript: Transcript,
    compactions: Sequence[Judged | NotJudged] | None,
    overhead: int,
    prices: PriceSource,
) -> RecordedFile:
    """Return the facts of one file. Every request carries `overhead` more tokens than its messages."""
    found = None
    if compactions is not None:
        found = [_compaction(number, one, overhead, prices) for number, one in enumerate(compactions, 1)]
    return RecordedFile(name, transcript.format, transcript.model, found)


def build(files: Iterable[RecordedFile], unread: Iterable[tuple[str, str]], ways: Sequence[str]) -> Recorded:
    """Return the facts of all files. `unread` are names and reasons, `ways` those beside the client's."""
    files, ways = list(files), [CLIENT_NAME, *ways]
    judged = [one for file in files for one in file.judged]
    total = RecordedTotal(
        sum(len(file.compactions or ()) for file in files),
        len(judged),
        sum(one.tokens for one in judged),
        sum(one.facts for one in judged),
        sum(one.lines for one in judged),
        sum(one.files for one in judged),
        [_mean_of(way, judged) for way in ways],
    )
    return Recorded(SHAPE, __version__, ways, total, files, [NotRead(name, reason) for name, reason in unread])


def _compaction(number: int, one: Judged | NotJudged, overhead: int, prices: PriceSource) -> RecordedCompaction:
    if isinstance(one, NotJudged):
        return RecordedCompaction(number, one.kind.value, one.is_auto, one.said_before, one.reason)
    after = one.after
    return RecordedCompaction(
        number,
        one.kind.value,
        one.is_auto,
        one.said_before,
        is_readable=one.is_readable,
        tokens=one.tokens,
        facts=one.facts,
        lines=one.lines,
        files=one.files,
        requests=after.requests,
        actions=after.actions,
        actions_to_edit=after.to_edit,
        read_again=ReadAgain(after.read_again, after.files, after.tokens),
        left=[_left_over(left, one, overhead, prices) for left in one.left],
    )


def _left_over(left: Left, one: Judged, overhead: int, prices: PriceSource) -> LeftOver:
    way = CLIENT_NAME if left.way == CLIENT else left.way
    if left.recall is None:
        return LeftOver(way, 0, None, left.error, in_report(None, prices), None)
    # A summary of the client's was written by a model, which read all that it replaces.
    is_called = left.way == CLIENT and one.kind is CompactionKind.SUMMARY
    rewrite = PrefixRewrite(overhead + left.prefix, one.tokens - left.prefix, left.tokens - left.prefix)
    weighed = _weigh(rewrite, prices, left.summary if is_called else None)
    economics, spent = weighed if weighed else (None, _NOTHING)
    saved = None
    if economics and economics.one_off is not None:
        each = economics.next_turn_before - economics.next_turn_after
        saved = each * one.after.requests - economics.one_off
    return LeftOver(way, left.tokens, left.recall, "", in_report(economics, prices, spent), as_money(saved))


def _weigh(rewrite: PrefixRewrite, prices: PriceSource, written: int | None) -> tuple[Economics, Decimal] | None:
    """Return the cost of a rewrite and of the call for its summary of that many tokens; None if there was no call."""
    before, after = prices.price_for(rewrite.before), prices.price_for(rewrite.after)
    if before is None or after is None:
        return None
    spent = _NOTHING
    if written is not None:
        spent = Rates.of(before).read * rewrite.before + (before.output or _NOTHING) * written
    economics = weigh(rewrite, Rates.of(before), Rates.of(after), spent)
    if written and before.output is None:
        return replace(economics, one_off=None, warm=None), spent
    return economics, spent


def _mean_of(way: str, judged: Sequence[RecordedCompaction]) -> WayMean:
    found = [left for one in judged for left in one.left if left.way == way and left.recall is not None]

    def mean(measure: str) -> float | None:
        known = [share for left in found if (share := left.share(measure)) is not None]
        return fmean(known) if known else None

    return WayMean(
        way,
        sum(left.tokens for left in found),
        facts=mean("facts"),
        named=mean("named"),
        edits=mean("edits"),
        files=mean("files"),
    )
