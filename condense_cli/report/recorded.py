"""The facts and the report of `condense evaluate --recorded`: judged compactions of clients.

Documented in docs/json-report.md.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from statistics import fmean
from typing import Final

import msgspec
from msgspec.structs import replace

from ..core.transcript import Transcript
from ..core.version import __version__
from ..core.wording import plural
from ..formats.compacted import CompactionKind
from ..money.economics import Economics, PrefixRewrite, Rates, weigh
from ..quality.recall import Recall
from ..quality.recorded import CLIENT, Judged, Left, NotJudged
from .costs import Cost, PriceSource, as_money, dollars, in_report, pays_after
from .counted import OF_SEVERAL
from .evaluation import NONE, NotRead, closing, percent
from .sections import BLANK, SHAPE, Part, Sentence, Table

CLIENT_NAME: Final = "client"
_NOTHING: Final = Decimal(0)


class ReadAgain(msgspec.Struct, frozen=True):
    """Files that were read once more after a compaction, of all that were touched before it; and the tokens it took."""

    files: int
    touched: int
    tokens: int


class LeftOver(msgspec.Struct, frozen=True):
    """The result of a way. `saved` are dollars over the following requests, less the one-time cost.

    `recall` is null if the way failed, and `error` says why.
    """

    way: str
    tokens: int
    recall: Recall | None
    error: str
    cost: Cost
    saved: Decimal | None

    def share(self, measure: str) -> float | None:
        """Recall from 0 to 1; of `named` the share of the facts that are only named."""
        if self.recall is None:
            return None
        return self.recall.facts.share_named if measure == "named" else self.recall.shares()[measure]


class RecordedCompaction(msgspec.Struct, frozen=True):
    """One compaction. With a `reason` it was not judged, and has only the facts of the file.

    `client_tokens` are those that the client noted before it, 0 if it did not. `is_readable` is false if part of the
    result is encrypted: its recalls are too low then.
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
    """`compactions` is null if it is not known how files of that format record them."""

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


# --- The report -------------------------------------------------------------------------------------------------------

_MOST = 20
"""Compactions that are shown one by one."""
_MEASURES = ("facts", "named", "edits", "files")
FOLLOWED = ["what followed", "how", "requests", "read again", "tokens", "to edit"]
KEPT = ["what was kept", "way", "tokens", *_MEASURES, "one-time", "pays"]
_PAYS = {"never": "never", "unknown": NONE, "next turn": "1"}


def sections(found: Recorded) -> Iterator[Part]:
    yield Sentence(headline(found), "bold")
    for part in body(found, _MOST):
        if isinstance(part, Table):
            yield BLANK
        yield part
    judged = judged_in(found)
    if judged:
        yield BLANK
    yield from closing([*notes(found)], found.unread)


def body(found: Recorded, most: int | None = None) -> Iterator[Part]:
    """Yield the tables, of the first `most` compactions."""
    judged = judged_in(found)
    shown = judged[:most]
    if not judged:
        return
    yield _table("What followed", FOLLOWED, _followed(shown))
    yield _table("What was kept", KEPT, _kept(found, shown))
    if len(judged) > len(shown):
        yield Sentence(f"and {len(judged) - len(shown):,} more, listed by --json", "dim")


def headline(found: Recorded) -> str:
    total = found.total
    with_any = sum(bool(file.compactions) for file in found.files)
    if not total.compactions:
        return "No recorded compaction was found."
    said = f"{plural(total.compactions, 'compaction')} in {plural(with_any, 'file')}"
    if not total.judged:
        return f"{said}, none of which can be measured."
    some = "" if total.judged == total.compactions else f", {total.judged} of them measured"
    return (
        f"{said}{some}. Looked for: {plural(total.facts, 'fact')}, {plural(total.lines, 'line')} to edit and "
        f"{plural(total.files, 'file')}."
    )


def _name(file: RecordedFile, one: RecordedCompaction) -> str:
    return f"{file.name} {one.number}" if len(file.compactions or ()) > 1 else file.name


