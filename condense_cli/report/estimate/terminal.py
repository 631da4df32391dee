"""The estimate for people: one table, and below it what the figures rest on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from ...core.wording import plural
from ...passes.receipts import NO_TARGET, Kept
from ...quality.evaluation import KeptShare
from ..costs.facts import dollars, pays_after, unknown_price
from ..run.summaries import sentences as calls_of
from ..text.fitted_table import GAP, fits
from ..text.tokens import carried, counted
from ..text.visible import visible
from .facts import Estimate, PresetEstimate

_NONE: Final = "–"
_KEEPS: Final = "keeps"
_BEATEN: Final = " *"
_COLUMNS: Final = ("preset", "tokens", "saved", _KEEPS, "one-time", "next turn", "pays after")
_GIVING_WAY: Final = ("one-time", "next turn", _KEEPS, "tokens")
"""Columns that the narrowest terminals do without, in this order."""
_NAME: Final = 16
"""Cells of a preset's name for which others make room. A longer one, which is a path, goes on in further lines."""


def render_estimate(estimate: Estimate, width: int) -> Iterator[RenderableType]:
    before = estimate.before
    size = f"{plural(before.messages, 'message')}, {plural(before.tokens, 'token')}"
    yield Text(visible(f"{estimate.input}: {size}"), style="bold")
    yield ""
    yield _table(estimate, width)
    yield ""
    if estimate.recommended is not None:
        yield Text(visible(f"Recommended: {estimate.recommended.preset}, {estimate.recommended.reason}."), style="bold")
    for sentence in sentences(estimate):
        yield Text(visible(sentence), style="dim")
    for warning in estimate.warnings:
        yield Text(visible(f"Warning: {warning}"), style="yellow")


def _table(estimate: Estimate, width: int) -> Table:
    """A row for each preset. Where that is too wide, what is the same in all of them has a row of its own."""
    rows = [[*_row(option, estimate.before.tokens)] for option in estimate.presets]
    shown = [*range(len(_COLUMNS))]
    if estimate.kept is None:
        shown.remove(_COLUMNS.index(_KEEPS))
    if not _fits(rows, shown, width):
        rows = [_now(estimate), *([*_row(option)] for option in estimate.presets)]
    for column in map(_COLUMNS.index, _GIVING_WAY):
        if column in shown and not _fits(rows, shown, width):
            shown.remove(column)
    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="dim", show_edge=False)
    table.add_column(_COLUMNS[0], overflow="fold", min_width=7)
    for position in shown[1:]:
        table.add_column(_COLUMNS[position], justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*(row[position] for position in shown))
    return table


def _fits(rows: Sequence[Sequence[str | Text]], shown: Sequence[int], width: int) -> bool:
    cells = [[str(row[position])[: None if position else _NAME] for position in shown] for row in rows]
    return fits([_COLUMNS[position] for position in shown], cells, width)


def _now(estimate: Estimate) -> list[str | Text]:
    """What the presets are compared with."""
    next_turn = dollars(estimate.presets[0].cost.next_turn_before)
    return ["as it is", f"{estimate.before.tokens:,}", _NONE, "100%", _NONE, next_turn, _NONE]


def _row(option: PresetEstimate, tokens: int | None = None) -> Iterator[str | Text]:
    """The cells of a preset, with what was before in them where the tokens before are given."""
    yield visible(option.preset) + (_BEATEN if option.beaten_by else "")
    yield f"{option.tokens_after:,}" if tokens is None else f"{tokens:,} → {option.tokens_after:,}"
    yield Text(f"{option.saved_percent:.1f}%", style="bold green" if option.saved else "")
    yield _NONE if option.kept is None else _kept(option.kept)
    cost = option.cost
    if cost.next_turn_before is None:
        yield from (Text("unknown", style="yellow"),) * 3
        return
    if not option.saved:
        yield from (_NONE, dollars(cost.next_turn_before), _NONE)
        return
    yield dollars(cost.one_off)
    next_turn = dollars(cost.next_turn_after)
    yield next_turn if tokens is None else f"{dollars(cost.next_turn_before)} → {next_turn}"
    yield pays_after(cost)


def _kept(kept: KeptShare) -> str:
    low, high = f"{kept.low:.0f}", f"{kept.high:.0f}"
    return f"{kept.percent:.0f}%" if low == high else f"{kept.percent:.0f}% ({low}–{high})"


def sentences(estimate: Estimate) -> Iterator[str]:
    """What is exact, what is an estimate, and what was assumed."""
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
    """Which presets others beat, and what is known of how much each keeps."""
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
    """Passes that do not run, with the presets they are in: the same pass often is in several.

    What a target has to do with it is not said: there is none, or the table shows that it was reached.
    """
    found: dict[tuple[str, str], list[str]] = {}
    for option in estimate.presets:
        for skipped in option.skipped:
            if skipped.reason in (NO_TARGET, Kept.TARGET_REACHED):
                continue
            found.setdefault((skipped.name, skipped.reason), []).append(option.preset)
    return found


def _window(estimate: Estimate, window: int) -> str:
    """How full it is, as `condense check` says it: what the API counted holds before what is counted here."""
    used, source = estimate.before.used, estimate.before.used_source
    return f"Now in use: {100 * used / window:.1f}% of the context window of {window:,} tokens ({source})."
