"""Curves of recall against size: the mean of each setting over all cuts, joined by lines.

Every cut counts the same, whatever the size of its transcript. A curve ends at the original: full size, full recall.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import Final

from msgspec import Struct

from .evaluation import Cut, Point
from .recall import RECALLS

_CLOSE: Final = 0.005
"""Distance within which a point's recall is taken as it is."""


class Mean(Struct, frozen=True):
    """Mean size and recall, each from 0 to 1, over the cuts that asked for something."""

    size: float
    recall: float
    cuts: int


class Setting(Struct, frozen=True):
    """Means of one setting of a way.

    `named` is the share of facts that are only named in other words. `tokens` and `seconds` are sums over all cuts;
    `failed` counts cuts where the way failed. `witnesses` has the means of those measured.
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
    witnesses: dict[str, Mean | None] = {}

    def mean(self, measure: str) -> Mean | None:
        found: Mean | None = getattr(self, measure) if measure in RECALLS else self.witnesses.get(measure)
        return found


def settings_of(cuts: Iterable[Cut]) -> list[Setting]:
    """Return the means of every setting, in the order of measuring."""
    groups: dict[tuple[str, str], list[Point]] = {}
    for cut in cuts:
        for point in cut.points:
            groups.setdefault((point.way, point.setting), []).append(point)
    return [_setting(points) for points in groups.values()]


def recall_at(settings: Sequence[Setting], way: str, measure: str, size: float) -> float | None:
    """Interpolate the recall of a way at a size; None if it never gets that small."""
    points = curve(settings, way, measure)
    if not points or size < points[0].size - _CLOSE:
        return None
    below = next((point for point in reversed(points) if point.size <= size), points[0])
    above = next((point for point in points if point.size >= size), points[-1])
    if above.size - below.size < 1e-9:
        return max(below.recall, above.recall)
    share = min(1.0, max(0.0, (size - below.size) / (above.size - below.size)))
    return below.recall + share * (above.recall - below.recall)


def curve(settings: Iterable[Setting], way: str, measure: str) -> list[Mean]:
    """Return the points of a way's curve, smallest size first; empty if nothing was asked."""
    return _joined([mean for setting in settings if setting.way == way and (mean := setting.mean(measure)) is not None])


def line_of(settings: Sequence[Setting], way: str, measure: str) -> tuple[list[Mean], list[Mean]]:
    """Split the points of a way's curve into those that a line joins and those beside it.

    A setting without a target is no step between two targets; a line through it would go back and forth.
    """
    found = [(setting, mean) for setting in settings if setting.way == way and (mean := setting.mean(measure))]
    with_target = [mean for setting, mean in found if setting.budget is not None]
    without = [mean for setting, mean in found if setting.budget is None]
    return _joined(with_target), without


def _joined(means: Sequence[Mean]) -> list[Mean]:
    """Sort points by size, up to the original."""
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
        facts=_mean(done, "facts"),
        edits=_mean(done, "edits"),
        files=_mean(done, "files"),
        witnesses={name: _mean(done, name) for name in (done[0].witnesses if done else ())},
    )


def _mean(points: Iterable[Point], measure: str) -> Mean | None:
    found = [(point.size, share) for point in points if (share := point.share(measure)) is not None]
    if not found:
        return None
    return Mean(fmean(size for size, _ in found), fmean(share for _, share in found), len(found))
