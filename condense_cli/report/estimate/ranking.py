"""Choosing among presets by what they leave and what they keep: which are beaten, and which to take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from ...quality.kept import KeptShare

ENOUGH: Final = 90
"""Percent of what later work needs that a recommended preset keeps, where one of them does."""


class Ranked(Struct, frozen=True):
    """A preset with the tokens that it leaves, and the percent that it keeps of what later work needs, if known.

    In eight of ten cases it keeps no less than `low`.
    """

    preset: str
    tokens: int
    kept: float | None
    low: float = 0.0

    @property
    def shown(self) -> int:
        """What it keeps as reports show it: a smaller difference is chance."""
        return round(self.kept or 0)


class Recommendation(Struct, frozen=True):
    """The preset to take, and why, as a sentence."""

    preset: str
    reason: str


class KeptSource(Struct, frozen=True):
    """Where the figures of what presets keep are from: expected of this transcript, or measured on it at some cuts.

    `is_typical`, `transcripts` and `date` are of figures from other sessions, which there are none of any more.
    """

    cuts: int
    is_expected: bool = False
    is_typical: bool = False
    transcripts: int = 1
    date: str | None = None


class KeptFigures(Struct, frozen=True):
    """The share that presets keep, by name, and where that is known from."""

    source: KeptSource
    presets: Mapping[str, KeptShare]


def in_order(ranked: Sequence[Ranked]) -> list[Ranked]:
    """The smallest first; of those that leave as much the one that keeps more, then by name."""
    return sorted(ranked, key=lambda each: (each.tokens, -each.shown, each.preset))


def beaten(ranked: Sequence[Ranked]) -> dict[str, str]:
    """The presets that another one beats: it leaves no more and keeps no less, and one of both is better.

    Of several the one that keeps the most is named.
    """
    known = [each for each in in_order(ranked) if each.kept is not None]
    found = {}
    for each in known:
        better = [other for other in known if _is_better(other, each)]
        if better:
            found[each.preset] = max(better, key=lambda other: other.shown).preset
    return found


def _is_better(one: Ranked, other: Ranked) -> bool:
    if one.tokens > other.tokens:
        return False
    return one.shown >= other.shown and (one.tokens, one.shown) != (other.tokens, other.shown)


def recommended(
    ranked: Sequence[Ranked], before: int, target: int | None = None, *, is_expected: bool = False
) -> Recommendation | None:
    """The preset to take of at least two; None where none helps, or where it is not known what they keep.

    With a target it is the one that keeps the most of those that reach it, otherwise the smallest that keeps enough,
    by the lower bound.
    """
    useful = [each for each in in_order(ranked) if each.kept is not None and each.tokens < before]
    if target is not None:
        useful = [each for each in useful if each.tokens <= target]
    if len(ranked) < 2 or not useful:
        return None
    enough = [each for each in useful if round(each.low) >= ENOUGH]
    keeps = "is expected to keep" if is_expected else "keeps"
    if target is None and enough:
        found = enough[0]
        why = f"the smallest that {keeps} at least {ENOUGH}% of what later work needs"
    else:
        found = max(useful, key=lambda each: (round(each.low), each.shown))
        of = "" if target is None else " of those that reach the target"
        why = f"the one that {keeps} the most of what later work needs{of}"
    return Recommendation(found.preset, f"{why} ({found.shown}%, at least {round(found.low)}%)")