def _table(title: str, columns: list[str], rows: list[list[str]]) -> Table:
    return Table(columns, rows, range(2, len(columns)), title=title, is_path=True)


def judged_in(found: Recorded) -> list[tuple[RecordedFile, RecordedCompaction]]:
    """Return every compaction that was judged, with its file."""
    return [(file, one) for file in found.files for one in file.judged]


def _followed(judged: Sequence[tuple[RecordedFile, RecordedCompaction]]) -> list[list[str]]:
    """Return the work after each compaction; the columns are `FOLLOWED`."""
    return [
        [
            _name(file, one),
            {True: "auto ", False: "asked ", None: ""}[one.is_auto] + one.kind,
            f"{one.requests:,}",
            f"{one.read_again.files} of {one.read_again.touched}" if one.read_again else NONE,
            f"{one.read_again.tokens:,}" if one.read_again else NONE,
            NONE if one.actions_to_edit is None else f"{one.actions_to_edit:,}",
        ]
        for file, one in judged
    ]


def _kept(found: Recorded, judged: Sequence[tuple[RecordedFile, RecordedCompaction]]) -> list[list[str]]:
    """Return what each way kept of each conversation, and of all; the columns are `KEPT`."""
    rows = []
    for file, one in judged:
        rows.append([_name(file, one), "before", f"{one.tokens:,}", *[""] * (len(_MEASURES) + 2)])
        rows += [
            [
                "",
                left.way,
                f"{left.tokens:,}" if left.recall else "failed",
                *(percent(left.share(name)) for name in _MEASURES),
                NONE if left.cost.one_off is None else dollars(left.cost.one_off),
                _PAYS.get(after := pays_after(left.cost), after.removesuffix(" turns")),
            ]
            for left in one.left
        ]
    if found.total.judged > 1:
        label = f"all {found.total.judged}"
        rows.append([label, "before", f"{found.total.tokens:,}", *[""] * (len(_MEASURES) + 2)])
        for way in found.total.ways:
            shares = (way.facts, way.named, way.edits, way.files)
            rows.append(["", way.way, f"{way.tokens:,}", *map(percent, shares), "", ""])
    return rows


def notes(found: Recorded) -> Iterator[str]:
    judged = judged_in(found)
    if judged:
        yield (
            "client: what the client's compaction left; below it, what condense leaves at the same size, "
            "without a model. Percent of what later work needed: facts and edits are found on an original line; "
            "named: facts found only in a summary or a ledger; files: what became of a file can be "
            "seen from calls or a ledger."
        )
        yield (
            "read again: files that had to be read once more, and their tokens. to edit: calls before "
            "the first edit of a file. one-time: the cost of the summary call and of re-caching; pays: "
            f"after this many requests. {OF_SEVERAL}"
        )
        if any(left.recall and left.cost.one_off is None for _, one in judged for left in one.left):
            yield f"{NONE} under money: no price of the model, or of its cache writes, is known."
        yield from _failures(judged)
    if any(not one.is_readable for _, one in judged):
        encrypted = sum(not one.is_readable for _, one in judged)
        yield f"Encrypted ({encrypted}): the provider's summary cannot be read and counts as empty."
    for reason, number in found.not_judged():
        yield f"Not measured ({number}): {reason}."
    empty = sum(file.compactions == [] for file in found.files)
    if empty and len(found.files) > 1:
        yield f"{plural(empty, 'file')} {'records' if empty == 1 else 'record'} none."
    unknown = sorted({file.format for file in found.files if file.compactions is None})
    if unknown:
        yield f"How {', '.join(unknown)} files record a compaction is not known."


def _failures(judged: Sequence[tuple[RecordedFile, RecordedCompaction]]) -> Iterator[str]:
    """Say which ways failed, how often and why first."""
    errors: dict[str, list[str]] = {}
    for _, one in judged:
        for left in one.left:
            if left.error:
                errors.setdefault(left.way, []).append(left.error)
    for way, why in errors.items():
        yield f"{way} failed at {len(why)} of {len(judged)}: {why[0]}"
