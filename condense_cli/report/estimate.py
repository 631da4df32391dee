"""The facts and the report of `condense estimate`: what each preset brings and costs, and which one to take.

Documented in docs/json-report.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ..core.transcript import Transcript
from ..core.version import __version__
from ..core.wording import plural
from ..passes.condensation import Condensation
from ..passes.receipts import NO_TARGET, Kept, Status
from ..quality.evaluation import KeptShare
from ..tokens.counting import BUILT_IN, Counter, CounterName, Encoding
from ..tokens.factor import Factor
from ..window.decision import signs_of, window_size
from ..window.use import GIVEN, in_use, remarks_on_usage
from .costs import (
    Cost,
    PriceSource,
    as_money,
    assumptions,
    cost_of,
    digits,
    dollars,
    pays_after,
    rewrite_of,
    unknown_price,
)
from .counted import carried, counted
from .run.expected import Ended, expected_by_name, loses
from .run.facts import Counting, Summarized, estimated_tokens
from .run.sections import known_cost
from .run.sections import sentences as calls_of
from .run.shortcomings import of_another
from .sections import BLANK, SHAPE, Part, Sentence, Table, as_warnings
from .text import percent

ENOUGH: Final = 90
"""Percent of what later work needs that a recommended preset keeps, where one of them does."""


class Ranked(Struct, frozen=True):
    """A preset with the tokens that it leaves, and the percent that it keeps of what later work needs, if known.

    In eight of ten cases it keeps no less than `low`.
    """

    preset: str
    tokens: int
    kept: float | None
    low: float = 0.0

    @property
    def shown(self) -> int:
        """Return the kept share as reports show it; smaller differences are chance."""
        return round(self.kept or 0)


class Recommendation(Struct, frozen=True):
    """The preset to take, and why, as a sentence."""

    preset: str
    reason: str


class KeptSource(Struct, frozen=True):
    """The source of the kept shares: expected of this transcript, or measured on it at some cuts.

    `is_typical`, `transcripts` and `date` are of figures from other sessions, which there are none of any more.
    """

    cuts: int
    is_expected: bool = False
    is_typical: bool = False
    transcripts: int = 1
    date: str | None = None


class KeptFigures(Struct, frozen=True):
    """The kept share of presets by name, and its source."""

    source: KeptSource
    presets: Mapping[str, KeptShare]


def in_order(ranked: Sequence[Ranked]) -> list[Ranked]:
    """Sort the smallest first, then those that keep more, then by name."""
    return sorted(ranked, key=lambda each: (each.tokens, -each.shown, each.preset))


def beaten(ranked: Sequence[Ranked]) -> dict[str, str]:
    """Return the presets that another beats: it leaves no more, keeps no less, and is better in one of both.

    If several beat one, the one that keeps the most is named.
    """
    known = [each for each in in_order(ranked) if each.kept is not None]
    found = {}
    for each in known:
        better = [other for other in known if _is_better(other, each)]
        if better:
            found[each.preset] = max(better, key=lambda other: other.shown).preset
    return found


def _is_better(one: Ranked, other: Ranked) -> bool:
    if one.tokens > other.tokens:
        return False
    return one.shown >= other.shown and (one.tokens, one.shown) != (other.tokens, other.shown)


def recommended(
    ranked: Sequence[Ranked], before: int, target: int | None = None, *, is_expected: bool = False
) -> Recommendation | None:
    """Return the recommended one of at least two presets; None if none helps, or if kept shares are unknown.

    With a target, the one that keeps the most of those that reach it, otherwise the smallest that keeps enough, by the
    lower bound.
    """
    useful = [each for each in in_order(ranked) if each.kept is not None and each.tokens < before]
    if target is not None:
        useful = [each for each in useful if each.tokens <= target]
    if len(ranked) < 2 or not useful:
        return None
    enough = [each for each in useful if round(each.low) >= ENOUGH]
    keeps = "is expected to keep" if is_expected else "keeps"
    if target is None and enough:
        found = enough[0]
        why = f"the smallest that {keeps} at least {ENOUGH}% of what later work needs, even at the lower bound"
    else:
        found = max(useful, key=lambda each: (round(each.low), each.shown))
        of = "" if target is None else " of those that reach the target"
        why = f"the one that {keeps} the most of what later work needs{of}"
    return Recommendation(found.preset, f"{why} ({found.shown}%, at least {round(found.low)}%)")


_ALL: Final = KeptShare(percent=100.0, low=100.0, high=100.0, cuts=0, facts=None, edits=None)
"""The kept share if nothing is cut."""


class Prices(msgspec.Struct, frozen=True):
    """Prices in dollars per token for requests of the size before; null if unknown. `window` is in tokens."""

    table: str
    model: str
    provider: str
    input: Decimal
    output: Decimal | None
    cache_read: Decimal | None
    cache_write: Decimal | None
    window: int | None


class Before(msgspec.Struct, frozen=True):
    """The model's tokens of the transcript as it is, and those that were counted, before the factor (`bare_tokens`).

    `estimated` is the part that cannot be counted, `used` the next request.
    """

    messages: int
    tokens: int
    encoding: str
    exact: bool
    estimated: int
    overhead: int
    overhead_source: str
    used: int
    used_source: str
    bare_tokens: int
    counting: Counting
    counter: CounterName = BUILT_IN


class SkippedPreset(msgspec.Struct, frozen=True):
    name: str
    reason: str


class PresetEstimate(msgspec.Struct, frozen=True):
    """One preset. `kept_prefix` tokens (overhead included) stay in the cache, `rewritten` are written to it anew.

    `kept` is its known share of what later work needs; `beaten_by` another preset that leaves no more and keeps no
    less.
    """

    preset: str
    tokens_after: int
    saved: int
    saved_percent: float
    kept_prefix: int
    rewritten: int
    cost: Cost
    summaries: list[Summarized]
    skipped: list[SkippedPreset]
    bare_after: int
    kept: KeptShare | None = None
    beaten_by: str | None = None


class Estimate(msgspec.Struct, frozen=True, rename={"assumed": "assumptions"}):
    version: int
    condense: str
    input: str
    format: str
    model: str | None
    before: Before
    prices: Prices | None
    presets: list[PresetEstimate]
    assumed: list[str]
    warnings: list[str]
    target: int | None = None
    same: list[list[str]] = []
    """Presets that made the same of the transcript, together."""
    kept: KeptSource | None = None
    """Null where nothing is known of what they keep."""
    recommended: Recommendation | None = None


def build(
    transcript: Transcript,
    condensations: Iterable[Ended],
    *,
    count: Counter,
    factor: Factor,
    encoding: Encoding,
    overhead: tuple[int, str],
    source: str,
    price_source: PriceSource,
    target: int | None = None,
    warnings: Sequence[str] = (),
    kept: KeptFigures | None = None,
) -> Estimate:
    """Return the facts, the preset with the smallest result first.

    `overhead` is the model's tokens and their source, `source` the input's name to show, `kept` the shares of the
    presets.

    `target` is the one of the command line, which holds for all presets.

    `warnings` are those of the summaries; the transcript's own come before them.
    """
    condensations = list(condensations)
    bare = count.transcript(transcript)
    tokens, estimated = factor.shown(bare), factor.shown(estimated_tokens(transcript))
    price = price_source.price_for(tokens + overhead[0])
    given = overhead[0] if overhead[1] == GIVEN else None
    used = in_use(transcript, count, factor, given)
    if kept is None:
        kept = KeptFigures(KeptSource(0, is_expected=True), expected_by_name(condensations, count))
    known = dict(kept.presets)
    known |= {name: _ALL for name, result, _ in condensations if known and not loses(result)}
    ranked = in_order([
        Ranked(name, result.shown_after, known[name].percent, known[name].low)
        if name in known
        else Ranked(name, result.shown_after, None)
        for name, result, _ in condensations
    ])  # fmt: skip
    places = {each.preset: place for place, each in enumerate(ranked)}
    losers = beaten(ranked)
    return Estimate(
        version=SHAPE,
        condense=__version__,
        input=source,
        format=transcript.format,
        model=transcript.model,
        before=Before(
            len(transcript.messages),
            tokens,
            encoding.name,
            encoding.exact and not estimated,
            estimated,
            *overhead,
            used.tokens,
            used.source,
            bare,
            Counting.of(factor),
            encoding.counter,
        ),
        prices=None
        if price is None
        else Prices(
            price_source.table,
            price.model,
            price.provider,
            digits(price.input),
            as_money(price.output),
            as_money(price.cache_read),
            as_money(price.cache_write),
            window_size(transcript.model, signs_of(transcript))[0],
        ),
        presets=[
            msgspec.structs.replace(
                _option(name, result, count, overhead[0], price_source, summaries),
                kept=known.get(name),
                beaten_by=losers.get(name),
            )
            for name, result, summaries in sorted(condensations, key=lambda found: places[found[0]])
        ],
        assumed=assumptions(price),
        warnings=[
            *transcript.warnings,
            *remarks_on_usage(transcript, count, factor, given),
            *of_another(encoding),
            *warnings,
        ],
        target=target,
        same=_same(condensations),
        kept=kept.source if any(each.kept is not None for each in ranked) else None,
        recommended=recommended(ranked, tokens, target, is_expected=kept.source.is_expected),
    )


def _same(condensations: Iterable[Ended]) -> list[list[str]]:
    """Return the groups of presets with equal results, if these changed anything."""
    groups: list[tuple[Condensation, list[str]]] = []
    for name, result, _ in condensations:
        if not result.changes:
            continue
        messages = result.transcript.messages
        names = next((names for other, names in groups if other.transcript.messages == messages), None)
        if names is None:
            groups.append((result, [name]))
        else:
            names.append(name)
    return [names for _, names in groups if len(names) > 1]


def _option(
    name: str,
    result: Condensation,
    count: Counter,
    overhead: int,
    source: PriceSource,
    summaries: Sequence[Summarized],
) -> PresetEstimate:
    before, after = result.shown_before, result.shown_after
    rewrite = rewrite_of(result, count, overhead)
    return PresetEstimate(
        preset=name,
        tokens_after=after,
        saved=before - after,
        saved_percent=percent(before - after, before),
        kept_prefix=rewrite.prefix,
        rewritten=rewrite.new_suffix,
        cost=cost_of(result, count, overhead, source, known_cost(summaries)),
        summaries=list(summaries),
        skipped=[SkippedPreset(entry.name, entry.reason) for entry in result.passes if entry.status is Status.SKIPPED],
        bare_after=result.tokens_after,
    )


_NONE: Final = "–"
_KEEPS: Final = "keeps"
_BEATEN: Final = " *"
_COLUMNS: Final = ("preset", "tokens", "saved", _KEEPS, "one-time", "next turn", "pays after")
_GIVING_WAY: Final = ("one-time", "next turn", _KEEPS, "tokens")
"""Columns that the narrowest terminals do without, in this order."""


def sections(estimate: Estimate) -> Iterator[Part]:
    before = estimate.before
    size = f"{plural(before.messages, 'message')}, {plural(before.tokens, 'token')}"
    yield Sentence(f"{estimate.input}: {size}", "bold")
    if estimate.recommended is not None:
        yield Sentence(f"Recommended: {estimate.recommended.preset}, {estimate.recommended.reason}.", "bold")
    yield BLANK
    yield _table(estimate)
    yield BLANK
    yield from (Sentence(sentence, "dim") for sentence in notes(estimate))
    yield from as_warnings(estimate.warnings)


def _table(estimate: Estimate) -> Table:
    """Return a row for the transcript as it is, and one for each preset."""
    now = dollars(estimate.presets[0].cost.next_turn_before)
    rows = [["as it is", f"{estimate.before.tokens:,}", _NONE, "100%", _NONE, now, _NONE]]
    rows += [[*_row(option)] for option in estimate.presets]
    table = Table(
        _COLUMNS, rows, range(1, len(_COLUMNS)), is_path=True, gives_way=[*map(_COLUMNS.index, _GIVING_WAY)],
        column_styles={_COLUMNS.index("saved"): "bold green"},
    )  # fmt: skip
    if estimate.kept is not None:
        return table
    shown = [number for number, column in enumerate(_COLUMNS) if column != _KEEPS]
    giving_way = [shown.index(number) for number in table.gives_way if number in shown]
    return replace(table.of_columns(shown), gives_way=giving_way)


def _row(option: PresetEstimate) -> Iterator[str]:
    yield option.preset + (_BEATEN if option.beaten_by else "")
    yield f"{option.tokens_after:,}"
    yield f"{option.saved_percent:.1f}%"
    yield _NONE if option.kept is None else _kept(option.kept)
    cost = option.cost
    if cost.next_turn_before is None:
        yield from ("unknown",) * 3
    elif not option.saved:
        yield from (_NONE, dollars(cost.next_turn_before), _NONE)
    else:
        yield from (dollars(cost.one_off), dollars(cost.next_turn_after), pays_after(cost))


def _kept(kept: KeptShare) -> str:
    low, high = f"{kept.low:.0f}", f"{kept.high:.0f}"
    return f"{kept.percent:.0f}%" if low == high else f"{kept.percent:.0f}% ({low}–{high})"


def notes(estimate: Estimate) -> Iterator[str]:
    """Say which figures are exact, which are estimates, and which assumptions they rest on."""
    before, prices = estimate.before, estimate.prices
    missed = [option.preset for option in estimate.presets if option.tokens_after > (estimate.target or before.tokens)]
    if estimate.target is not None:
        which = f"not reached by {', '.join(missed)}" if missed else "reached by all"
        yield f"Target: {plural(estimate.target, 'token')}, {which}."
        for same in estimate.same:
            yield f"With this target, {', '.join(same[:-1])} and {same[-1]} do the same."
    yield from _about_kept(estimate)
    yield from counted(
        estimate.model,
        before.encoding,
        before.counting,
        exact=before.exact,
        estimated=before.estimated,
        counter=before.counter,
    )
    yield carried(before.overhead, before.overhead_source)
    if prices is None:
        yield unknown_price(estimate.model, estimate.presets[0].cost.prices or "")
    else:
        if prices.window:  # As `condense check` says it: the API's count goes before our own.
            share = f"{100 * before.used / prices.window:.1f}%"
            yield f"Now in use: {share} of the context window of {prices.window:,} tokens ({before.used_source})."
        yield f"Prices: {prices.model} by {prices.provider}, {prices.table}."
    yield from estimate.assumed
    for option in estimate.presets:
        for sentence in calls_of(option.summaries):
            yield f"{option.preset}: {sentence}"
    for (name, reason), presets in _skipped(estimate).items():
        everywhere = len(presets) == len(estimate.presets) > 1
        yield f"{'Skipped by all' if everywhere else 'Skipped by ' + ', '.join(presets)}: {name}: {reason}."


def _about_kept(estimate: Estimate) -> Iterator[str]:
    """Say which presets others beat, and how the kept share is known."""
    source = estimate.kept
    by: dict[str, list[str]] = {}
    for option in estimate.presets:
        if option.beaten_by:
            by.setdefault(option.beaten_by, []).append(option.preset)
    for better, presets in by.items():
        keeps = "is expected to keep" if source and source.is_expected else "keeps"
        others = " and ".join(filter(None, (", ".join(presets[:-1]), presets[-1])))
        yield f"* {better} is at most as large as {others}, and {keeps} at least as much."
    if source is None:
        if len(estimate.presets) > 1:
            yield "--quality measures how much of what later work needs each one keeps."
    elif source.is_expected:
        yield "Keeps: what later work is expected to need here (in brackets: 8 of 10 cases)."
        yield "--quality measures it instead."
    else:
        yield "Keeps: the share of what later work needs, measured here (brackets: all cuts)."
        yield f"Measured at {plural(source.cuts, 'point')}: what came after it, looked up in the condensed part."


def _skipped(estimate: Estimate) -> dict[tuple[str, str], list[str]]:
    """Return the presets of each pass that does not run, by its name and reason: the same pass often is in several.

    Reasons about a target are left out: there is none, or the table shows that it was reached.
    """
    found: dict[tuple[str, str], list[str]] = {}
    for option in estimate.presets:
        for skipped in option.skipped:
            if skipped.reason in (NO_TARGET, Kept.TARGET_REACHED):
                continue
            found.setdefault((skipped.name, skipped.reason), []).append(option.preset)
    return found
