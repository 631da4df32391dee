"""Measure ways to condense at every cut of a transcript, and predict what a condensed conversation keeps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import accumulate, chain
from math import sqrt
from statistics import fmean, median, quantiles
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ..core.transcript import Message, Transcript, cut_before
from ..errors import CondenseError, GoneError, StoppedError
from ..extractive.reading import Reading
from ..extractive.survey import Survey
from ..extractive.weights import OVERSTATED
from ..lossless.decode import decode
from ..tokens.counting import Counter
from ..tokens.factor import Factor, factor_of
from .cases import SMALLEST, Case, LeftOut, Way, cases_of
from .recall import Recall
from .witnesses import Condensed, Shares

ROUNDS: Final = 5


def after_rounds(case: Case, condense: Callable[[Case], Sequence[Message]], budget: float | None) -> list[Message]:
    """Condense the part before a cut in five rounds, each time the rest so far together with what came since.

    With a `budget`, the share of the tokens before the cut that all rounds condense to, the first round begins when
    the conversation has reached it. All rounds bring equally many messages.
    """
    messages = case.before.messages
    start = _reached(case, budget) if budget else 0
    kept: Sequence[Message] = messages[:start]
    for stop in _stops(messages, start):
        before = replace(case.before, messages=decode((*kept, *messages[start:stop])).messages)
        kept = condense(Case(before, case.questions, case.count, case.at, whole=case.tokens))
        start = stop
    return list(kept)


def _reached(case: Case, budget: float) -> int:
    """Count the messages until a share of the tokens is reached."""
    messages = case.before.messages
    sizes = accumulate(map(case.count.message, messages))
    return cut_before(messages, sum(size <= budget * case.tokens for size in sizes))


def _stops(messages: Sequence[Message], start: int) -> list[int]:
    """Return where rounds end, each after some new messages."""
    rest = len(messages) - start
    stops = (cut_before(messages, start + rest * number // ROUNDS) for number in range(1, ROUNDS + 1))
    return sorted({stop for stop in stops if stop > start})


BUDGETS: Final = (0.7, 0.5, 0.3)
CUTS: Final = (0.5, 0.75)

AS_IS: Final = "as it is"
"""Setting of a configuration that runs without a target."""


class Point(Struct, frozen=True):
    """Result of a way at one cut: under a `budget`, the share of tokens it was held to, or in a `setting` of its
    own.

    `size` is the share of the tokens before the cut that it left. `seconds` were spent condensing, by the clock
    given; a way that failed has an `error`. `witnesses` are the shares asked for; rules are those of five rounds.
    """

    way: str
    setting: str
    budget: float | None
    tokens: int
    size: float
    recall: Recall | None
    seconds: float
    error: str = ""
    witnesses: Shares = {}

    def share(self, measure: str) -> float | None:
        """Return a recall or witness from 0 to 1; None if the cut asks for nothing."""
        recalls = self.recall.shares() if self.recall else {}
        return (recalls | self.witnesses).get(measure)


class Cut(Struct, frozen=True):
    """One cut of a transcript: the messages and tokens (its model's) before it, and what was asked of them.

    `crowded` are budgets of which half is not enough for what stays at any size.
    """

    at: float
    messages: int
    tokens: int
    facts: int
    lines: int
    files: int
    points: tuple[Point, ...]
    crowded: tuple[float, ...] = ()


class Evaluated(Struct, frozen=True):
    """A transcript with the measures of its cuts, and what was left out."""

    name: str
    format: str
    tokens: int
    cuts: tuple[Cut, ...]
    left_out: tuple[LeftOut, ...] = ()


def evaluate(
    transcript: Transcript,
    ways: Sequence[Way],
    *,
    budgets: Sequence[float] = BUDGETS,
    cuts: Sequence[float] = CUTS,
    smallest: int = SMALLEST,
    witnesses: Sequence[str] = (),
    name: str = "",
    count: Counter | None = None,
    clock: Callable[[], float] = lambda: 0.0,
    done: Callable[[float], None] = lambda share: None,
) -> Evaluated:
    """Measure the ways at every cut. `clock` returns seconds; `done` is called with the share of finished work.

    Budgets are shares of the tokens before a cut, cuts are shares of the messages, each above 0 and below 1.
    `witnesses` are names of WITNESSES, which take their time. A way that raises StoppedError gets no point there.
    """
    count = count or Counter.of(transcript)
    factor = factor_of(transcript, count)
    cases, left_out = cases_of(transcript, cuts, count, smallest, factor)
    runs = [run for way in ways for run in _runs(way, budgets)]
    found: list[Cut] = []
    for number, case in enumerate(cases):
        points: list[Point] = []
        known: list[tuple[Sequence[Message], Point]] = []
        with count.sharing():
            Reading(case.before.messages, count)  # Before any time is taken: no way reads for the others.
            for step, run in enumerate(runs):
                with suppress(StoppedError):
                    points.append(_point(case, run, factor, clock, witnesses, known))
                done((number + (step + 1) / len(runs)) / len(cases))
        asked = case.questions.asked
        found.append(
            Cut(
                at=case.at,
                messages=len(case.before.messages),
                tokens=factor.shown(case.tokens),
                facts=len(asked.facts),
                lines=len(asked.lines),
                files=len(case.questions.files),
                points=tuple(points),
                crowded=tuple(budget for budget in budgets if case.is_crowded(case.target(budget))),
            )
        )
    tokens = factor.shown(count.transcript(transcript))
    return Evaluated(name, transcript.format, tokens, tuple(found), tuple(left_out))


class _Run(Struct, frozen=True):
    way: str
    setting: str
    budget: float | None
    condense: Callable[[Case], Sequence[Message]]


def _runs(way: Way, budgets: Sequence[float]) -> list[_Run]:
    runs = [_Run(way.name, setting, None, condense) for setting, condense in way.as_is]
    if way.to_target is not None:
        runs += [_to_share(way.name, way.to_target, budget) for budget in budgets]
    return runs


def _to_share(name: str, condense: Callable[[Case, int], Sequence[Message]], budget: float) -> _Run:
    def to_share(case: Case) -> Sequence[Message]:
        return condense(case, case.target(budget))

    return _Run(name, f"to {100 * budget:.4g}%", budget, to_share)


def _point(
    case: Case,
    run: _Run,
    factor: Factor,
    clock: Callable[[], float],
    witnesses: Sequence[str],
    known: list[tuple[Sequence[Message], Point]],
) -> Point:
    """Measure a run. `known` are the messages of others: one that gives the same object is the same run."""
    started = clock()
    try:
        messages = run.condense(case)
    except (StoppedError, GoneError):
        raise
    except CondenseError as error:
        return Point(
            run.way,
            run.setting,
            run.budget,
            tokens=0,
            size=0.0,
            recall=None,
            seconds=clock() - started,
            error=error.message,
        )
    seconds = clock() - started
    same = next((point for others, point in known if others is messages), None)
    if same is not None and "rules" not in witnesses:
        return replace(same, way=run.way, setting=run.setting, budget=run.budget)
    tokens = case.size_of(messages)
    kept = Condensed(messages, case.questions)
    shares = case.witnesses(kept, [name for name in witnesses if name != "rules"])
    if "rules" in witnesses:
        shares["rules"] = _rules(case, run)
    point = Point(
        run.way,
        run.setting,
        run.budget,
        factor.shown(tokens),
        tokens / case.tokens,
        kept.recall,
        seconds if same is None else same.seconds,
        witnesses=shares,
    )
    known.append((messages, point))
    return point


def _rules(case: Case, run: _Run) -> float | None:
    """Return the share of the user's own sentences left after five rounds; None if the way cannot go on from its
    own output."""
    try:
        kept = after_rounds(case, run.condense, run.budget)
    except CondenseError:
        return None
    return case.witnesses(Condensed(kept, case.questions), ("rules",))["rules"]


_RULE: Final = 0.8
"""Share of cuts that makes a rule, if there are at least this many cuts."""
_FEWEST: Final = 10


class KeptShare(Struct, frozen=True):
    """Percent kept over cuts of transcripts: the median, and the range of eight in ten cuts.

    `facts` and `edits` are means over the cuts that asked for any; None without one.
    """

    percent: float
    low: float
    high: float
    cuts: int
    facts: float | None
    edits: float | None


def kept_by(way: str, found: Iterable[Evaluated]) -> KeptShare | None:
    """Return the share of needed items a way kept; None if nothing was needed."""
    recalls = [
        point.recall
        for one in found
        for cut in one.cuts
        for point in cut.points
        if point.way == way and point.recall is not None
    ]
    shares = [share for recall in recalls if (share := _share(recall)) is not None]
    if not shares:
        return None
    low, high = _middle(shares)
    return KeptShare(
        _percent(median(shares)),
        _percent(low),
        _percent(high),
        len(shares),
        _mean([recall.facts.share for recall in recalls]),
        _mean([recall.edits.share for recall in recalls]),
    )


def beats(way: str, other: str, found: Iterable[Evaluated]) -> bool:
    """Check if a way as a rule keeps no less than another one while it leaves no more, and sometimes keeps more."""
    pairs = []
    for cut in (cut for one in found for cut in one.cuts):
        points = {point.way: point for point in cut.points if point.recall is not None}
        mine, theirs = points.get(way), points.get(other)
        if mine and theirs and mine.tokens <= theirs.tokens and mine.recall and theirs.recall:
            pairs.append((_share(mine.recall) or 0, _share(theirs.recall) or 0))
    as_much = sum(one >= another for one, another in pairs)
    more = any(one > another for one, another in pairs)
    return more and len(pairs) >= _FEWEST and as_much >= _RULE * len(pairs)


def _share(recall: Recall) -> float | None:
    asked = recall.facts.asked + recall.edits.asked
    return (recall.facts.standing + recall.edits.standing) / asked if asked else None


def _middle(shares: Sequence[float]) -> tuple[float, float]:
    """Return the range that holds eight in ten; of few values, all."""
    if len(shares) < 10:
        return min(shares), max(shares)
    tenths = quantiles(shares, n=10, method="inclusive")
    return tenths[0], tenths[-1]


def _mean(shares: Iterable[float | None]) -> float | None:
    known = [share for share in shares if share is not None]
    return _percent(fmean(known)) if known else None


def _percent(share: float) -> float:
    return round(100 * share, 1)


_EIGHT_OF_TEN: Final = 1.2816
"""Standard deviations around the mean that hold eight in ten values of a normal distribution."""


class _Needs:
    """Facts and lines that work on a conversation is expected to need."""

    def __init__(self, messages: Sequence[Message], count: Counter) -> None:
        self._count = count
        self._survey = survey = Survey(decode(messages).messages, count)
        self._lines = _lines_of(survey)
        self.facts, self.edits = self._of(survey)

    def left_in(self, messages: Sequence[Message]) -> tuple[float, float]:
        """Return the needed facts and lines of edits that are still on a line of the original."""
        return self._of(Reading(decode(messages).messages, self._count, self._survey.known))

    def _of(self, read: Reading) -> tuple[float, float]:
        left = self._lines & _lines_of(read)
        own, weights = self._survey, self._survey.weights
        named = {fact for number in left for fact in own.known.facts[number]}
        edits = (place for place, number in enumerate(own.editable, len(own.facts)) if number in left)
        return _sum(weights, named), _sum(weights, edits)


def _lines_of(read: Reading) -> frozenset[int]:
    """Return the numbers of its lines. What is known may have those of other states, too."""
    return frozenset(chain.from_iterable(read.bodies.values()))


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
