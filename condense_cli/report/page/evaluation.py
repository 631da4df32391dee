"""The pages of `condense evaluate --html FILE`: curves as SVG and tables of an evaluation, or of compactions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from math import floor
from typing import Final

from msgspec import Struct

from ...core.version import __version__
from ...core.wording import plural, visible
from ...quality.differences import Mean, line_of
from .. import evaluation, recorded
from ..evaluation import Evaluation, NotRead
from ..recorded import Recorded
from ..sections import Part, Table
from .document import PageTable, html_document

_FIGURE: Final = (
    '<figure tabindex="0" role="img" aria-label="Curves; the tables have their figures">'
    '<div aria-hidden="true">{}</div></figure>\n'
)


class EvaluationPage(Struct, frozen=True):
    """The data of the page's script. All texts are safe to show as text, and none is markup."""

    title: str
    about: list[tuple[str, str]]
    headline: str
    tables: list[PageTable]
    notes: list[str]
    warnings: list[str]


def evaluation_page(found: Evaluation) -> str:
    """Return the HTML of an evaluation."""
    return _document(
        "How much of what later work needed is still there",
        evaluation.headline(found),
        evaluation.body(found, has_all=True),
        evaluation.notes(found),
        found.unread,
        _FIGURE.format(draw(found)) if found.total.cuts else "",
    )


def recorded_page(found: Recorded) -> str:
    """Return the HTML of judged compactions."""
    return _document(
        "What recorded compactions kept",
        recorded.headline(found),
        recorded.body(found),
        recorded.notes(found),
        found.unread,
    )


def _document(
    title: str, headline: str, body: Iterable[Part], notes: Iterable[str], unread: Sequence[NotRead], figure: str = ""
) -> str:
    parts = [*body]
    tables = [PageTable.of(table) for part in parts if isinstance(part, Table) for table in part.by_head()]
    verdicts = [part.text for part in parts if not isinstance(part, Table)]
    page = EvaluationPage(
        title,
        [("condense", __version__)],
        headline,
        tables,
        [visible(sentence) for sentence in (*verdicts, *notes)],
        [visible(f"Not read: {one.reason}") for one in unread],
    )
    return html_document("evaluation", title, page, figure)


_MOST_LINES: Final = 6
_MOST_COLUMNS: Final = 3
_LETTER: Final = 11
"""Width of a wide letter of the title."""

_SUBTITLE: Final = "How much is still there, by share of tokens left"
_CLOSE: Final = 0.02
"""Lines that are nowhere farther apart hide each other."""

_PANEL = (330, 260)
_LEFT, _TOP, _BETWEEN, _BELOW = 56, 78, 52, 76
_WIDTH, _WIDER = 2.2, 2.4
_LEGEND_ROW = 20
_LEGEND_COLUMN = 360
_COLOURS = ("#1f6feb", "#d1242f", "#1a7f37", "#8250df", "#bf5600", "#0a8a8a")
_GREYS = ("#57606a", "#8c959f", "#424a53", "#afb8c1")
_DASHES = ("6 4", "2 3", "9 3 2 3", "1 4")
_TITLES: Final = {
    "facts": "Facts needed later",
    "edits": "Lines that later edits match",
    "files": "Files, and what became of them",
    "substrings": "Facts, including inside longer ones",
    "old_strings": "Complete texts that later edits replace",
    "bits": "Information about what came next",
    "bits_calls": "Information about the next calls",
    "bits_words": "Information about the next words",
    "grounding": "Next calls that find all they need",
    "rereads": "Files that need not be read again",
    "rules": "The user's sentences, after five rounds",
}


class _Style(Struct, frozen=True):
    colour: str
    dash: str
    width: float

    def __str__(self) -> str:
        dash = f' stroke-dasharray="{self.dash}"' if self.dash else ""
        return f'stroke="{self.colour}" stroke-width="{self.width}"{dash}'


class _Points(Struct, frozen=True):
    """Of one way in one panel: the points that a line joins, and those of settings without a target."""

    line: list[Mean]
    alone: list[Mean]


_Panels = dict[str, dict[str, _Points]]
"""By measure and way what there is to draw."""


class _Axes(Struct, frozen=True):
    """The ends of both axes, as shares; they begin at 1."""

    smallest: float
    lowest: float


