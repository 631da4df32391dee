"""Shorten texts of a conversation: each to its own number of tokens, or all of them to one budget.

The lines stay that later work needs and no other text says; the rest becomes markers. A text within its limit is never
touched, so what was shortened once stays as it is.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from itertools import compress
from typing import Final
from weakref import WeakKeyDictionary

from msgspec import Struct
from msgspec.structs import replace

from ..core.markers import Gap
from ..core.transcript import Message
from ..core.values import Text
from ..tokens.counting import Counter
from ..toolcalls.tools import has_failed
from .choice import UNSIGNED, Candidates, Choice, Coverage, Opening, Stretch, fit
from .parts import Key, Part
from .summary import Sections, addresses
from .survey import Survey
from .units import render
from .versions import DECISION, Kind

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

_TYPICAL: Final = Gap("406167", 123)
_FURTHER: Final = Gap("", 123)


class Costs(Struct, frozen=True):
    """By unit of a part: its tokens, and what it is worth besides its facts, in needed facts."""

    tokens: array[int]
    values: array[float]


class Priced:
    """Costs and worth of a conversation's units, worked out once per part."""

    def __init__(self, survey: Survey) -> None:
        self.survey = survey
        self._known: dict[Key, Costs] = {}

    def of(self, key: Key) -> Costs:
        known = self._known.get(key)
        if known is None:
            survey = self.survey
            tokens = survey.tokens_of(key)
            values = _own_values(survey, survey.parts[key], tokens)
            for unit in survey.restated.get(key, ()):
                values[unit] = -_SAID * tokens[unit]
            known = self._known[key] = Costs(tokens, array("d", values))
        return known

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
        sections: dict[int, int] = {}
        groups: dict[int, Sequence[int]] = {}
        unit_keys: list[tuple[int, ...]] = []
        chosen: list[int] = []
        for key in keys:
            costs, text, offset = self.of(key), survey.texts[key], len(tokens)
            chosen += (offset + unit for unit in fixed.get(key, ())) if fixed else ()
            tokens += costs.tokens
            values += costs.values
            unit_keys += survey.keys[key]
            for unit, (start, stop) in text.pieces.items():
                pieces[offset + unit] = offset + start, offset + stop
            survey.known.lay_out(text)
            for unit, stop in text.sections.items() if text.sections else ():
                sections[offset + unit] = offset + stop
            for unit, lines in text.groups.items():
                groups[offset + unit] = [offset + line for line in lines]
        return Candidates(
            tokens, values, unit_keys, stretches, gap, pieces, chosen, len(survey.facts), headings, sections, groups
        )


_FIRST: Final[WeakKeyDictionary[Counter, Priced | None]] = WeakKeyDictionary()
"""By its counter, what was read of a conversation first. What passes make of that in between is not asked for again."""


def remember(count: Counter) -> None:
    """From now on remember what is read with this counter. It lives as long as that does, and takes as much again."""
    _FIRST.setdefault(count, None)


def priced_of(messages: Sequence[Message], count: Counter) -> Priced:
    """Return the costs and worth of a conversation's units: read anew, unless they are remembered."""
    known = _FIRST.get(count)
    if known is not None and [*known.survey.messages] == [*messages]:
        return known
    found = Priced(Survey(messages, count))
    if known is None and count in _FIRST:
        _FIRST[count] = found
    return found


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
    """The places of each part's units among those of all. A part with an opening leaves no marker without any."""
    stretches: list[Stretch] = []
    start = 0
    for key in keys:
        stop = start + len(survey.bodies[key])
        stretches.append(Stretch(start, stop, survey.gaps[key], openings.get(key) if openings else None))
        start = stop
    return stretches


def _own_values(survey: Survey, part: Part, tokens: Sequence[int]) -> list[float]:
    """Return the worth of each unit of a part besides its facts."""
    if part.key[:2] in survey.outdated:
        return [0.0] * len(tokens)
    recency = (1 + survey.age(part.key)) ** -0.3
    own, is_said = survey.own.get(part.key[:2], ()), part.is_said
    if own is None or own or (is_said and survey.is_talk):
        # Lists of words in many languages, which most texts do not ask for.
        from .instructions import is_settled, weight_of
    if own is None:
        bodies = survey.units[part.key].bodies
        return [_REQUEST * weight_of(body) * count for body, count in zip(bodies, tokens, strict=True)]
    # Of most parts what is known of their lines is enough.
    bodies = survey.units[part.key].bodies if is_said or own else ()
    error = _FAILURE if part.is_result and has_failed(part.block) else _ERROR
    # Earlier runs chose what is left of a text that was cut.
    base = _SAID if is_said or survey.gaps[part.key] else _REST
    kinds = bytes(map(survey.known.kinds.__getitem__, survey.bodies[part.key]))
    each, besides = (0.0, base, base, base), (0.0, 0.0, error, _DEFINED)  # By the kind of a line.
    values = [(each[kind] * count + besides[kind]) * recency for kind, count in zip(kinds, tokens, strict=True)]
    if is_said:
        for unit, body in enumerate(bodies):
            if kinds[unit] == Kind.PLAIN and DECISION.search(body):
                values[unit] = (base * tokens[unit] + _DECIDED) * recency
            if survey.is_talk and is_settled(body):
                values[unit] += _SETTLED * tokens[unit]
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


class Shortened(Struct, frozen=True):
    """Fit into a budget: texts in their places, where they were long, and summaries of the others, one a run.

    `tokens` are those of both; where not even markers fit they are more than the budget.
    """

    texts: dict[Key, Text]
    summaries: Sequence[str]
    tokens: int


