"""Shortening texts of a conversation, each to a number of tokens of its own.

The lines stay that later work needs and no other text says; the rest becomes markers. A text within its limit is never
touched, so what was shortened once stays as it is.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from ..core.markers import Gap
from ..core.values import Text
from ..toolcalls.tools import has_failed
from .candidates import UNSIGNED, Candidates, Opening, Stretch
from .choice import Choice
from .coverage import Coverage
from .fitting import fit
from .kinds import DECISION, Kind
from .known_lines import ReadText
from .parts import Key, Part
from .restated import restated_units
from .survey import Survey
from .units import Units, priced_texts, render

_REQUEST: Final = 1_000_000.0
_SAID: Final = 0.003
_REST: Final = 0.000_03
"""What a token is worth for itself, of a fact that is needed: of the user's words, of the assistant's, of anything
else."""

_SETTLED: Final = 1.0
"""What a token of the assistant's is worth, where people only talk, that tells what was decided: more than any fact."""

_FAILURE: Final = 0.02
_ERROR: Final = 0.003
_DEFINED: Final = 0.002
_DECIDED: Final = 0.003
"""What a line is worth besides: one that tells an error in the result of a call that failed, or anywhere; one that
defines something; one of the assistant's that decides something."""

_REMEMBERED: Final = 30_000
"""The tokens of so many lines are remembered: files are read again soon or not at all."""

_TYPICAL: Final = Gap("406167", 123)
_FURTHER: Final = Gap("", 123)


class Costs(Struct, frozen=True):
    """By unit of a part: its tokens, and what it is worth besides its facts, in needed facts.

    `pieces` are the first unit of its line, and the one behind its last, by each unit that is a piece of one.
    """

    tokens: array[int]
    values: array[float]
    pieces: Mapping[int, tuple[int, int]]


class Priced:
    """What units of a conversation cost and are worth: worked out once for each part."""

    def __init__(self, survey: Survey) -> None:
        self.survey = survey
        self._known: dict[Key, Costs] = {}
        self._again = restated_units(survey.parts, survey.units)
        self._lines: dict[str, int] = {}

    def of(self, key: Key) -> Costs:
        known = self._known.get(key)
        if known is None:
            text = self.survey.texts[key]
            tokens = text.tokens or self._tokens(text, self.survey.units[key])
            values = _own_values(self.survey, self.survey.parts[key], tokens)
            for unit in self._again.get(key, ()):
                values[unit] = -_SAID * tokens[unit]
            known = self._known[key] = Costs(tokens, array("d", values), text.pieces)
        return known

    def _tokens(self, text: ReadText, units: Units) -> array[int]:
        """The tokens of the units of a text, which are remembered with it."""
        if isinstance(units.stops, range):  # All are whole lines.
            text.tokens = array(UNSIGNED, self._of_lines(priced_texts(units)))
            return text.tokens
        text.pieces = {
            unit: (start, stop)
            for unit, (start, stop) in enumerate(zip(units.starts, units.stops, strict=True))
            if stop - start > 1
        }
        # Pieces hardly ever come again. Only behind the last of a line there is a line break.
        ended = (
            piece if stop > unit + 1 else piece + "\n"
            for unit, (piece, stop) in enumerate(zip(priced_texts(units), units.stops, strict=True))
        )
        text.tokens = array(UNSIGNED, self.survey.count.each_anew(ended))
        return text.tokens

    def _of_lines(self, lines: Sequence[str]) -> Iterable[int]:
        """The tokens of lines, which are remembered."""
        if len(self._lines) > _REMEMBERED:
            self._lines.clear()
        known = self._lines
        new = [line for line in dict.fromkeys(lines) if line not in known]
        known.update(zip(new, self.survey.count.each_anew([line + "\n" for line in new]), strict=True))
        return map(known.__getitem__, lines)

    def candidates(
        self,
        keys: Sequence[Key],
        stretches: Sequence[Stretch],
        gap: int,
        fixed: Mapping[Key, Sequence[int]] | None = None,
        headings: Sequence[int] = (),
    ) -> Candidates:
        """All units of some parts, to be chosen from, where a gap costs so many tokens.

        `fixed` are the units that stay, by the part; `headings` are the tokens of headings.
        """
        survey = self.survey
        tokens, values = array(UNSIGNED), array("d")
        pieces: dict[int, tuple[int, int]] = {}
        unit_keys: list[tuple[int, ...]] = []
        chosen: list[int] = []
        for key in keys:
            costs, offset = self.of(key), len(tokens)
            chosen += (offset + unit for unit in fixed.get(key, ())) if fixed else ()
            tokens += costs.tokens
            values += costs.values
            unit_keys += survey.keys[key]
            for unit, (start, stop) in costs.pieces.items():
                pieces[offset + unit] = offset + start, offset + stop
        return Candidates(tokens, values, unit_keys, stretches, gap, pieces, chosen, len(survey.facts), headings)


