"""How much of what later work needs a way keeps, as one figure: facts and edit lines together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean, median, quantiles
from typing import Final

from msgspec import Struct

from .evaluation import Evaluated
from .recall import Recall

_RULE: Final = 0.8
"""The share of cuts that makes a rule, where there are at least so many:"""
_FEWEST: Final = 10


class KeptShare(Struct, frozen=True):
    """Percent of what was asked at so many cuts of transcripts: the median, and where eight of ten cuts are.

    `facts` and `edits` are means over the cuts where any were asked; None where there are none.
    """

    percent: float
    low: float
    high: float
    cuts: int
    facts: float | None
    edits: float | None


def kept_by(way: str, found: Iterable[Evaluated]) -> KeptShare | None:
    """What a way kept of the transcripts that were measured; None where nothing was asked of it."""
    recalls = [
        point.recall
        for one in found
        for cut in one.cuts
        for point in cut.points
        if point.way == way and point.recall is not None
    ]
    shares = [share for recall in recalls if (share := _share(recall)) is not None]
    if not shares:
        return None
    low, high = _middle(shares)
    return KeptShare(
        _percent(median(shares)),
        _percent(low),
        _percent(high),
        len(shares),
        _mean([recall.facts.share for recall in recalls]),
        _mean([recall.edits.share for recall in recalls]),
    )


def beats(way: str, other: str, found: Iterable[Evaluated]) -> bool:
    """Whether a way as a rule keeps no less than another one where it leaves no more, and sometimes more."""
    pairs = []
    for cut in (cut for one in found for cut in one.cuts):
        points = {point.way: point for point in cut.points if point.recall is not None}
        mine, theirs = points.get(way), points.get(other)
        if mine and theirs and mine.tokens <= theirs.tokens and mine.recall and theirs.recall:
            pairs.append((_share(mine.recall) or 0, _share(theirs.recall) or 0))
    as_much = sum(one >= another for one, another in pairs)
    more = any(one > another for one, another in pairs)
    return more and len(pairs) >= _FEWEST and as_much >= _RULE * len(pairs)


def _share(recall: Recall) -> float | None:
    asked = recall.facts.asked + recall.edits.asked
    return (recall.facts.standing + recall.edits.standing) / asked if asked else None


def _middle(shares: Sequence[float]) -> tuple[float, float]:
    """The range that holds eight of ten; of few, all of them."""
    if len(shares) < 10:
        return min(shares), max(shares)
    tenths = quantiles(shares, n=10, method="inclusive")
    return tenths[0], tenths[-1]


def _mean(shares: Iterable[float | None]) -> float | None:
    known = [share for share in shares if share is not None]
    return _percent(fmean(known)) if known else None


def _percent(share: float) -> float:
    return round(100 * share, 1)