def draw(found: Evaluation) -> str:
    """Return an SVG. Sizes fall from left to right: the longer a curve stays high, the better."""
    ways = _chosen(found)
    panels = _panels(found, ways)
    shown = [point for ways in panels.values() for points in ways.values() for point in (*points.line, *points.alone)]
    axes = _Axes(_tenth_below(point.size for point in shown), _tenth_below(point.recall for point in shown))
    drawn = [way for way in ways if any(way in points for points in panels.values())]
    styles = _styles(found, drawn, panels)
    columns = 2 if len(panels) == 4 else max(1, min(_MOST_COLUMNS, len(panels)))
    rows = -(-len(panels) // columns)
    width = _LEFT + columns * (_PANEL[0] + _BETWEEN)
    bottom = _TOP + rows * (_PANEL[1] + _BELOW)
    legend_columns = max(1, width // _LEGEND_COLUMN)
    height = bottom + _LEGEND_ROW * (1 + -(-len(styles) // legend_columns))
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'font-family="DejaVu Sans, Helvetica, Arial, sans-serif" font-size="12" fill="#24292f">',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<text x="{_LEFT}" y="26" font-size="16" font-weight="bold">{escape(_title(found, width - _LEFT))}</text>',
        f'<text x="{_LEFT}" y="44" fill="#57606a">{_SUBTITLE}</text>',
    ]
    for number, (measure, points) in enumerate(panels.items()):
        left = _LEFT + number % columns * (_PANEL[0] + _BETWEEN)
        top = _TOP + number // columns * (_PANEL[1] + _BELOW)
        lines += _panel(_TITLES[measure], points, styles, axes, left, top)
    has_rings = any(points.alone for ways in panels.values() for points in ways.values())
    notes = " ".join(_notes(found, ways, drawn, has_rings=has_rings))
    lines += _legend({way: styles[way] for way in drawn}, notes, legend_columns, bottom)
    return "\n".join([*lines, "</svg>", ""])


def _title(found: Evaluation, width: int) -> str:
    measured = [one for one in found.transcripts if one.cuts]
    if not measured:
        return "There is nothing to measure."
    cuts = plural(found.total.cuts, "cut")
    if len(measured) > 1:
        return f"{len(measured)} transcripts, {cuts}"
    name = visible(measured[0].name.replace("\\", "/").rpartition("/")[2])
    room = width // _LETTER - len(cuts) - 2
    return f"{name if len(name) <= room else '…' + name[1 - room :]}, {cuts}"


def _chosen(found: Evaluation) -> list[str]:
    """Choose the ways to draw: those that keep the most at the middle size, two to compare with, and none that would
    hide another.
    """
    if len(found.ways) <= _MOST_LINES or not found.budgets:
        return found.ways[:_MOST_LINES]
    kept = {way: _kept(found, way) for way in found.ways}
    size = sorted(found.budgets)[len(found.budgets) // 2]
    best = sorted(found.ways, key=lambda way: -kept[way].get((found.measures[0], size), 0.0))
    apart: list[str] = []
    for way in best:
        if kept[way] and not any(_are_close(kept[way], kept[other]) for other in apart):
            apart.append(way)
    compared = [way for way in apart if way in found.compared]
    own = [way for way in apart if way not in found.compared][: _MOST_LINES - len(compared[:2])]
    return [way for way in found.ways if way in own or way in compared[: _MOST_LINES - len(own)]]


def _kept(found: Evaluation, way: str) -> dict[tuple[str, float], float]:
    """Return the kept share of a way by measure and size."""
    ats = [at for at in found.total.at_size if at.way == way]
    shares = {(measure, at.size): at.share(measure) for measure in found.measures for at in ats}
    return {place: share for place, share in shares.items() if share is not None}


def _are_close(one: dict[tuple[str, float], float], other: dict[tuple[str, float], float]) -> bool:
    return one.keys() == other.keys() and all(abs(share - other[place]) < _CLOSE for place, share in one.items())


def _panels(found: Evaluation, ways: Sequence[str]) -> _Panels:
    panels: _Panels = {}
    for measure in found.measures:
        points = {way: _Points(*line_of(found.total.settings, way, measure)) for way in ways}
        points = {way: these for way, these in points.items() if these.line or these.alone}
        if points:
            panels[measure] = points
    return panels


def _styles(found: Evaluation, ways: Sequence[str], panels: _Panels) -> dict[str, _Style]:
    """Configurations in colour; what they are compared with in broken grey lines. In the order in which to draw them:
    of lines that lie on each other the first comes last, and is the narrowest."""
    own = [way for way in ways if way not in found.compared]
    styles: dict[str, _Style] = {}
    for number, way in enumerate(own):
        below = sum(_have_one_line(panels, way, other) for other in own[:number])
        styles[way] = _Style(_COLOURS[number % len(_COLOURS)], "", _WIDTH + _WIDER * below)
    styles = dict(reversed(styles.items()))
    for number, way in enumerate(way for way in ways if way in found.compared):
        styles[way] = _Style(_GREYS[number % len(_GREYS)], _DASHES[number % len(_DASHES)], 1.6)
    return styles


def _have_one_line(panels: _Panels, way: str, other: str) -> bool:
    """Whether the lines of two ways coincide in all panels."""
    nothing = _Points([], [])
    pairs = [(ways.get(way, nothing).line, ways.get(other, nothing).line) for ways in panels.values()]
    return any(one for one, _ in pairs) and all(
        len(one) == len(two)
        and all(
            abs(mine.size - its.size) < _CLOSE and abs(mine.recall - its.recall) < _CLOSE
            for mine, its in zip(one, two, strict=True)
        )
        for one, two in pairs
    )


def _notes(found: Evaluation, ways: Sequence[str], drawn: Sequence[str], *, has_rings: bool) -> Iterator[str]:
    if has_rings:
        yield "Single rings: settings without a target."
    if missing := [visible(way) for way in ways if way not in drawn]:
        yield f"Failed at every cut: {', '.join(missing)}."
    if more := len(found.ways) - len(ways):
        yield f"The tables have {plural(more, 'more way')}."


def _legend(styles: Mapping[str, _Style], notes: str, columns: int, top: int) -> Iterator[str]:
    for number, (way, style) in enumerate(styles.items()):
        x, y = _LEFT + number % columns * _LEGEND_COLUMN, top + number // columns * _LEGEND_ROW
        yield f'<line x1="{x}" y1="{y - 4}" x2="{x + 34}" y2="{y - 4}" {style}/>'
        yield f'<text x="{x + 42}" y="{y}">{escape(visible(way))}</text>'
    y = top + -(-len(styles) // columns) * _LEGEND_ROW
    if notes:
        yield f'<text x="{_LEFT}" y="{y}" fill="#57606a">{escape(notes)}</text>'


def _panel(
    title: str, ways: dict[str, _Points], styles: dict[str, _Style], axes: _Axes, left: int, top: int
) -> Iterator[str]:
    width, height = _PANEL

    def x(size: float) -> float:
        return round(left + width * (1 - size) / (1 - axes.smallest), 1)

    def y(share: float) -> float:
        return round(top + height * (1 - share) / (1 - axes.lowest), 1)

    yield f'<text x="{left}" y="{top - 14}" font-weight="bold">{title}</text>'
    for share in _ticks(axes.lowest):
        yield f'<line x1="{left}" y1="{y(share)}" x2="{left + width}" y2="{y(share)}" stroke="#d8dee4"/>'
        yield f'<text x="{left - 8}" y="{y(share) + 4}" text-anchor="end">{share:.0%}</text>'
    for size in _ticks(axes.smallest):
        yield f'<line x1="{x(size)}" y1="{top}" x2="{x(size)}" y2="{top + height}" stroke="#eaeef2"/>'
        yield f'<text x="{x(size)}" y="{top + height + 18}" text-anchor="middle">{size:.0%}</text>'
    yield f'<text x="{left + width}" y="{top + height + 36}" text-anchor="end">of the tokens left</text>'
    for way in styles:
        points = ways.get(way, _Points([], []))
        path = " ".join(f"{x(point.size)},{y(point.recall)}" for point in points.line)
        if path:
            yield f'<polyline points="{path}" fill="none" stroke-linejoin="round" {styles[way]}/>'
        for point in points.line[:-1]:
            yield f'<circle cx="{x(point.size)}" cy="{y(point.recall)}" r="2.6" fill="{styles[way].colour}"/>'
        for point in points.alone:
            colour = styles[way].colour
            yield (
                f'<circle cx="{x(point.size)}" cy="{y(point.recall)}" r="4.2" fill="#ffffff" stroke="{colour}" '
                'stroke-width="1.8"/>'
            )


def _tenth_below(values: Iterable[float]) -> float:
    """Return the end of an axis: a tenth below the smallest value."""
    return min(9, floor(10 * min(values, default=0.0))) / 10


def _ticks(lowest: float) -> list[float]:
    """Return steps of a tenth down from one, or of a fifth if there would be many."""
    first = round(10 * lowest)
    step = 1 if first >= 5 else 2
    return [tenth / 10 for tenth in range(10, first - 1, -step)]
