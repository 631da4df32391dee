"""Choose units by what they add for their tokens, one after the other, until a budget is spent.

In a summary a text is under a heading that says whose it is. All texts of a call share one, and it has the path or
the command of the call. So the first unit of a text costs more than itself, and brings what the others then cost less:
a text is opened for what the best of them add together.

What a unit adds is the value of its keys that no chosen unit covers yet, and a value of its own. What it costs are its
tokens and the change in markers: a unit beside a chosen one needs none, one that closes a gap saves one. So the choice
grows in spans. Values only shrink as others are chosen and costs only shrink beside what is chosen, so a queue with
values that are looked at again when they come up finds the best unit in logarithmic time. Texts of which nothing is
chosen, and which leave no marker, wait in it as a whole (`opening`).

Of a long conversation there are hundreds of thousands of units, so the loops are those of `kernels.choice`.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, chain
from typing import Final

from msgspec import Struct

from ..kernels.choice import Loops

AGAIN: Final = 0.02
"""What a second mention is worth of a first; a third this much of that."""
_OF_FIRST: Final = array("d", (1.0, AGAIN, AGAIN**2))
_HEARD: Final = len(_OF_FIRST)
"""What is said so often adds nothing any more."""


class Coverage:
    """By key how often it is `said`, and what one more mention `gains`; `weights` are what a first one is worth."""

    def __init__(self, weights: array[float], said: array[int], gains: array[float]) -> None:
        self.weights, self.said, self.gains = weights, said, gains

    @classmethod
    def of(cls, weights: Iterable[float]) -> Coverage:
        """Nothing is said yet."""
        weights = array("d", weights)
        return cls(weights, array("I", bytes(4 * len(weights))), weights[:])

    def copy(self) -> Coverage:
        """The same, to be added to for itself."""
        return Coverage(self.weights, self.said[:], self.gains[:])

    def add(self, keys: Sequence[int]) -> None:
        """Say what a unit says."""
        said, gains, weights = self.said, self.gains, self.weights
        for key in keys:
            said[key] = times = said[key] + 1
            gains[key] = weights[key] * _OF_FIRST[times] if times < _HEARD else 0.0


UNLIMITED: Final = 1 << 60

UNSIGNED: Final = "I"
"""The type of an array of numbers of units, or of tokens: four bytes each."""


class Opening(Struct, frozen=True):
    """Costs of a text besides its units once one is chosen; without any it leaves no marker.

    `tokens` are its own, such as those of a label; `heading` is the number of the heading above it, maybe
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


class Candidates(Struct, dict=True):
    """All units to choose from: tokens, values and keys by unit. `headings` are the tokens of those above stretches.

    `pieces` are the first unit of its line, and the one behind its last, by each unit that is a piece of one. Units
    that are `fixed` are chosen whatever the budget; of a line in pieces all are. `sections` are the unit behind its
    section by each that is a heading. `groups` are the units that come with one: all lines of a wrapped sentence, and
    with the heading of a section of which nothing is chosen, its first lines.
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
    sections: Mapping[int, int] = {}
    groups: Mapping[int, Sequence[int]] = {}

    @cached_property
    def flat_keys(self) -> tuple[array[int], array[int]]:
        """Where the keys of each unit start, and behind the last one; the keys of all units."""
        starts = array(UNSIGNED, accumulate(map(len, self.keys), initial=0))
        return starts, array(UNSIGNED, chain.from_iterable(self.keys))


REST: Final = 3
SHARE: Final = 1_000
"""So many tokens, and such a part of the budget, are not worth looking for what fits into them."""


_HOLE: Final = 0.001
"""Value of a small gap less."""
_MOST_FOR_HOLE: Final = 60
"""Most tokens that a small gap less may cost, however little they are worth."""


class Choice(Loops):
    """The units chosen so far: which are `kept`, and what they have `spent` in tokens, needed markers included.

    `covered` is at first what is said by what is not chosen from; choosing adds to it. Units of which a token is worth
    less than `least` are left, whatever is free. `density` is what the newest choice added per token; infinite before
    the first. `margin` is what a token is worth in the end, if that is known: small gaps are closed that cost less than
    they spoil.
    """

    def __init__(
        self, candidates: Candidates, covered: Coverage, least: float = 0.0, margin: float | None = None
    ) -> None:
        self.all, self.covered = candidates, covered
        most = candidates.marker + (min(_MOST_FOR_HOLE, int(_HOLE / margin)) if margin else 0)
        starts, keys = candidates.flat_keys
        said = covered.said, covered.gains, covered.weights
        super().__init__(
            candidates.tokens, candidates.values, starts, keys, said, _OF_FIRST, candidates.marker, candidates.pieces,
            candidates.lines, least, most, candidates.sections, dict(candidates.groups),
        )  # fmt: skip
        self.begin(candidates.stretches, candidates.headings, candidates.fixed)

    def fill(self, budget: int | None) -> None:
        """Choose the best units that fit, until the budget of tokens is spent but for a rest or none is left that fits.

        Without a budget all fit.
        """
        budget = UNLIMITED if budget is None else budget
        self.fill_to(budget, max(REST, budget // SHARE))


_ROUNDS: Final = 6
"""So often more is chosen once the exact count of what was chosen is known."""


def fit(choice: Choice, budget: int, measure: Callable[[], int]) -> None:
    """Choose as much as the budget allows by exact count: `measure` counts the texts as chosen at that moment.

    The tokens of single lines add up to a little more than those of the text, so what is left over is spent again.
    """
    limit, excess = budget, 0
    for _ in range(_ROUNDS):
        before = choice.spent
        choice.fill(limit)
        excess = measure() - budget
        if excess > 0 or (choice.spent == before and limit != budget) or -excess <= max(REST, budget // SHARE):
            break
        limit = choice.spent - excess
    while excess > 0 and choice.undo(excess):
        excess = measure() - budget
