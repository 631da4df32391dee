"""Ways whose summaries models write, for people: what each used, how far apart they are, whether that is chance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from ...core.wording import plural
from ...quality.differences import CONFIDENCE, Compared, Verdict
from ..costs.facts import dollars
from ..run.facts import Summarized
from ..run.summaries import known_cost
from ..text.fitted_table import fitted_table
from ..text.visible import visible
from .comparison import ModelWay, by_pair, in_words, label, points
from .facts import Evaluation

TableCells = tuple[list[str], list[list[str]]]
"""The names of columns, and the rows."""

_NONE = "–"
_MORE_OR_CHANCE = {
    Verdict.MORE: "more than chance",
    Verdict.LESS: "more than chance",
    Verdict.CHANCE: "chance",
    Verdict.TOO_FEW: "too few",
}


def render_comparison(found: Evaluation, width: int) -> Iterator[RenderableType]:
    """The tables, each followed by its sentences; no line of a table is wider than `width`."""
    yield ""
    columns, rows = used_table(found)
    yield fitted_table(columns, rows, range(1, len(columns)), width, flexible=0)
    for said in stopped(found):
        yield Text(visible(said), style="yellow")
    for pair in by_pair(found.differences):
        yield ""
        yield Text(visible(pair_title(pair)))
        columns, rows = differences_table(pair)
        yield fitted_table(columns, rows, range(1, 4), width, flexible=0)
        for sentence in in_words(pair):
            yield Text(visible(sentence), style="bold")


def stopped(found: Evaluation) -> Iterator[str]:
    """Which ways were tried no further, and why."""
    for model in found.models:
        if model.stopped is not None:
            cuts = max((setting.cuts for setting in found.total.settings if setting.way == model.way), default=0)
            yield f"{model.way} was stopped after {plural(cuts, 'cut')} of {found.total.cuts}: {model.stopped}"


def pair_title(pair: Sequence[Compared]) -> str:
    """What is compared in a table of differences."""
    return f"{pair[0].way} less {pair[0].against}, {pair[0].setting}"


def used_table(found: Evaluation) -> TableCells:
    """What the summaries of each way took."""
    columns = ["summaries", "written", "cached", "refused", "calls", "tokens", "cost", "seconds"]
    rows = []
    for model in found.models:
        seconds = sum(setting.seconds for setting in found.total.settings if setting.way == model.way)
        rows.append([model.way, *_sums(model), f"{seconds:.1f}"])
    return columns, rows


def _sums(model: ModelWay) -> list[str]:
    each = model.summaries
    counts = (
        sum(one.written for one in each),
        sum(one.cached for one in each),
        sum(one.refused for one in each),
        sum(one.calls for one in each),
        sum(one.tokens for one in each),
    )
    return [*(f"{count:,}" for count in counts), _cost(each)]


def _cost(each: Sequence[Summarized]) -> str:
    known = known_cost(each)
    if not known and any(one.cost is None for one in each):
        return dollars(None)
    return f"{'at least ' if any(one.at_least for one in each) else ''}{dollars(str(known))}"


def differences_table(pair: Sequence[Compared]) -> TableCells:
    """How far apart two ways are, by measure."""
    first = pair[0]
    columns = ["measure", "points", f"{100 * CONFIDENCE:.0f}% interval", first.unit, ""]
    rows = [
        [
            label(one.measure),
            points(one.mean),
            _NONE if one.low is None or one.high is None else f"{points(one.low)} to {points(one.high)}",
            str(one.units),
            _MORE_OR_CHANCE[one.verdict],
        ]
        for one in pair
    ]
    return columns, rows


def comparison_notes(found: Evaluation) -> Iterator[str]:
    """What the tables mean, in sentences."""
    if found.models and not any(model.summaries for model in found.models):
        yield "No summary was requested, so the results are the same. A preset such as max writes summaries."
    if any(one.cached for model in found.models for one in model.summaries):
        yield "Cached answers cost nothing and take no time; --no-cache measures without the cache."
    if found.differences:
        intervals = sum(one.low is not None for one in found.differences)
        yield (
            "Differences compare the same cuts, in percentage points. facts or named: facts that are there, or "
            "that a summary or ledger names; condensed: cuts where summaries were written. "
            f"Intervals: bootstrap over transcripts, or over the cuts of a single one. About one in twenty "
            f"excludes 0 by chance alone; there are {intervals} here."
        )
