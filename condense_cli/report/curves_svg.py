"""The curves of an evaluation as a picture: recall against size, one panel for each measure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from math import floor

from msgspec import Struct

from ..quality.curves import MEASURES, Mean, Measure
from .evaluation import Curve, Evaluation
from .visible import visible

_PANEL = (330, 260)
_LEFT, _TOP, _BETWEEN, _BELOW = 56, 46, 52, 44
_LEGEND_ROW = 20
_LEGEND_COLUMN = 360
_COLOURS = ("#1f6feb", "#d1242f", "#1a7f37", "#8250df", "#bf5600", "#0a8a8a", "#c2317f", "#57606a")
_GREYS = ("#57606a", "#8c959f", "#424a53", "#afb8c1")
_DASHES = ("6 4", "2 3", "9 3 2 3", "1 4")
_TITLES: dict[Measure, str] = {
    "facts": "Facts that are needed later",
    "edits": "Lines that later edits match",
    "files": "Files, and what became of them",
}


class _Style(Struct, frozen=True):
    colour: str
    dash: str
    width: float

    def __str__(self) -> str:
        dash = f' stroke-dasharray="{self.dash}"' if self.dash else ""
        return f'stroke="{self.colour}" stroke-width="{self.width}"{dash}'


def draw(found: Evaluation) -> str:
    """An SVG text. Sizes fall from left to right: the further a curve stays up, the better."""
    styles = _styles(found.ways, found.compared)
    width = _LEFT + len(MEASURES) * (_PANEL[0] + _BETWEEN)
    columns = max(1, (width - _LEFT) // _LEGEND_COLUMN)
    rows = -(-len(found.ways) // columns)
    height = _TOP + _PANEL[1] + _BELOW + rows * _LEGEND_ROW + 12
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'font-family="DejaVu Sans, Helvetica, Arial, sans-serif" font-size="12" fill="#24292f">',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
    ]
    for number, measure in enumerate(MEASURES):
        left = _LEFT + number * (_PANEL[0] + _BETWEEN)
        lines += _panel(found.total.curves, measure, left, styles)
    for number, way in enumerate(found.ways):
        x = _LEFT + number % columns * _LEGEND_COLUMN
        y = _TOP + _PANEL[1] + _BELOW + 14 + number // columns * _LEGEND_ROW
        lines.append(f'<line x1="{x}" y1="{y - 4}" x2="{x + 34}" y2="{y - 4}" {styles[way]}/>')
        lines.append(f'<text x="{x + 42}" y="{y}">{escape(visible(way))}</text>')
    return "\n".join([*lines, "</svg>", ""])


def _styles(ways: Sequence[str], compared: Sequence[str]) -> dict[str, _Style]:
    """Configurations in colour; what they are compared with in broken grey lines."""
    own = [way for way in ways if way not in compared]
    styles = {way: _Style(_COLOURS[number % len(_COLOURS)], "", 2.2) for number, way in enumerate(own)}
    for number, way in enumerate(compared):
        styles[way] = _Style(_GREYS[number % len(_GREYS)], _DASHES[number % len(_DASHES)], 1.6)
    return styles


def _panel(curves: Sequence[Curve], measure: Measure, left: int, styles: dict[str, _Style]) -> Iterator[str]:
    points: dict[str, list[Mean]] = {curve.way: getattr(curve, measure) for curve in curves}
    shown = [point for curve in points.values() for point in curve]
    lowest = _tenth_below(point.recall for point in shown)
    smallest = _tenth_below(point.size for point in shown)
    width, height = _PANEL

    def x(size: float) -> float:
        return round(left + width * (1 - size) / (1 - smallest), 1)

    def y(recall: float) -> float:
        return round(_TOP + height * (1 - recall) / (1 - lowest), 1)

    yield f'<text x="{left}" y="{_TOP - 18}" font-weight="bold">{_TITLES[measure]}</text>'
    if not shown:
        yield f'<text x="{left}" y="{_TOP + 20}">Nothing was asked.</text>'
        return
    for recall in _ticks(lowest):
        yield f'<line x1="{left}" y1="{y(recall)}" x2="{left + width}" y2="{y(recall)}" stroke="#d8dee4"/>'
        yield f'<text x="{left - 8}" y="{y(recall) + 4}" text-anchor="end">{recall:.0%}</text>'
    for size in _ticks(smallest):
        yield f'<line x1="{x(size)}" y1="{_TOP}" x2="{x(size)}" y2="{_TOP + height}" stroke="#eaeef2"/>'
        yield f'<text x="{x(size)}" y="{_TOP + height + 18}" text-anchor="middle">{size:.0%}</text>'
    yield f'<text x="{left + width}" y="{_TOP + height + 36}" text-anchor="end">of the tokens are left</text>'
    for way, curve in points.items():
        if curve:
            path = " ".join(f"{x(point.size)},{y(point.recall)}" for point in curve)
            yield f'<polyline points="{path}" fill="none" stroke-linejoin="round" {styles[way]}/>'
            for point in curve[:-1]:
                yield f'<circle cx="{x(point.size)}" cy="{y(point.recall)}" r="2.6" fill="{styles[way].colour}"/>'


def _tenth_below(values: Iterable[float]) -> float:
    """Where an axis begins: at a tenth below the smallest value, so that there is something to draw."""
    return min(9, floor(10 * min(values, default=0.0))) / 10


def _ticks(lowest: float) -> list[float]:
    """Steps of a tenth, or of a fifth where there would be many, up to one."""
    first = round(10 * lowest)
    step = 1 if first >= 5 else 2
    return [tenth / 10 for tenth in range(10, first - 1, -step)]
