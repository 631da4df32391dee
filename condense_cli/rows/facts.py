"""The facts of a run over rows, in the shape that the JSON report has. Documented in docs/rows.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal

from msgspec import Struct

from ..core.factor import CountName
from ..core.plurals import plural
from ..core.tokens import BUILT_IN, DEFAULT_ENCODING, CounterName, encoding_for
from ..core.version import __version__
from ..money import prices
from ..report.costs.text import digits, dollars
from ..report.run.facts import IN_JSON, SHAPE, Bytes, Pair, Summarized
from ..report.run.shortcomings import of_another
from ..report.text.shares import change_text, percent
from ..storage.compressed import suffix_of
from .tally import Problem, Tally


class RowCounts(Struct, frozen=True):
    """`bad` rows were passed through as they were; `missed` are over the target; `added` came of splitting others."""

    total: int
    changed: int
    bad: int
    missed: int
    added: int = 0


class RowTokens(Struct, frozen=True, rename=IN_JSON):
    """The models' tokens of all messages together; the words are those of the report of one run.

    `bare` are the tokens as they are counted, before the factors of the models. `count` says in whose tokens the others
    are.
    """

    before: int
    after: int
    saved: int
    saved_percent: float
    lossless_saved: int
    encoding: str
    exact: bool
    estimated: int
    bare: Pair
    counter: CounterName = BUILT_IN
    count: CountName = "model"


class ReadingCost(Struct, frozen=True):
    """What a model is paid for reading all rows that name it once, nothing cached: digits, null where unknown."""

    model: str | None
    tokens_before: int
    tokens_after: int
    before: str | None
    after: str | None


class RowsReport(Struct, frozen=True):
    version: int
    condense: str
    input: str
    output: str | None
    format: str
    formats: dict[str, int]
    configuration: str
    rows: RowCounts
    messages: Pair
    tokens: RowTokens
    bytes: Bytes
    currency: str
    spent: str
    reading: list[ReadingCost]
    prices: str | None
    summaries: list[Summarized]
    problems: list[Problem]
    warnings: list[str]


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
) -> RowsReport:
    saved = tally.tokens_before - tally.tokens_after
    encodings = {encoding_for(model or None, counter) for model in tally.tokens_before_of}
    names = sorted({encoding.name for encoding in encodings}) or [DEFAULT_ENCODING]
    reading = [_reading(model, tally, now) for model in sorted(tally.tokens_before_of)]
    return RowsReport(
        version=SHAPE,
        condense=__version__,
        input=source,
        output=output,
        format="rows",
        formats=dict(sorted(tally.formats.items())),
        configuration=configuration,
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
        warnings=[*_shortcomings(tally), *sorted(of_another(*encodings)), *warnings],
    )


def _reading(model: str, tally: Tally, now: datetime) -> ReadingCost:
    before, after = tally.tokens_before_of[model], tally.tokens_after_of[model]
    price = prices.price_of(model, now) if model else None
    if price is None:
        return ReadingCost(model or None, before, after, None, None)
    paid = [digits(price.input * tokens) for tokens in (before, after)]
    return ReadingCost(model, before, after, *paid)


def _shortcomings(tally: Tally) -> list[str]:
    found = []
    if tally.missed:
        found.append(f"The target was not reached in {plural(tally.missed, 'row')}.")
    if tally.fallen_back:
        rows = plural(tally.fallen_back, "row")
        found.append(f"The provider failed, so the sliding window dropped older exchanges in {rows}; they are lost.")
    if tally.not_summarized:
        blocks = plural(tally.not_summarized, "block")
        found.append(f"Not summarized, so left unchanged: {blocks}.")
    if tally.rows and not tally.rows - tally.bad:
        found.append("No row could be condensed.")
    return found


def headline(report: RowsReport) -> str:
    """Rows and tokens in a line."""
    rows, tokens = report.rows, report.tokens
    bad = f", {rows.bad:,} bad" if rows.bad else ""
    added = f", {rows.added:,} added" if rows.added else ""
    known = ", plain counts" if tokens.count == "o200k" else "" if tokens.exact else ", estimated"
    references = f", {tokens.lossless_saved:,} by references" if tokens.lossless_saved > 0 else ""
    return (
        f"{plural(rows.total, 'row')}, {rows.changed:,} changed{added}{bad}: {tokens.before:,} → "
        f"{tokens.after:,} tokens ({change_text(tokens.before, tokens.after)}{references}{known})"
    )


def money(report: RowsReport) -> list[str]:
    """What it costs to read all rows once, a line per model whose price is known."""
    return [
        f"Reading every row once with {entry.model}: {dollars(entry.before)} → {dollars(entry.after)}"
        for entry in report.reading
        if entry.before is not None
    ]


def prices_of(report: RowsReport) -> list[str]:
    """What the money was computed from, and for which rows none could be."""
    found = [] if report.prices is None else [f"Prices: {report.prices}"]
    for entry in report.reading:
        if entry.before is None and entry.tokens_before:
            of = (
                f"of {entry.model}, whose price is not known"
                if entry.model
                else "of rows that name no model; --model does"
            )
            found.append(f"Not in these costs: {entry.tokens_before:,} tokens {of}")
    return found


def details(tally: Tally, seconds: float) -> list[str]:
    """The time it took, and the rows that lost the most."""
    found = [f"{seconds:,.1f} s, {tally.rows / seconds:,.0f} rows a second"] if seconds else []
    return found + [f"line {row.line:,}: {row.before:,} → {row.after:,} tokens" for row in tally.shrunk]


def paid(report: RowsReport) -> tuple[str | None, str | None]:
    """What reading all rows once costs before and after, as far as the prices are known."""
    known = [(Decimal(entry.before), Decimal(entry.after or 0)) for entry in report.reading if entry.before is not None]
    if not known:
        return None, None
    before, after = (sum(amounts, Decimal(0)) for amounts in zip(*known, strict=True))
    return str(before), str(after)


def sizes(report: RowsReport) -> str:
    """The sizes of all rows; those of compressed or Parquet files are not their sizes on disk, and are called so."""
    names = (report.input, report.output or "")
    unit = "unpacked bytes" if any(suffix_of(name) or name.endswith(".parquet") for name in names) else "bytes"
    after = "" if report.bytes.after is None else f" → {report.bytes.after:,}"
    formats = Counter(report.formats)
    kinds = ", ".join(name if len(formats) == 1 else f"{name} {number:,}" for name, number in formats.most_common())
    return f"{report.bytes.before:,}{after} {unit}" + (f", {kinds}" if kinds else "")
