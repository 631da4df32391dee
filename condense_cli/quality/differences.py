"""Two ways at the same cuts, in the same setting: how far apart they are, measure by measure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Literal

from msgspec import Struct

from .evaluation import Evaluated, Point
from .paired import Verdict, difference

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
