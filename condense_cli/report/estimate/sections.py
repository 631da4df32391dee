"""Declare the report of `condense estimate`: one table, and the assumptions of its figures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from ...core.wording import plural
from ...passes.receipts import NO_TARGET, Kept
from ...quality.evaluation import KeptShare
from ..costs.money import dollars, pays_after, unknown_price
from ..run.summaries import sentences as calls_of
from ..sections import BLANK, Part, Sentence, Table, as_warnings
from ..text.tokens import carried, counted
from .facts import Estimate, PresetEstimate

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
        if prices.window:
            yield _window(estimate, prices.window)
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
        yield f"* {better} is no larger than {' or '.join(presets)}, and {keeps} no less."
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


def _window(estimate: Estimate, window: int) -> str:
    """Say how full the window is, as `condense check` does: the API's count goes before our own."""
    used, source = estimate.before.used, estimate.before.used_source
    return f"Now in use: {100 * used / window:.1f}% of the context window of {window:,} tokens ({source})."
