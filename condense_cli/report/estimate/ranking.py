"""Choosing among presets by what they leave and what they keep: which are beaten, and which to take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from ...quality.kept import KeptShare

ENOUGH: Final = 90
"""Percent of what later work needs that a recommended preset keeps, where one of them does."""


class Ranked(Struct, frozen=True):
    """A preset with the tokens that it leaves, and the percent that it keeps of what later work needs, if known."""

    preset: str
    tokens: int
    kept: float | None

    @property
    def shown(self) -> int:
        """What it keeps as reports show it: a smaller difference is chance."""
        return round(self.kept or 0)


class Recommendation(Struct, frozen=True):
    """The preset to take, and why, as a sentence."""

    preset: str
    reason: str


class KeptSource(Struct, frozen=True):
    """Where the figures of what presets keep are from: typical of other projects, or measured on this transcript.

    `date` is that of the measurement; null where it was now.
    """

    is_typical: bool
    transcripts: int
    cuts: int
    date: str | None = None


class KeptFigures(Struct, frozen=True):
    """What presets keep, by name, and where that is known from; `beats` as the typical figures have it."""

    source: KeptSource
    presets: Mapping[str, KeptShare]
    beats: Mapping[str, Sequence[str]] | None = None


def in_order(ranked: Sequence[Ranked]) -> list[Ranked]:
    """The smallest first; of those that leave as much the one that keeps more, then by name."""
    return sorted(ranked, key=lambda each: (each.tokens, -each.shown, each.preset))


def beaten(ranked: Sequence[Ranked], beats: Mapping[str, Sequence[str]] | None = None) -> dict[str, str]:
    """The presets that another one beats: it leaves no more and keeps no less, and one of both is better.

    Typical figures of two presets do not tell which keeps more of one transcript: there `beats` says which of them
    as a rule does. Of several the one that keeps the most is named.
    """
    known = [each for each in in_order(ranked) if each.kept is not None]
    found = {}
    for each in known:
        better = [other for other in known if _is_better(other, each, beats)]
        if better:
            found[each.preset] = max(better, key=lambda other: other.shown).preset
    return found


def _is_better(one: Ranked, other: Ranked, beats: Mapping[str, Sequence[str]] | None) -> bool:
    if one.tokens > other.tokens:
        return False
    if beats is not None:
        return one.tokens < other.tokens and other.preset in beats.get(one.preset, ())
    return one.shown >= other.shown and (one.tokens, one.shown) != (other.tokens, other.shown)


def recommended(
    ranked: Sequence[Ranked], before: int, target: int | None = None, *, is_typical: bool = False
) -> Recommendation | None:
    """The preset to take of at least two; None where none helps, or where it is not known what they keep.

    With a target it is the one that keeps the most of those that reach it, otherwise the smallest that keeps enough.
    """
    useful = [each for each in in_order(ranked) if each.kept is not None and each.tokens < before]
    if target is not None:
        useful = [each for each in useful if each.tokens <= target]
    if len(ranked) < 2 or not useful:
        return None
    enough = [each for each in useful if each.shown >= ENOUGH]
    if target is None and enough:
        found = enough[0]
        why = f"the smallest that keeps at least {ENOUGH}% of what later work needs"
    else:
        found = max(useful, key=lambda each: each.shown)
        of = "" if target is None else " of those that reach the target"
        why = f"the one that keeps the most of what later work needs{of}"
    return Recommendation(found.preset, f"{why} ({'typically ' if is_typical else ''}{found.shown}%)")
