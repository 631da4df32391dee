"""Texts of a conversation that share one budget of tokens: each shortened in its place, or told as one summary."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set

from msgspec import Struct
from msgspec.structs import replace

from ..core.values import Text
from .candidates import Candidates, Stretch
from .choice import Choice
from .fitting import fit
from .parts import Key
from .shorten import Priced, further_tokens, marker_tokens, rendered, stretches_of, text_with
from .summary import Sections
from .survey import Survey


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
    """

    def __init__(
        self,
        priced: Priced,
        keys: Iterable[Key],
        sections: Sections | None = None,
        fixed: Mapping[Key, Sequence[int]] | None = None,
        least_saved: int = 0,
        unsaid: Set[Key] = frozenset(),
    ) -> None:
        self._survey = survey = priced.survey
        self._priced, self._sections, self._fixed = priced, sections, fixed
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
        self._filled: tuple[int, Choice] | None = None
        """The last choice that was only valued, and the budget it was valued for."""
        self.tokens = sum(tokens.values()) + (sections.tokens if sections else 0)

    def within(self, budget: int) -> Shortened:
        """As much of the parts as fits into so many tokens, shared so that most of what later work needs stays."""
        if self._sections is None and self.tokens <= budget:
            return Shortened({}, (), self.tokens)
        filled, self._filled = self._filled, None
        choice = filled[1] if filled is not None and filled[0] == budget else self._choice()
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

    def value_within(self, budget: int) -> float | None:
        """How many of the facts and lines that later work is expected to need fit into so many tokens, about.

        None where not even markers fit into it.
        """
        choice = self._choice()
        taken = self._short + self._firsts
        choice.fill(budget - taken)
        if choice.spent + taken > budget:
            return None
        self._filled = budget, choice
        return choice.covered.worth()

    def forget(self) -> None:
        """Hold no longer what was worked out for a budget."""
        self._filled = None

    @property
    def size(self) -> int:
        """How many units there are to choose from."""
        return sum(stretch.stop - stretch.start for stretch in self._stretches)

    @property
    def _placed(self) -> list[Stretch]:
        return self._stretches[self._told :]

    def _choice(self, least: float = 0.0) -> Choice:
        if self._candidates is None:
            self._candidates = self._priced.candidates(
                self._keys, self._stretches, self._gap, self._fixed, self._sections.headings if self._sections else ()
            )
        return Choice(self._candidates, self._said.copy(), least)

    def _read(self, choice: Choice) -> Shortened:
        """What is chosen, and the tokens of that."""
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
    found = SharedBudget(Priced(survey), (), Sections(survey, runs)).within(budget)
    return found.summaries if found.tokens <= budget else ()
