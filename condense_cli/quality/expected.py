"""Predict how much of what later work needs a condensed conversation keeps, by the weights that choose lines.

Each fact and each line that an edit may have to match is needed with some likelihood (`extractive/survey.py`). The
share kept is that of everything expected to be needed that is still on a line of the original. If few things are
needed, chance decides: hence a range, as of independent draws.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import sqrt
from typing import Final

from ..core.tokens import Counter
from ..core.transcript import Message
from ..extractive.survey import Survey
from ..extractive.weights import OVERSTATED
from ..lossless.decode import decode
from .evaluation import KeptShare

_EIGHT_OF_TEN: Final = 1.2816
"""Standard deviations around the mean that hold eight in ten values of a normal distribution."""


class _Needs:
    """Facts and lines that work on a conversation is expected to need."""

    def __init__(self, messages: Sequence[Message], count: Counter) -> None:
        self._count = count
        self._survey = survey = Survey(decode(messages).messages, count)
        self._lines = len(survey.known.numbers)
        self._facts = len(survey.facts)
        self.facts, self.edits = self._of(survey)

    def left_in(self, messages: Sequence[Message]) -> tuple[float, float]:
        """Return the needed facts and lines of edits that are still on a line of the original."""
        return self._of(Survey(decode(messages).messages, self._count, known=self._survey.known))

    def _of(self, survey: Survey) -> tuple[float, float]:
        bodies = {number for found in survey.bodies.values() for number in found if number < self._lines}
        weights, facts = self._survey.weights, self._survey.known.facts
        named = {fact for number in bodies for fact in facts[number] if fact < self._facts}
        edits = (place for place, number in enumerate(self._survey.editable, self._facts) if number in bodies)
        return _sum(weights, named), _sum(weights, edits)


def _sum(weights: Sequence[float], places: Iterator[int] | set[int]) -> float:
    return sum(weights[place] for place in sorted(places)) / OVERSTATED


def expected_of(
    before: Sequence[Message], condensed: Mapping[str, Sequence[Message]], count: Counter
) -> dict[str, KeptShare]:
    """Return what each condensed conversation is expected to keep; empty if nothing is expected to be needed."""
    needs = _Needs(before, count)
    total = needs.facts + needs.edits
    if not total:
        return {}
    found = {}
    for name, messages in condensed.items():
        facts, edits = needs.left_in(messages)
        share = min(1.0, (facts + edits) / total)
        chance = _EIGHT_OF_TEN * sqrt(share * (1 - share) / total)
        found[name] = KeptShare(
            percent=_percent(share),
            low=_percent(max(0.0, share - chance)),
            high=_percent(min(1.0, share + chance)),
            cuts=0,
            facts=_percent(facts / needs.facts) if needs.facts else None,
            edits=_percent(edits / needs.edits) if needs.edits else None,
        )
    return found


def _percent(share: float) -> float:
    return round(100 * share, 1)
