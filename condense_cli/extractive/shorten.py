"""Shortening texts of a conversation to a number of tokens: each to a limit of its own, or several to one budget.

The lines stay that later work needs and no other text says; the rest becomes markers. A text within its limit is never
touched, so what was shortened once stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from ..markers import Gap
from .choice import Candidates, Choice, Stretch
from .parts import Key, Part
from .survey import DECISION, DEFINITION, ERROR, Survey
from .units import Units, render

_ROUNDS: Final = 6
"""So often the choice is corrected by exact counts; every round but the last may also add."""

_REQUEST: Final = 1.0
_SAID: Final = 0.06
_DECIDED: Final = 0.12
_ERROR: Final = 0.15
_DEFINED: Final = 0.05
_REST: Final = 0.01
"""What a token is worth for itself: of the user's words, of the assistant's, of a line that decides, tells an error or
defines something, and of any other."""

_TYPICAL: Final = Gap("5f2c91d8", 123)


def shorten_each(survey: Survey, limits: Mapping[Key, int]) -> dict[Key, str]:
    """Each part within its limit of tokens. What the parts without a limit say counts as said.

    The newest part comes first, so that older ones leave out what it says. A part that is over its limit and cannot be
    shortened to it, because not even a marker fits, becomes the marker alone, unless that is no smaller.
    """
    covered = survey.covered_by(key for key in survey.parts if key not in limits)
    texts: dict[Key, str] = {}
    for key in sorted(limits, reverse=True):
        text = survey.parts[key].text
        if survey.count(text) > limits[key]:
            found, kept = _choose(survey, [key], limits[key], covered)
            texts[key] = found[key]
            covered |= {number for unit in kept[key] for number in survey.keys[key][unit]}
        else:
            texts[key] = text
            covered |= survey.covered_by([key])
    return texts


def shorten_together(survey: Survey, keys: Iterable[Key], budget: int) -> dict[Key, str]:
    """Parts that have at most `budget` tokens together, shared so that most of what later work needs stays.

    Where not even a marker for each fits, each is a marker, or as it was where that is no smaller.
    """
    keys = sorted(set(keys))
    texts = {key: survey.parts[key].text for key in keys}
    if sum(map(survey.count, texts.values())) <= budget:
        return texts
    covered = survey.covered_by(key for key in survey.parts if key not in texts)
    return _choose(survey, keys, budget, covered)[0]


def candidates_of(survey: Survey, keys: Sequence[Key], stretches: Sequence[Stretch]) -> Candidates:
    """All units of some parts, to be chosen from."""
    tokens: list[int] = []
    values: list[float] = []
    unit_keys: list[tuple[int, ...]] = []
    starts: list[int] = []
    stops: list[int] = []
    for key in keys:
        units, offset = survey.units[key], len(tokens)
        tokens += [
            survey.count(text if stop > unit + 1 else text + "\\n")
            for unit, (text, stop) in enumerate(zip(units.texts, units.stops, strict=True))
        ]
        values += _own_values(survey, survey.parts[key], tokens[offset:])
        unit_keys += survey.keys[key]
        starts += [offset + start for start in units.starts]
        stops += [offset + stop for stop in units.stops]
    return Candidates(tokens, values, unit_keys, survey.weights, starts, stops, stretches, marker_tokens(survey))


def marker_tokens(survey: Survey) -> int:
    return survey.count(f"{_TYPICAL}\\n")


def stretches_of(survey: Survey, keys: Sequence[Key], opening: Mapping[Key, int] | None = None) -> list[Stretch]:
    """Where the units of each part stand among those of all; with `opening` a part without any leaves no marker."""
    stretches: list[Stretch] = []
    start = 0
    for key in keys:
        units = survey.units[key]
        gaps = frozenset(start + unit for unit in units.gaps)
        stop = start + len(units.texts)
        stretches.append(Stretch(start, stop, gaps, opening[key] if opening else 0, opening is not None))
        start = stop
    return stretches


def _own_values(survey: Survey, part: Part, tokens: Sequence[int]) -> list[float]:
    """What each unit of a part is worth besides its facts."""
    recency = (1 + survey.age(part.key)) ** -0.3
    units = survey.units[part.key]
    if part.is_request:
        return [_REQUEST * count for count in tokens]
    base = _SAID if part.is_written and not part.is_argument else _REST
    values = []
    for body, count in zip(units.bodies, tokens, strict=True):
        rate = base
        if ERROR.search(body):
            rate += _ERROR
        if DEFINITION.match(body):
            rate += _DEFINED
        if base == _SAID and DECISION.search(body):
            rate += _DECIDED
        values.append(rate * recency * count)
    return values


def _choose(
    survey: Survey, keys: Sequence[Key], budget: int, covered: set[int]
) -> tuple[dict[Key, str], dict[Key, list[int]]]:
    marker = marker_tokens(survey)
    # A text hardly longer than a marker is not worth one.
    small = [key for key in keys if survey.count(survey.parts[key].text) <= 2 * marker] if len(keys) > 1 else []
    fixed = sum(survey.count(survey.parts[key].text) for key in small)
    covered = covered | survey.covered_by(small)
    open_keys = [key for key in keys if key not in set(small)]
    stretches = stretches_of(survey, open_keys)
    choice = Choice(candidates_of(survey, open_keys, stretches), sorted(covered))
    texts: dict[Key, str] = {}
    limit = budget - fixed
    for round in range(_ROUNDS):
        choice.fill(limit)
        texts = _rendered(survey, open_keys, stretches, choice)
        excess = sum(map(survey.count, texts.values())) + fixed - budget
        if excess <= 0:
            if round >= 2 or -excess <= marker:
                break
            limit = choice.spent - excess
        else:
            limit = choice.spent - excess
            break
    while excess > 0 and choice.undo(excess):
        texts = _rendered(survey, open_keys, stretches, choice)
        excess = sum(map(survey.count, texts.values())) + fixed - budget
    kept = {
        key: [unit - stretch.start for unit in range(stretch.start, stretch.stop) if choice.kept[unit]]
        for key, stretch in zip(open_keys, stretches, strict=True)
    }
    return {**texts, **{key: survey.parts[key].text for key in small}}, kept


def _rendered(survey: Survey, keys: Sequence[Key], stretches: Sequence[Stretch], choice: Choice) -> dict[Key, str]:
    texts = {}
    for key, stretch in zip(keys, stretches, strict=True):
        text = render(survey.units[key], choice.kept[stretch.start : stretch.stop])
        original = survey.parts[key].text
        texts[key] = text if survey.count(text) < survey.count(original) else original
    return texts
