"""Shortening texts of a conversation to a number of tokens: each to a limit of its own, or several to one budget.

The lines stay that later work needs and no other text says; the rest becomes markers. A text within its limit is never
touched, so what was shortened once stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from ..markers import Gap
from ..tools import has_failed
from .choice import Candidates, Choice, Stretch, fit
from .kinds import DECISION, DEFINITION, ERROR
from .parts import Key, Part
from .survey import Survey
from .units import render

_REQUEST: Final = 1.0
_SAID: Final = 0.001
_REST: Final = 0.000_03
"""What a token is worth for itself, of a fact that is needed: of the user's words, of the assistant's, of anything
else."""

_FAILURE: Final = 0.02
_ERROR: Final = 0.003
_DEFINED: Final = 0.002
_DECIDED: Final = 0.003
"""What a line is worth besides: one that tells an error in the result of a call that failed, or anywhere; one that
defines something; one of the assistant's that decides something."""

_TYPICAL: Final = Gap("5f2c91d8", 123)


def shorten_each(survey: Survey, limits: Mapping[Key, int]) -> dict[Key, str]:
    """Each part within its limit of tokens. What the parts without a limit say counts as said.

    The newest part comes first, so that older ones leave out what it says. Where not even a marker is within the limit,
    the part is the marker alone, or as it was if that is no larger.
    """
    said = survey.said_by(key for key in survey.parts if key not in limits)
    texts: dict[Key, str] = {}
    for key in sorted(limits, reverse=True):
        if survey.count(survey.parts[key].text) > limits[key]:
            texts |= _shortened(survey, [key], limits[key], said)
        else:
            texts[key] = survey.parts[key].text
            survey.add_said(said, key)
    return texts


def shorten_together(survey: Survey, keys: Iterable[Key], budget: int) -> dict[Key, str]:
    """Parts that have at most `budget` tokens together, shared so that most of what later work needs stays.

    Where not even a marker for each fits, each is a marker, or as it was where that is no larger.
    """
    return Together(survey, keys).within(budget)


class Together:
    """Parts that share a budget of tokens, to be shortened to as many budgets as wanted."""

    def __init__(self, survey: Survey, keys: Iterable[Key]) -> None:
        self._survey = survey
        chosen = sorted(set(keys))
        self._texts = {key: survey.parts[key].text for key in chosen}
        tokens = {key: survey.count(text) for key, text in self._texts.items()}
        self.tokens = sum(tokens.values())
        # A text hardly longer than a marker is not worth one.
        self._long = [key for key in chosen if tokens[key] > 2 * marker_tokens(survey)]
        among = set(self._long)
        self._said = survey.said_by(key for key in survey.parts if key not in among)
        self._short = sum(tokens[key] for key in chosen if key not in among)
        self._stretches = stretches_of(survey, self._long)
        self._candidates: Candidates | None = None

    def within(self, budget: int) -> dict[Key, str]:
        """The texts within a budget; see `shorten_together`."""
        if self.tokens <= budget:
            return self._texts
        if self._candidates is None:
            self._candidates = candidates_of(self._survey, self._long, self._stretches)
        choice = Choice(self._candidates, self._said.copy())
        return self._texts | _fitted(self._survey, self._long, self._stretches, choice, budget - self._short)


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
    is_said = part.is_written and not part.is_argument
    error = _FAILURE if part.is_result and has_failed(part.block) else _ERROR
    base = _SAID if is_said else _REST
    values = []
    for body, count in zip(units.bodies, tokens, strict=True):
        value = base * count if body.strip() else 0.0
        if ERROR.search(body):
            value += error
        elif DEFINITION.match(body):
            value += _DEFINED
        elif is_said and DECISION.search(body):
            value += _DECIDED
        values.append(value * recency)
    return values


def _shortened(survey: Survey, keys: Sequence[Key], budget: int, said: list[int]) -> dict[Key, str]:
    stretches = stretches_of(survey, keys)
    return _fitted(survey, keys, stretches, Choice(candidates_of(survey, keys, stretches), said), budget)


def _fitted(
    survey: Survey, keys: Sequence[Key], stretches: Sequence[Stretch], choice: Choice, budget: int
) -> dict[Key, str]:
    fit(choice, budget, lambda: sum(map(survey.count, _rendered(survey, keys, stretches, choice).values())))
    return _rendered(survey, keys, stretches, choice)


def _rendered(survey: Survey, keys: Sequence[Key], stretches: Sequence[Stretch], choice: Choice) -> dict[Key, str]:
    texts = {}
    for key, stretch in zip(keys, stretches, strict=True):
        text = render(survey.units[key], choice.kept[stretch.start : stretch.stop])
        original = survey.parts[key].text
        texts[key] = text if survey.count(text) < survey.count(original) else original
    return texts
