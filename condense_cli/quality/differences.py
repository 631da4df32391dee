"""Compare settings: their differences at the same cuts, with confidence intervals, and curves of recall against size.

The interval is a bootstrap's (percentiles of the means of resampled pairs), made wider for few pairs as Hesterberg
proposes (What Teachers Should Know About the Bootstrap, 2015): the plain one is too narrow there. The same pairs give
the same interval in any order. In a curve every cut counts the same, whatever the size of its transcript; it ends at
the original: full size, full recall.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from math import sqrt
from random import Random
from statistics import NormalDist, fmean
from typing import Final, Literal

from msgspec import Struct

from .evaluation import Cut, Evaluated, Point
from .recall import RECALLS

CONFIDENCE: Final = 0.95

FEWEST: Final = 6
"""Units that a verdict needs: with five, all of one sign are chance one time in 16; with six, one in 32."""

_RESAMPLES: Final = 4_000
_SEED: Final = 2_015


class Verdict(StrEnum):
    """Meaning of a difference: more or less than by chance, not more than chance, or unknown."""

    MORE = "more"
    LESS = "less"
    CHANCE = "chance"
    TOO_FEW = "too few"


class PairedDifference(Struct, frozen=True):
    """Mean of differences, and the interval that holds the true one with CONFIDENCE.

    `units` are what was resampled: groups of differences that depend on each other. With too few of them there is
    no interval.
    """

    mean: float
    low: float | None
    high: float | None
    pairs: int
    units: int

    @property
    def verdict(self) -> Verdict:
        if self.low is None or self.high is None:
            return Verdict.TOO_FEW
        if self.low > 0:
            return Verdict.MORE
        return Verdict.LESS if self.high < 0 else Verdict.CHANCE


def difference(groups: Sequence[Sequence[float]]) -> PairedDifference | None:
    """Return the mean of all differences with its interval; None without any.

    Differences of one group, such as the cuts of one conversation, are drawn together or not at all.
    """
    # Sorted, so that the order of groups does not matter.
    totals = sorted((sum(group), len(group)) for group in groups if group)
    if not totals:
        return None
    pairs = sum(size for _, size in totals)
    mean = sum(total for total, _ in totals) / pairs
    if len(totals) < FEWEST:
        return PairedDifference(mean, None, None, pairs, len(totals))
    means = _resampled(totals)
    outside = int(_tail(len(totals)) * _RESAMPLES)
    return PairedDifference(mean, means[outside], means[-1 - outside], pairs, len(totals))


def _resampled(totals: Sequence[tuple[float, int]]) -> list[float]:
    """Return means of equally many groups drawn with replacement, smallest first."""
    random = Random(_SEED)
    means = []
    for _ in range(_RESAMPLES):
        drawn = random.choices(totals, k=len(totals))
        means.append(sum(total for total, _ in drawn) / sum(size for _, size in drawn))
    return sorted(means)


def _tail(units: int) -> float:
    """Return the share of the resampled means that is left out at either end."""
    normal = NormalDist()
    wider = sqrt(units / (units - 1)) * _student(normal.inv_cdf((1 + CONFIDENCE) / 2), units - 1)
    return normal.cdf(-wider)


def _student(z: float, freedom: int) -> float:
    """Convert a quantile of the normal distribution to one of Student's t.

    First terms of its expansion, accurate to a hundredth from 5 degrees of freedom on (Abramowitz and Stegun,
    26.7.5).
    """
    return (
        z
        + (z**3 + z) / (4 * freedom)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * freedom**3)
    )


FACTS_OR_NAMED: Final = "facts_or_named"
"""Facts that are present, or named by a ledger or the words of a summary. Summaries differ mostly here."""

SIZE: Final = "size"
CONDENSED: Final = "condensed"
"""1 if a way condensed at all, 0 if its summaries failed or were refused: nothing else can be compared then."""


class Compared(Struct, frozen=True):
    """A way minus the one that it is compared with, by one measure, in one setting of both.

    `mean`, `low` and `high` are shares; `pairs` are cuts. The interval is about other transcripts if its `units`
    are transcripts, but only about other cuts of the same one if a single one was measured.
    """

    way: str
    against: str
    setting: str
    measure: str
    mean: float
    low: float | None
    high: float | None
    pairs: int
    units: int
    unit: Literal["transcripts", "cuts"]
    verdict: Verdict


def compare(found: Sequence[Evaluated], way: str, against: str, measures: Iterable[str]) -> list[Compared]:
    """Compare both ways in every common setting and measure, in the order of measuring."""
    is_one = sum(bool(one.cuts) for one in found) == 1
    names = list(measures)
    if "facts" in names:
        names.insert(names.index("facts") + 1, FACTS_OR_NAMED)
    names = [CONDENSED, SIZE, *names]
    return [
        Compared(
            way,
            against,
            setting,
            measure,
            one.mean,
            one.low,
            one.high,
            one.pairs,
            one.units,
            "cuts" if is_one else "transcripts",
            one.verdict,
        )
        for setting, groups in _groups(found, way, against, by_cut=is_one).items()
        for measure in names
        if (one := difference(_differences(groups, measure))) is not None
    ]


_Pair = tuple[Point, Point]


def _groups(found: Sequence[Evaluated], way: str, against: str, *, by_cut: bool) -> dict[str, list[list[_Pair]]]:
    """Collect the points of both ways at each cut by setting; those of one transcript form a group unless `by_cut`."""
    groups: dict[str, dict[object, list[_Pair]]] = {}
    for number, one in enumerate(found):
        for cut in one.cuts:
            others = {point.setting: point for point in cut.points if point.way == against}
            unit = (number, cut.at) if by_cut else number
            for point in cut.points:
                if point.way == way and point.setting in others:
                    pairs = groups.setdefault(point.setting, {}).setdefault(unit, [])
                    pairs.append((point, others[point.setting]))
    return {setting: list(each.values()) for setting, each in groups.items()}


def _differences(groups: Sequence[Sequence[_Pair]], measure: str) -> list[list[float]]:
    shares = [[(share(point, measure), share(other, measure)) for point, other in pairs] for pairs in groups]
    return [[mine - theirs for mine, theirs in pairs if mine is not None and theirs is not None] for pairs in shares]


def share(point: Point, measure: str) -> float | None:
    """Return a point's share by a compared measure; None if it asks for nothing, or the way failed there."""
    if measure == CONDENSED:
        return float(point.recall is not None)
    if point.recall is None:
        return None
    if measure == SIZE:
        return point.size
    if measure == FACTS_OR_NAMED:
        facts = point.recall.facts
        return (facts.standing + facts.named) / facts.asked if facts.asked else None
    return point.share(measure)


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