class SharedBudget:
    """Parts that share a budget, to be shortened to as many budgets as wanted.

    `keys` are shortened in their places, where each needs a marker at least; the parts of `sections` become lines of
    one text. `tokens` is what all of them take whole. Units that are `fixed` stay whatever the budget. A gap is taken
    to cost `least_saved` tokens more than its marker. What `unsaid` parts say counts for nothing: it may go as well.
    `margin` is what a token is worth in the end, if that is known.
    """

    def __init__(
        self,
        priced: Priced,
        keys: Iterable[Key],
        sections: Sections | None = None,
        fixed: Mapping[Key, Sequence[int]] | None = None,
        least_saved: int = 0,
        unsaid: Set[Key] = frozenset(),
        margin: float | None = None,
    ) -> None:
        self._survey = survey = priced.survey
        self._priced, self._sections, self._fixed, self._margin = priced, sections, fixed, margin
        placed = sorted(set(keys))
        tokens = {key: survey.count(survey.parts[key].content) for key in placed}
        marker = marker_tokens(survey) + least_saved
        # A text hardly longer than a marker is not worth one.
        self._long = [key for key in placed if tokens[key] > 2 * marker]
        self._gap = marker if least_saved else further_tokens(survey)
        self._firsts = len(self._long) * (marker - self._gap)
        """What the first marker of each text takes besides."""
        told, openings = (sections.keys, sections.openings) if sections else ([], {})
        among = {*self._long, *told, *(sections.unsaid if sections else ()), *unsaid}
        self._said = survey.said_by(key for key in survey.parts if key not in among)
        self._short = sum(tokens.values()) - sum(tokens[key] for key in self._long)
        self._keys = [*told, *self._long]
        self._stretches = stretches_of(survey, self._keys, openings)
        self._told = len(told)
        self._candidates: Candidates | None = None
        self._known: dict[Key, tuple[bytes, Text]] = {}
        self.tokens = sum(tokens.values()) + (sections.tokens if sections else 0)

    def within(self, budget: int) -> Shortened:
        """As much of the parts as fits into so many tokens, shared so that most of what later work needs stays."""
        if self._sections is None and self.tokens <= budget:
            return Shortened({}, (), self.tokens)
        choice = self._choice()
        found = Shortened({}, (), 0)

        def measure() -> int:
            nonlocal found  # What is measured last is what is chosen in the end.
            found = self._read(choice)
            return found.tokens

        fit(choice, budget - self._short, measure)
        return replace(found, tokens=self._short + found.tokens)

    def value_at_least(self, least: float) -> dict[Key, Text]:
        """Texts in their places without what is worth less: facts and lines that later work may need, per token."""
        choice = self._choice(least)
        choice.fill(None)
        return rendered(self._survey, self._long, self._placed, choice)

    def kept_within(self, budget: int) -> tuple[dict[Key, int], float]:
        """About how many tokens stay of each part within a budget, and what the last of them adds for each token."""
        choice = self._choice()
        choice.fill(budget - self._short - self._firsts)
        tokens = choice.all.tokens
        kept = {
            key: sum(compress(tokens[stretch.start : stretch.stop], choice.kept[stretch.start : stretch.stop]))
            for key, stretch in zip(self._keys, self._stretches, strict=True)
        }
        return kept, choice.density

    @property
    def _placed(self) -> list[Stretch]:
        return self._stretches[self._told :]

    def _choice(self, least: float = 0.0) -> Choice:
        if self._candidates is None:
            self._candidates = self._priced.candidates(
                self._keys, self._stretches, self._gap, self._fixed, self._sections.headings if self._sections else ()
            )
        return Choice(self._candidates, self._said.copy(), least, least or self._margin)

    def _read(self, choice: Choice) -> Shortened:
        """Return the chosen texts, and their tokens."""
        count = self._survey.count
        texts = dict(self._texts(choice))
        summaries = self._sections.written(self._stretches[: self._told], choice.kept) if self._sections else ()
        return Shortened(texts, summaries, sum(map(count, summaries)) + sum(map(count, texts.values())))

    def _texts(self, choice: Choice) -> Iterator[tuple[Key, Text]]:
        """The parts in their places; from one budget to the next most of them stay as they are."""
        for key, stretch in zip(self._long, self._placed, strict=True):
            kept = bytes(choice.kept[stretch.start : stretch.stop])
            known = self._known.get(key)
            if known is None or known[0] != kept:
                known = self._known[key] = kept, text_with(self._survey, key, kept, is_whole=not stretch.gaps)
            yield key, known[1]


def shorten_to_budget(survey: Survey, keys: Iterable[Key], budget: int) -> dict[Key, str]:
    """Parts that have at most `budget` tokens together, shared so that most of what later work needs stays.

    Where not even a marker for each fits, each is a marker, or as it was where that is no larger.
    """
    chosen = set(keys)
    texts = SharedBudget(Priced(survey), chosen).within(budget).texts
    return {key: str(texts.get(key, survey.parts[key].content)) for key in chosen}


def summarize(survey: Survey, first: int, stop: int, budget: int) -> str:
    """Lines of the messages at positions `[first, stop)`, as one of the `summaries`."""
    return "".join(summaries(survey, [range(first, stop)], budget))


def summaries(survey: Survey, runs: Sequence[Collection[int]], budget: int) -> Sequence[str]:
    """Lines of the messages in each run of positions; all of them have at most `budget` tokens with their headings.

    What the messages outside say, and what the user wrote, counts as said. Empty where not even that fits that there is
    no line.
    """
    blocks = [addresses(survey.messages, run) for run in runs]
    found = SharedBudget(Priced(survey), (), Sections(survey, blocks)).within(budget)
    return found.summaries if found.tokens <= budget else ()
