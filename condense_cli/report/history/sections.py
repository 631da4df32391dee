"""Declare the report of `condense inspect --history`: what recorded sessions cost, and why."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from ...core.wording import plural
from ..sections import BLANK, Part, Sentence, Table, as_warnings
from ..text import percent, percent_text
from .facts import RebuiltCache, SpentHistory, WhatIf

_NAMED = 3
"""Files that could not be read, by name."""


def sections(found: SpentHistory) -> Iterator[Part]:
    yield from _headline(found)
    if found.sources:
        yield BLANK
        yield _sources(found)
    yield BLANK
    yield from _rebuildings(found)
    if found.what_if is not None:
        yield BLANK
        yield from _what_if(found.what_if, found.dollars.total if found.recorded == found.requests else None)
    if found.unread:
        names = ", ".join(found.unread[:_NAMED]) + (", …" if len(found.unread) > _NAMED else "")
        yield from as_warnings([f"{plural(len(found.unread), 'file')} could not be read: {names}"])


def _headline(found: SpentHistory) -> Iterator[Sentence]:
    spent, tokens = found.dollars, found.tokens
    cost = "" if found.requests == found.unpriced else f": {_money(spent.total)} for input"
    where = "" if len(found.inputs) == 1 else f" in {len(found.inputs)} sessions"
    yield Sentence(f"{plural(found.requests, 'request')}{where}{cost}", "bold")
    if not found.requests:
        return
    parts = (
        ("read from the cache", tokens.read, spent.read),
        ("written to it", tokens.written, spent.written),
        ("neither", tokens.plain, spent.plain),
    )
    yield Sentence("; ".join(f"{number:,} tokens {name} ({_money(cost)})" for name, number, cost in parts if number))
    computed = found.requests - found.recorded
    if computed:
        yield Sentence(f"{plural(computed, 'request')} without recorded usage: computed by the cache's rules.", "dim")
    if found.repeated:
        more = f"{found.repeated:,} more are in copies of these sessions"
        yield Sentence(f"{more}, and are counted once.", "dim")
    if found.unpriced:
        yield Sentence(
            f"{plural(found.unpriced, 'request')} of models without a known price: not in dollars.", "yellow"
        )


def _sources(found: SpentHistory) -> Table:
    total = float(found.dollars.total)
    rows = [
        [
            f"{each.kind} {each.name}".strip(),
            f"{each.tokens:,}",
            f"{each.requests:,}",
            f"{each.token_requests:,}",
            _money(Decimal(each.dollars)),
            percent_text(percent(_micro(each.dollars), _micro(total))) if total else "",
        ]
        for each in found.sources
    ]
    columns = ("source", "tokens", "requests", "tokens × requests", "cost", "share")
    bars = [_micro(each.dollars) for each in found.sources]
    return Table(columns, rows, (1, 2, 3, 4, 5), is_path=False, bars=bars if total else ())


def _rebuildings(found: SpentHistory) -> Iterator[Part]:
    if not found.rebuildings:
        yield Sentence("The cache was never rebuilt.")
        return
    several = len(found.inputs) > 1
    rows = [
        [
            each.time[:16].replace("T", " ") if each.time else "",
            f"{each.request:,}",
            _cause(each),
            f"{each.tokens:,}",
            "" if each.dollars is None else _money(each.dollars),
            each.input if several else "",
        ]
        for each in found.rebuildings
    ]
    columns = ("cache rebuilt", "request", "why", "tokens", "extra cost", "session" if several else "")
    yield Table(columns, rows, (1, 3, 4), flexible=5, is_path=True)
    told = "; ".join(
        f"{each.cause} {plural(each.times, 'time')}: {each.tokens:,} tokens"
        + (f", {_money(each.dollars)} extra" if each.dollars else "")
        for each in found.causes
    )
    yield Sentence(f"In all: {told}", "dim")


def _cause(one: RebuiltCache) -> str:
    return f"{one.cause}, after {one.pause / 60:,.0f} min" if one.cause == "expired" and one.pause else one.cause


def _what_if(found: WhatIf, recorded: Decimal | None) -> Iterator[Sentence]:
    saved = found.dollars - found.dollars_with
    share = percent_text(percent(_micro(abs(saved)), _micro(found.dollars))) if found.dollars else ""
    words = f"saves {_money(saved)} ({share})" if saved >= 0 else f"costs {_money(-saved)} more ({share})"
    yield Sentence(
        f"With condense proxy ({found.policy}): {words}: {_money(found.dollars)} → {_money(found.dollars_with)} for "
        f"{plural(found.requests, 'request')}, {plural(found.decisions, 'decision')}",
        "bold",
    )
    billed = "" if recorded is None else f" (the API billed {_money(recorded)}: compare the shares)"
    yield Sentence(
        f"{found.tokens:,} → {found.tokens_with:,} tokens of input; both computed by the cache's rules, at the "
        f"recorded times{billed}. What would be read again because it was cut is not counted.",
        "dim",
    )


def _micro(dollars: float | Decimal) -> int:
    return round(1_000_000 * dollars)


def _money(dollars: Decimal) -> str:
    return f"${dollars:.2f}" if dollars >= 1 or not dollars else f"${dollars:.3f}"
