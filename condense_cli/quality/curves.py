"""Curves of recall against size: the mean of each setting over all cuts, joined to lines.

Every cut counts the same, whatever the size of its transcript. A curve ends at what nobody condensed: all of the size,
all of the recall.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import Final, Literal

from msgspec import Struct

from .evaluation import Cut, Point
from .recall import Score

Measure = Literal["facts", "edits", "files"]
MEASURES: Final[tuple[Measure, ...]] = ("facts", "edits", "files")

_CLOSE: Final = 0.005
"""So near to a point its recall is taken as it is."""


class Mean(Struct, frozen=True):
    """Size and recall, each from 0 to 1, as means over so many cuts: those where something was asked."""

    size: float
    recall: float
    cuts: int


class Setting(Struct, frozen=True):
    """The means of one setting of a way. `named` is the share of the facts that only stand in other words.

    `tokens` and `seconds` are sums over all cuts; `failed` counts those where the way could not do it.
    """

    way: str
    setting: str
    budget: float | None
    cuts: int
    size: float
    tokens: int
    seconds: float
    failed: int
    named: float | None
    facts: Mean | None
    edits: Mean | None
    files: Mean | None

    def mean(self, measure: Measure) -> Mean | None:
        found: Mean | None = getattr(self, measure)
        return found


def settings_of(cuts: Iterable[Cut]) -> list[Setting]:
    """The means of every setting, in the order in which they were measured."""
    groups: dict[tuple[str, str], list[Point]] = {}
    for cut in cuts:
        for point in cut.points:
            groups.setdefault((point.way, point.setting), []).append(point)
    return [_setting(points) for points in groups.values()]


def recall_at(settings: Sequence[Setting], way: str, measure: Measure, size: float) -> float | None:
    """Recall of a way at a size, between the settings beside it; None where it does not get so small."""
    points = curve(settings, way, measure)
    if not points or size < points[0].size - _CLOSE:
        return None
    below = next((point for point in reversed(points) if point.size <= size), points[0])
    above = next((point for point in points if point.size >= size), points[-1])
    if above.size - below.size < 1e-9:
        return max(below.recall, above.recall)
    share = min(1.0, max(0.0, (size - below.size) / (above.size - below.size)))
    return below.recall + share * (above.recall - below.recall)


def curve(settings: Iterable[Setting], way: str, measure: Measure) -> list[Mean]:
    """The points of a way's curve from the smallest on; empty where nothing was asked."""
    means = [mean for setting in settings if setting.way == way and (mean := setting.mean(measure)) is not None]
    if not means:
        return []
    return sorted([*means, Mean(1.0, 1.0, max(mean.cuts for mean in means))], key=lambda mean: (mean.size, mean.recall))


def _setting(points: Sequence[Point]) -> Setting:
    done = [point for point in points if point.recall is not None]
    named = [share for point in done if point.recall and (share := point.recall.facts.share_named) is not None]
    return Setting(
        points[0].way,
        points[0].setting,
        points[0].budget,
        len(points),
        fmean(point.size for point in done) if done else 1.0,
        sum(point.tokens for point in done),
        sum(point.seconds for point in points),
        len(points) - len(done),
        fmean(named) if named else None,
        *(_mean(done, measure) for measure in MEASURES),
    )


def _mean(points: Iterable[Point], measure: Measure) -> Mean | None:
    found: list[tuple[float, float]] = []
    for point in points:
        score: Score | None = getattr(point.recall, measure)
        if score is not None and score.share is not None:
            found.append((point.size, score.share))
    if not found:
        return None
    return Mean(fmean(size for size, _ in found), fmean(share for _, share in found), len(found))
