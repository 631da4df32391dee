"""What is chosen from: the units of all texts, with what they cost and are worth."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from msgspec import Struct

UNLIMITED: Final = 1 << 60

UNSIGNED: Final = "I"
"""The type of an array of numbers of units, or of tokens: four bytes each."""


class Opening(Struct, frozen=True):
    """What a text costs besides its units once one is chosen; without any it leaves no marker.

    `tokens` are its own, such as those of a label; `heading` is the number of the heading that it stands under, maybe
    with others. The only unit of a text that `is_title` is in the heading.
    """

    tokens: int = 0
    heading: int | None = None
    is_title: bool = False


class Stretch(Struct):
    """The units of one text as they are chosen from.

    `start` is the number of its first unit among all units; `gaps` are the units, counted from there, before which
    something is missing already, or the end; one with an `opening` leaves no marker while nothing of it is chosen.
    """

    start: int
    stop: int
    gaps: Collection[int] = ()
    opening: Opening | None = None


class Candidates(Struct):
    """All units to choose from: tokens, values and keys by unit. `headings` are the tokens of those above stretches.

    `pieces` are the first unit of its line, and the one behind its last, by each unit that is a piece of one. Units
    that are `fixed` are chosen whatever the budget; of a line in pieces all are.
    """

    tokens: array[int]
    values: array[float]
    keys: Sequence[tuple[int, ...]]
    stretches: Sequence[Stretch]
    marker: int
    pieces: Mapping[int, tuple[int, int]] = {}
    fixed: Sequence[int] = ()
    lines: int = UNLIMITED
    headings: Sequence[int] = ()
