"""Compare two ways at the same cuts, in the same setting, measure by measure, and say how sure that is.

The interval is a bootstrap's (percentiles of the means of resampled pairs), made wider for few pairs as Hesterberg
proposes (What Teachers Should Know About the Bootstrap, 2015): the plain one is too narrow there. The same pairs give
the same interval, in whatever order they come.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from math import sqrt
from random import Random
from statistics import NormalDist
from typing import Final, Literal

from msgspec import Struct

from .evaluation import Evaluated, Point

CONFIDENCE: Final = 0.95

FEWEST: Final = 6
"""Units that a verdict needs: with five, all of one sign are chance one time in 16; with six, one in 32."""

_RESAMPLES: Final = 4_000
_SEED: Final = 2_015


class Verdict(StrEnum):
    """What a difference is: more or less than chance makes it, or no more different than chance; or nobody can tell."""

    MORE = "more"
    LESS = "less"
    CHANCE = "chance"
    TOO_FEW = "too few"


class PairedDifference(Struct, frozen=True):
    """The mean of so many differences, and the interval that holds the true one with CONFIDENCE.

    `units` are what was resampled: groups of differences that are not independent of each other. Where there are too
    few of them, there is no interval.
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
    """The mean of all differences, with its interval; None where there are none.

    Those of one group, such as the cuts of one conversation, are drawn together or not at all.
    """
    # Sorted, so that the order of the groups does not matter.
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
    """Means of as many groups drawn with replacement, from the smallest on."""
    random = Random(_SEED)
    means = []
    for _ in range(_RESAMPLES):
        drawn = random.choices(totals, k=len(totals))
        means.append(sum(total for total, _ in drawn) / sum(size for _, size in drawn))
    return sorted(means)


def _tail(units: int) -> float:
    """The share of the resampled means that is left out at either end."""
    normal = NormalDist()
    wider = sqrt(units / (units - 1)) * _student(normal.inv_cdf((1 + CONFIDENCE) / 2), units - 1)
    return normal.cdf(-wider)


def _student(z: float, freedom: int) -> float:
    """The quantile of Student's t that belongs to one of the normal distribution: the first terms of its expansion,
    right to a hundredth from 5 degrees of freedom on (Abramowitz and Stegun, 26.7.5)."""
    return (
        z
        + (z**3 + z) / (4 * freedom)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * freedom**3)
    )


FACTS_OR_NAMED: Final = "facts_or_named"
"""Facts that stand, or that a ledger or the words of a summary name: where summaries differ, most of it is here."""

SIZE: Final = "size"
CONDENSED: Final = "condensed"
"""1 where a way condensed at all, 0 where its summaries failed or were refused: then nothing else can be compared."""


class Compared(Struct, frozen=True):
    """A way less the one that it is compared with, by one measure, in one setting of both.

    `mean`, `low` and `high` are shares; `pairs` are cuts. The interval tells of other transcripts where its `units` are
    transcripts, and only of other cuts of the same one where only one was measured.
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
    """Every setting and measure in which both ways can be compared, in the order in which they were measured."""
    is_one = sum(bool(one.cuts) for one in found) == 1
    names = _measures_of_pairs(measures)
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
    """By setting the points of both ways at each cut, those of one transcript together unless they go `by_cut`."""
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


def _measures_of_pairs(measures: Iterable[str]) -> list[str]:
    names = list(measures)
    if "facts" in names:
        names.insert(names.index("facts") + 1, FACTS_OR_NAMED)
    return [CONDENSED, SIZE, *names]


def _differences(groups: Sequence[Sequence[_Pair]], measure: str) -> list[list[float]]:
    shares = [[(share(point, measure), share(other, measure)) for point, other in pairs] for pairs in groups]
    return [[mine - theirs for mine, theirs in pairs if mine is not None and theirs is not None] for pairs in shares]


def share(point: Point, measure: str) -> float | None:
    """What a point has of any measure that is compared; None where it asks for nothing, or the way failed there."""
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
