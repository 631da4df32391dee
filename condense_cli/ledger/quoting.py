"""Requests of the user where there is no room for all of them: sentence by sentence, rules and decisions last."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import Final

from ..core.tokens import Counter
from ..extractive.choice import UNSIGNED, Candidates, Choice, Coverage, Opening, Stretch
from ..extractive.choice import fit as fit_choice
from ..extractive.instructions import weight_of
from ..extractive.units import render, split
from .entries import UserRequest

_LONG: Final = 400
"""Requests of more characters go before others that say as much: a rule is short."""
_OF_LONG: Final = 0.5

_MARKER: Final = 10
_OPENING: Final = Opening(2)
"""Tokens of a marker with its line break, and of what stands before a request."""


def quoted(
    requests: Sequence[UserRequest], budget: int, count: Counter, measure: Callable[[Sequence[str]], int]
) -> list[str]:
    """What is left of each request where all may have `budget` tokens; empty where nothing is.

    `measure` tells the tokens of what is left. Where a request stays in part, markers tell what is missing.
    """
    units = [split(request.text, by_sentence=True) for request in requests]
    tokens, values = array(UNSIGNED), array("d")
    stretches: list[Stretch] = []
    for request, found in zip(requests, units, strict=True):
        start = len(tokens)
        share = _OF_LONG if len(request.text) > _LONG else 1.0
        for text in found.texts:
            tokens.append(count.anew(text))
            values.append(share * weight_of(text) * tokens[-1])
        stretches.append(Stretch(start, len(tokens), found.gaps, _OPENING))
    size = len(tokens)
    choice = Choice(Candidates(tokens, values, [()] * size, stretches, _MARKER), Coverage.of(()))

    def written() -> list[str]:
        inside = (choice.kept[stretch.start : stretch.stop] for stretch in stretches)
        return [render(found, kept) if any(kept) else "" for found, kept in zip(units, inside, strict=True)]

    fit_choice(choice, budget, lambda: measure(written()))
    return written()
