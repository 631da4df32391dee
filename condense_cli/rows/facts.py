"""Figures of a run over many rows or files: tallies that add up, and the report made from them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from heapq import nlargest
from typing import Final, Self

from msgspec import UNSET, Struct, UnsetType, field

from ..core.transcript import Transcript
from ..core.version import __version__
from ..core.wording import plural
from ..money import prices
from ..report.costs import digits, dollars
from ..report.run.facts import IN_JSON, Bytes, Pair, Summarized
from ..report.run.shortcomings import of_another
from ..report.sections import SHAPE
from ..report.text import change_text, percent
from ..storage.files import suffix_of
from ..tokens.counting import BUILT_IN, DEFAULT_ENCODING, CounterName, encoding_for
from ..tokens.factor import CountName, Factor

TOLD: Final = 100
"""Problems that are listed; the others are only counted."""


class Problem(Struct, frozen=True):
    """A row that was passed through: its line, from 1, the reason, and for many files also which one."""

    line: int
    why: str
    file: str | UnsetType = UNSET


SHOWN: Final = 10
"""Rows listed that lost the most."""


class Shrunk(Struct, frozen=True, order=True):
    """A row that shrank: tokens saved (its model's), its line, and its tokens before and after."""

    saved: int
    line: int
    before: int
    after: int


class Tally(Struct, omit_defaults=True):
    """Sums over rows. `rows` are lines that are not blank, `added` those from splitting others, `bad` those whose
    conversation could not be read, condensed or written.

    Tokens are those of the messages of all other rows, in their models' count: together, and by model (key "" if a
    row names none). `bare_before` and `bare_after` are our counts. `estimated` is the part of `tokens_before` that
    cannot be counted. `missed` rows are over the target; in `fallen_back` rows the sliding window dropped
    exchanges.
    """

    rows: int = 0
    added: int = 0
    changed: int = 0
    bad: int = 0
    missed: int = 0
    fallen_back: int = 0
    tokens_before: int = 0
    tokens_after: int = 0
    bare_before: int = 0
    bare_after: int = 0
    lossless_saved: int = 0
    estimated: int = 0
    messages_before: int = 0
    messages_after: int = 0
    bytes_before: int = 0
    bytes_after: int = 0
    formats: Counter[str] = field(default_factory=Counter)
    tokens_before_of: Counter[str] = field(default_factory=Counter)
    tokens_after_of: Counter[str] = field(default_factory=Counter)
    not_summarized: int = 0
    problems: list[Problem] = field(default_factory=list)
    shrunk: list[Shrunk] = field(default_factory=list)

    def add(self, other: Self) -> None:
        """Add the sums of other rows."""
        shrunk = nlargest(SHOWN, (*self.shrunk, *other.shrunk))
        for name in self.__struct_fields__:
            mine, theirs = getattr(self, name), getattr(other, name)
            if isinstance(mine, Counter):
                mine.update(theirs)
            elif isinstance(mine, list):
                mine.extend(theirs[: TOLD - len(mine)])
            else:
                setattr(self, name, mine + theirs)
        self.shrunk = shrunk

    def weigh(self, transcript: Transcript, factor: Factor, bare: int) -> None:
        """Count a conversation of `bare` tokens as it was."""
        self.formats[transcript.format] += 1
        self.messages_before += len(transcript.messages)
        self.bare_before += bare
        self.tokens_before += factor.shown(bare)
        self.tokens_before_of[transcript.model or ""] += factor.shown(bare)

    def shrink(self, transcript: Transcript, factor: Factor, bare: int, messages: int) -> None:
        """Count the rest of a conversation, `bare` tokens in `messages`."""
        self.messages_after += messages
        self.bare_after += bare
        self.tokens_after += factor.shown(bare)
        self.tokens_after_of[transcript.model or ""] += factor.shown(bare)

    def note(self, line: int, before: int, after: int) -> None:
        """Remember a row if it is among those that lost the most."""
        if before > after and (len(self.shrunk) < SHOWN or before - after > self.shrunk[-1].saved):
            self.shrunk = nlargest(SHOWN, (*self.shrunk, Shrunk(before - after, line, before, after)))

    def refuse(self, line: int, why: str) -> None:
        self.bad += 1
        if len(self.problems) < TOLD:
            self.problems.append(Problem(line, why))


class FileStatus(StrEnum):
    DONE = "done"
    UNCHANGED = "unchanged"
    """Written as it was: the configuration finds nothing to do."""
    UP_TO_DATE = "up to date"
    """An earlier run wrote it from the same input, with the same configuration and version."""
    PASSED_OVER = "passed over"
    """A file in a folder that is not a transcript, or of a read-only format."""
    FAILED = "failed"


WORKED: Final = frozenset({FileStatus.DONE, FileStatus.UNCHANGED, FileStatus.UP_TO_DATE})


class FileTokens(Struct, frozen=True):
    """The model's tokens of messages, named as in the report of one run."""

    before: int
    after: int
    saved: int
    saved_percent: float

    @classmethod
    def of(cls, tally: Tally) -> Self:
        before, after = tally.tokens_before, tally.tokens_after
        return cls(before, after, before - after, percent(before - after, before))


class FileResult(Struct, frozen=True):
    """Result of one file. `rows` is 0 for a single conversation; `exit_status` is that of a run on it alone.

    `why` is a sentence about a file that failed, was skipped, or was written with shortcomings; `warnings` are
    those of the run that wrote it.
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
    """Return 0 if every file is done, else the gravest status: 1, then 3, 5 and 4."""
    found = {result.exit_status for result in results}
    return next((status for status in (1, 3, 5, 4, *sorted(found - {0})) if status in found), 0)


class RowCounts(Struct, frozen=True):
    """`bad` rows were passed through; `missed` rows are over the target; `added` rows come from splitting others."""

    total: int
    changed: int
    bad: int
    missed: int
    added: int = 0


class RowTokens(FileTokens, frozen=True, rename=IN_JSON):
    """The models' tokens of all messages together; `bare` are those before the models' factors. `count` says whose
    tokens the others are."""

    lossless_saved: int
    encoding: str
    exact: bool
    estimated: int
    bare: Pair
    counter: CounterName = BUILT_IN
    count: CountName = "model"


class ReadingCost(Struct, frozen=True):
    """Dollars that a model charges for reading all rows that name it once, nothing cached; null if unknown."""

    model: str | None
    tokens_before: int
    tokens_after: int
    before: Decimal | None
    after: Decimal | None


class SetReport(Struct, frozen=True, kw_only=True):
    """Report on the rows of a file; with `files` and `results` on many files, some of which may hold `rows`."""

    version: int
    condense: str
    input: str
    output: str | None
    format: str
    formats: dict[str, int]
    configuration: str
    files: FileCounts | UnsetType = UNSET
    rows: RowCounts
    messages: Pair
    tokens: RowTokens
    bytes: Bytes
    currency: str
    spent: Decimal
    reading: list[ReadingCost]
    prices: str | None
    summaries: list[Summarized]
    problems: list[Problem]
    results: Sequence[FileResult] | UnsetType = UNSET
    warnings: list[str]

    @property
    def piece(self) -> str:
        return "row" if self.files is UNSET else "file"


def build(
    tally: Tally,
    *,
    source: str,
    output: str | None,
    configuration: str,
    is_written: bool,
    now: datetime,
    counter: CounterName = BUILT_IN,
    count: CountName = "model",
    spent: Decimal = Decimal(0),
    summaries: Sequence[Summarized] = (),
    warnings: Sequence[str] = (),
    results: Sequence[FileResult] | UnsetType = UNSET,
) -> SetReport:
    saved = tally.tokens_before - tally.tokens_after
    encodings = {encoding_for(model or None, counter) for model in tally.tokens_before_of}
    names = sorted({encoding.name for encoding in encodings}) or [DEFAULT_ENCODING]
    reading = [_reading(model, tally, now) for model in sorted(tally.tokens_before_of)]
    piece = "row" if results is UNSET else "conversation"
    return SetReport(
        version=SHAPE,
        condense=__version__,
        input=source,
        output=output,
        format="rows" if results is UNSET else "files",
        formats=dict(sorted(tally.formats.items())),
        configuration=configuration,
        files=UNSET if results is UNSET else FileCounts.of(results),
        rows=RowCounts(tally.rows, tally.changed, tally.bad, tally.missed, tally.added),
        messages=Pair(tally.messages_before, tally.messages_after),
        tokens=RowTokens(
            before=tally.tokens_before,
            after=tally.tokens_after,
            saved=saved,
            saved_percent=percent(saved, tally.tokens_before),
            lossless_saved=tally.lossless_saved,
            encoding=", ".join(names),
            exact=bool(encodings) and all(encoding.exact for encoding in encodings) and not tally.estimated,
            estimated=tally.estimated,
            bare=Pair(tally.bare_before, tally.bare_after),
            counter=counter,
            count=count,
        ),
        bytes=Bytes(tally.bytes_before, tally.bytes_after if is_written else None),
        currency="USD",
        spent=digits(spent),
        reading=reading,
        prices=str(prices.table(now.date())) if any(entry.before for entry in reading) else None,
        summaries=list(summaries),
        problems=tally.problems,
        results=results,
        warnings=[*_shortcomings(tally, piece), *sorted(of_another(*encodings)), *warnings],
    )


def _reading(model: str, tally: Tally, now: datetime) -> ReadingCost:
    before, after = tally.tokens_before_of[model], tally.tokens_after_of[model]
    price = prices.price_of(model, now) if model else None
    if price is None:
        return ReadingCost(model or None, before, after, None, None)
    paid = [digits(price.input * tokens) for tokens in (before, after)]
    return ReadingCost(model, before, after, *paid)


def _shortcomings(tally: Tally, piece: str) -> list[str]:
    found = []
    if tally.missed:
        found.append(f"The target was not reached in {plural(tally.missed, piece)}.")
    if tally.fallen_back:
        pieces = plural(tally.fallen_back, piece)
        found.append(f"The provider failed, so the sliding window dropped older exchanges in {pieces}; they are lost.")
    if tally.not_summarized:
        blocks = plural(tally.not_summarized, "block")
        found.append(f"Not summarized, so left unchanged: {blocks}.")
    if tally.rows and not tally.rows - tally.bad:
        found.append("No row could be condensed.")
    return found


def headline(report: SetReport) -> str:
    """Return rows, or files, and tokens in a line."""
    tokens = report.tokens
    known = ", plain counts" if tokens.count == "o200k" else "" if tokens.exact else ", estimated"
    references = f", {tokens.lossless_saved:,} by references" if tokens.lossless_saved > 0 else ""
    return (
        f"{_counts(report)}: {tokens.before:,} → {tokens.after:,} tokens "
        f"({change_text(tokens.before, tokens.after)}{references}{known})"
    )


def _counts(report: SetReport) -> str:
    rows, files = report.rows, report.files
    if files is not UNSET:
        return (
            f"{files.done + files.unchanged + files.up_to_date:,} of {plural(files.total - files.passed_over, 'file')}"
        )
    bad = f", {rows.bad:,} bad" if rows.bad else ""
    added = f", {rows.added:,} added" if rows.added else ""
    return f"{plural(rows.total, 'row')}, {rows.changed:,} changed{added}{bad}"


def money(report: SetReport) -> list[str]:
    """Yield a line per model with a known price: what it costs to read everything once."""
    reading = "Reading every {} once with {}" if len(report.reading) == 1 else "Reading the {}s of {} once"
    return [
        f"{reading.format(report.piece, entry.model)}: {dollars(entry.before)} → {dollars(entry.after)}"
        for entry in report.reading
        if entry.before is not None
    ]


def prices_of(report: SetReport) -> list[str]:
    """Yield lines on the prices used, and on models without one."""
    found = [] if report.prices is None else [f"Prices: {report.prices}"]
    missing = "Not in these costs" if found else "Cost of reading unknown"
    for entry in report.reading:
        if entry.before is None and entry.tokens_before:
            of = (
                f"of {entry.model}, whose price is not known"
                if entry.model
                else f"of {report.piece}s that name no model; --model does"
            )
            found.append(f"{missing}: {entry.tokens_before:,} tokens {of}")
    return found


def details(report: SetReport, tally: Tally, seconds: float) -> list[str]:
    """Yield lines on the time it took and the rows that lost the most."""
    pieces = report.rows.total if report.files is UNSET else report.files.total
    found = [f"{seconds:,.1f} s, {pieces / seconds:,.0f} {report.piece}s a second"] if seconds else []
    return found + [f"line {row.line:,}: {row.before:,} → {row.after:,} tokens" for row in tally.shrunk]


def paid(report: SetReport) -> tuple[Decimal | None, Decimal | None]:
    """Return the cost of reading all rows once, before and after, as far as prices are known."""
    known = [(entry.before, entry.after or Decimal(0)) for entry in report.reading if entry.before is not None]
    if not known:
        return None, None
    before, after = (sum(amounts, Decimal(0)) for amounts in zip(*known, strict=True))
    return before, after


def sizes(report: SetReport) -> str:
    """Return the sizes of everything. Those of compressed or Parquet files are not sizes on disk, and are labelled
    so."""
    names = (report.input, report.output or "", *(each.input for each in report.results or ()))
    unit = "unpacked bytes" if any(suffix_of(name) or name.endswith(".parquet") for name in names) else "bytes"
    after = "" if report.bytes.after is None else f" → {report.bytes.after:,}"
    formats = Counter(report.formats)
    kinds = ", ".join(name if len(formats) == 1 else f"{name} {number:,}" for name, number in formats.most_common())
    return f"{report.bytes.before:,}{after} {unit}" + (f", {kinds}" if kinds else "")