def shorten_each(survey: Survey, limits: Mapping[Key, int]) -> dict[Key, str]:
    """Each part within its limit of tokens. What the parts without a limit say counts as said.

    The newest part comes first, so that older ones leave out what it says. Where not even a marker is within the limit,
    the part is the marker alone, or as it was if that is no larger.
    """
    said = survey.said_by(key for key in survey.parts if key not in limits)
    priced = Priced(survey)
    texts: dict[Key, str] = {}
    for key in sorted(limits, reverse=True):
        if survey.count(survey.parts[key].content) > limits[key]:
            texts[key] = _shortened(priced, key, limits[key], said)
        else:
            texts[key] = survey.parts[key].text
            for unit in survey.keys[key]:
                said.add(unit)
    return texts


def marker_tokens(survey: Survey) -> int:
    """Tokens of the first marker of a text."""
    return survey.count(f"{_TYPICAL}\n")


def further_tokens(survey: Survey) -> int:
    """Tokens of each further marker of a text."""
    return survey.count(f"{_FURTHER}\n")


def stretches_of(survey: Survey, keys: Sequence[Key], openings: Mapping[Key, Opening] | None = None) -> list[Stretch]:
    """Where the units of each part stand among those of all. A part with an opening leaves no marker without any."""
    stretches: list[Stretch] = []
    start = 0
    for key in keys:
        stop = start + len(survey.bodies[key])
        stretches.append(Stretch(start, stop, survey.gaps[key], openings.get(key) if openings else None))
        start = stop
    return stretches


def _own_values(survey: Survey, part: Part, tokens: Sequence[int]) -> list[float]:
    """What each unit of a part is worth besides its facts."""
    recency = (1 + survey.age(part.key)) ** -0.3
    own, is_said = survey.own.get(part.key[:2], ()), part.is_said
    if own is None or own or (is_said and survey.is_talk):
        # Lists of words in many languages, which most texts do not ask for.
        from .instructions import is_settled, weight_of
    if own is None:
        bodies = survey.units[part.key].bodies
        return [_REQUEST * weight_of(body) * count for body, count in zip(bodies, tokens, strict=True)]
    # Of most parts what is known of their lines is enough.
    bodies = survey.units[part.key].bodies if is_said or own else [""] * len(tokens)
    error = _FAILURE if part.is_result and has_failed(part.block) else _ERROR
    base = _SAID if is_said else _REST
    worth: Mapping[int, float] = {Kind.ERROR: error, Kind.DEFINITION: _DEFINED}
    kinds = survey.known.kinds
    values = []
    for body, number, count in zip(bodies, survey.bodies[part.key], tokens, strict=True):
        kind = kinds[number]
        value = base * count if kind else 0.0
        if kind > Kind.PLAIN:
            value += worth[kind]
        elif is_said and DECISION.search(body):
            value += _DECIDED
        value *= recency
        if is_said and survey.is_talk and is_settled(body):
            value += _SETTLED * count
        values.append(value)
    for unit in own:
        values[unit] = _REQUEST * weight_of(bodies[unit]) * tokens[unit]
    return values


def _shortened(priced: Priced, key: Key, budget: int, said: Coverage) -> str:
    survey = priced.survey
    stretches = stretches_of(survey, [key])
    choice = Choice(priced.candidates([key], stretches, further_tokens(survey)), said)
    fit(choice, budget, lambda: sum(map(survey.count, rendered(survey, [key], stretches, choice).values())))
    return str(rendered(survey, [key], stretches, choice)[key])


def rendered(survey: Survey, keys: Sequence[Key], stretches: Sequence[Stretch], choice: Choice) -> dict[Key, Text]:
    """The parts with the units that are chosen, or as they were where that is no larger."""
    return {
        key: text_with(survey, key, choice.kept[stretch.start : stretch.stop], is_whole=not stretch.gaps)
        for key, stretch in zip(keys, stretches, strict=True)
    }


def text_with(survey: Survey, key: Key, kept: Sequence[int], *, is_whole: bool) -> Text:
    """A part with the units that are kept, or as it was where that is no larger, or `is_whole` and all are."""
    original = survey.parts[key].content
    if is_whole and all(kept):
        return original
    text = render(survey.units[key], kept, counts_lines=survey.parts[key].numbers_lines)
    return text if survey.count(text) < survey.count(original) else original
