"""The facts and the report of `condense evaluate`: measures of configurations on transcripts.

Documented in docs/json-report.md; the measures in docs/quality.md.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final

import msgspec

from ..core.version import __version__
from ..core.wording import plural
from ..quality.cases import LeftOut
from ..quality.differences import (
    CONDENSED,
    CONFIDENCE,
    FEWEST,
    SIZE,
    Compared,
    Mean,
    Setting,
    Verdict,
    compare,
    curve,
    recall_at,
    settings_of,
)
from ..quality.evaluation import Cut, Evaluated
from ..quality.recall import RECALLS
from ..quality.witnesses import Shares
from .costs import dollars
from .counted import OF_SEVERAL
from .run.facts import Summarized
from .run.sections import known_cost
from .sections import BLANK, SHAPE, Part, Sentence, Table


class ModelWay(msgspec.Struct, frozen=True):
    """A way, by its parts: null is the profile that the configuration names, and condense's own prompt.

    `summaries` are sums over all cuts and settings; `stopped` says why it was tried no further, or is null.
    """

    way: str
    configuration: str
    profile: str | None
    prompt: str | None
    summaries: list[Summarized]
    stopped: str | None


class AtSize(msgspec.Struct, frozen=True):
    """Recalls of a way at a size, from 0 to 1; null if it does not get so small, or nothing was needed."""

    way: str
    size: float
    facts: float | None
    edits: float | None
    files: float | None
    witnesses: Shares = {}

    def share(self, measure: str) -> float | None:
        found: float | None = getattr(self, measure) if measure in RECALLS else self.witnesses.get(measure)
        return found


class Curve(msgspec.Struct, frozen=True):
    """The means of a way, from the smallest size on; the last is the untouched conversation."""

    way: str
    facts: list[Mean]
    edits: list[Mean]
    files: list[Mean]
    witnesses: dict[str, list[Mean]] = {}

    def points(self, measure: str) -> list[Mean]:
        found: list[Mean] = getattr(self, measure) if measure in RECALLS else self.witnesses.get(measure, [])
        return found


class Summary(msgspec.Struct, frozen=True):
    """Sums of needed items, and mean shares of those kept: over all cuts of one transcript, or of all transcripts."""

    cuts: int
    tokens: int
    facts: int
    lines: int
    files: int
    settings: list[Setting]
    at_size: list[AtSize]
    curves: list[Curve]


class Measured(msgspec.Struct, frozen=True):
    """One transcript: its means over all cuts, every cut, and what was left out."""

    name: str
    format: str
    tokens: int
    summary: Summary
    cuts: list[Cut]
    left_out: list[LeftOut]


class NotRead(msgspec.Struct, frozen=True):
    name: str
    reason: str


class Evaluation(msgspec.Struct, frozen=True):
    """`ways` are all that was measured; those of `compared` are there to compare the others with. `measures` are those
    that tables and pictures show. `models` are the ways whose summaries models wrote, `differences` those between the
    first of them and every other way."""

    version: int
    condense: str
    budgets: list[float]
    cuts: list[float]
    ways: list[str]
    compared: list[str]
    total: Summary
    transcripts: list[Measured]
    unread: list[NotRead]
    measures: list[str]
    models: list[ModelWay] = []
    differences: list[Compared] = []

    def left_out(self) -> list[tuple[str, int]]:
        """Return the reasons why transcripts and cuts were left out, with their numbers."""
        reasons: Tally[str] = Tally()
        for transcript in self.transcripts:
            for left in transcript.left_out:
                # The reason of a whole transcript names its size, which differs from one to the next.
                reasons[left.reason if left.at is not None else "the transcript is too small for --min-tokens"] += 1
        return reasons.most_common()


def build(
    evaluated: Sequence[Evaluated],
    unread: Sequence[tuple[str, str]],
    *,
    ways: Sequence[str],
    compared: Sequence[str],
    budgets: Sequence[float],
    cuts: Sequence[float],
    measures: Sequence[str] = RECALLS,
    models: Sequence[ModelWay] = (),
) -> Evaluation:
    """Return the facts. `unread` are names and reasons; `compared` the `ways` that are no configurations; the first of
    `models` is compared with the others.
    """
    first = models[0].way if models else ""
    return Evaluation(
        SHAPE,
        __version__,
        list(budgets),
        list(cuts),
        list(ways),
        list(compared),
        _summary([cut for found in evaluated for cut in found.cuts], budgets),
        [measured(found, budgets) for found in evaluated],
        [NotRead(name, reason) for name, reason in unread],
        list(measures),
        list(models),
        [one for way in ways if models and way != first for one in compare(evaluated, way, first, measures)],
    )


def measured(found: Evaluated, budgets: Sequence[float]) -> Measured:
    """One transcript with its means."""
    return Measured(
        found.name,
        found.format,
        found.tokens,
        _summary(found.cuts, budgets),
        list(found.cuts),
        list(found.left_out),
    )


def _summary(cuts: Iterable[Cut], budgets: Sequence[float]) -> Summary:
    cuts = list(cuts)
    settings = settings_of(cuts)
    ways = list(dict.fromkeys(setting.way for setting in settings))
    names = list(dict.fromkeys(name for setting in settings for name in setting.witnesses))
    return Summary(
        len(cuts),
        sum(cut.tokens for cut in cuts),
        sum(cut.facts for cut in cuts),
        sum(cut.lines for cut in cuts),
        sum(cut.files for cut in cuts),
        settings,
        [
            AtSize(
                way,
                size,
                facts=recall_at(settings, way, "facts", size),
                edits=recall_at(settings, way, "edits", size),
                files=recall_at(settings, way, "files", size),
                witnesses={name: recall_at(settings, way, name, size) for name in names},
            )
            for way in ways
            for size in budgets
        ],
        [
            Curve(
                way,
                facts=curve(settings, way, "facts"),
                edits=curve(settings, way, "edits"),
                files=curve(settings, way, "files"),
                witnesses={name: curve(settings, way, name) for name in names},
            )
            for way in ways
        ],
    )


NONE: Final = "–"
_MOST_TRANSCRIPTS: Final = 40
_MOST_UNREAD: Final = 5
_MORE_OR_CHANCE: Final = {
    Verdict.MORE: "more than chance",
    Verdict.LESS: "more than chance",
    Verdict.CHANCE: "chance",
    Verdict.TOO_FEW: "too few",
}


def sections(found: Evaluation) -> Iterator[Part]:
    yield Sentence(headline(found), "bold")
    for part in body(found):
        if isinstance(part, Table):
            yield BLANK
        yield part
    yield BLANK
    yield from closing([*notes(found)], found.unread)


def body(found: Evaluation, *, has_all: bool = False) -> Iterator[Part]:
    """Yield the tables, each followed by its verdicts. With `has_all` a single transcript has a table too."""
    if not found.total.cuts:
        return
    if found.budgets:
        yield _at_size(found)
    yield _settings(found)
    yield from (Sentence(said, "yellow") for said in _failures(found))
    if found.models:
        yield _used(found)
        yield from (Sentence(said, "yellow") for said in _stopped(found))
        for _, each in groupby(found.differences, key=lambda one: (one.way, one.against, one.setting)):
            pair = list(each)
            yield _differences(pair)
            yield from (Sentence(sentence, "bold") for sentence in _in_words(pair))
    if found.budgets and sum(bool(one.cuts) for one in found.transcripts) > (0 if has_all else 1):
        yield _transcripts(found)
        missing = sum(bool(one.cuts) for one in found.transcripts) - _MOST_TRANSCRIPTS
        if missing > 0:
            yield Sentence(f"and {missing} more, listed by --json", "dim")


def closing(notes: Sequence[str], unread: Sequence[NotRead]) -> Iterator[Sentence]:
    """Yield the notes on the figures, and the files that are not in them."""
    yield from (Sentence(sentence, "dim") for sentence in notes)
    yield from (Sentence(f"Not read: {one.reason}", "yellow") for one in unread[:_MOST_UNREAD])
    if unread[_MOST_UNREAD:]:
        yield Sentence(f"Not read: {len(unread) - _MOST_UNREAD} more, listed by --json.", "yellow")


def headline(found: Evaluation) -> str:
    total = found.total
    if not total.cuts:
        return "There is nothing to measure."
    transcripts = sum(bool(one.cuts) for one in found.transcripts)
    return (
        f"{plural(transcripts, 'transcript')}, {plural(total.cuts, 'cut')}. Looked for: "
        f"{plural(total.facts, 'fact')}, {plural(total.lines, 'line')} to edit and {plural(total.files, 'file')}."
    )


def _failures(found: Evaluation) -> Iterator[str]:
    """Say which ways failed, how often and why first. Ways that were stopped are left out: their reason is told."""
    stopped = {model.way for model in found.models if model.stopped is not None}
    for way in found.ways:
        points = [point for one in found.transcripts for cut in one.cuts for point in cut.points if point.way == way]
        why = [point.error for point in points if point.error]
        if why and way not in stopped:
            yield f"{way} failed in {len(why)} of {plural(len(points), 'run')}: {why[0]}"


def percent(share: float | None) -> str:
    return NONE if share is None else f"{100 * share:.1f}"


def _share_of_size(share: float) -> str:
    return f"{100 * share:.4g}%"


def _at_size(found: Evaluation) -> Table:
    """Return the measures of each way at the same size, side by side."""
    sizes = [_share_of_size(size) for size in found.budgets]
    rows = [
        [way, *(percent(at.share(name)) for name in found.measures for at in found.total.at_size if at.way == way)]
        for way in found.ways
    ]
    columns = ["at the same size", *sizes * len(found.measures)]
    return Table(columns, rows, range(1, len(columns)), heads=[(measure, len(sizes)) for measure in found.measures])


def _settings(found: Evaluation) -> Table:
    settings = found.total.settings
    cells: dict[str, list[str]] = {
        "setting": [f"{setting.way}, {setting.setting}" for setting in settings],
        "size": [percent(setting.size) for setting in settings],
        **{
            measure: [percent(mean.recall if (mean := setting.mean(measure)) else None) for setting in settings]
            for measure in found.measures
        },
    }
    if "facts" in found.measures:
        cells["named"] = [percent(setting.named) for setting in settings]
    if any(setting.failed for setting in settings):
        cells["failed"] = [str(setting.failed) for setting in settings]
    cells["seconds"] = [f"{setting.seconds:.1f}" for setting in settings]
    rows = list(zip(*cells.values(), strict=True))
    return Table(list(cells), rows, range(1, len(cells)), title="Settings", splits=True)


def _transcripts(found: Evaluation) -> Table:
    """Return the first measure of every transcript at the size in the middle. The last ways give way."""
    size = sorted(found.budgets)[len(found.budgets) // 2]
    measure = found.measures[0]
    rows = []
    for one in [one for one in found.transcripts if one.cuts][:_MOST_TRANSCRIPTS]:
        at_size = {at.way: at.share(measure) for at in one.summary.at_size if at.size == size}
        recalls = (percent(at_size.get(way)) for way in found.ways)
        rows.append([one.name, f"{one.tokens:,}", f"{one.summary.facts:,}", *recalls])
    columns = [f"{measure} at {_share_of_size(size)}", "tokens", "asked", *found.ways]
    return Table(
        columns,
        rows,
        range(1, len(columns)),
        title="Transcripts",
        is_path=True,
        gives_way=range(len(columns) - 1, 2, -1),
    )


_MEANINGS: Final = {
    "facts": "names and numbers that the assistant wrote after the cut",
    "edits": "lines that later edits had to match",
    "files": "files whose final state is still known",
    "substrings": "facts, including those inside longer ones",
    "old_strings": "complete texts that later edits replaced",
    "bits": "how much of the information about the next words and calls is left, by a compressor",
    "bits_calls": "bits of calls only",
    "bits_words": "bits of words only",
    "grounding": "of the next 20 calls, those that find all they need",
    "rereads": "tokens of used files that need not be read again",
    "rules": "the user's sentences after five rounds of condensing",
}


def notes(found: Evaluation) -> Iterator[str]:
    if found.total.cuts:
        meanings = [f"{measure}: {_MEANINGS[measure]}" for measure in found.measures]
        if "facts" in found.measures:
            meanings.append("named: facts found only in a ledger or in a summary")
        seconds = "elapsed, calls included" if found.models else "of processor time"
        yield "Percent still present in the condensed part, averaged over all cuts."
        yield f"{'; '.join(meanings)}; size: percent of the tokens; seconds: {seconds}. {OF_SEVERAL}"
        if any(at.share(measure) is None for at in found.total.at_size for measure in found.measures):
            yield f"{NONE} means that this method does not get so small, or nothing was looked for."
        yield from _notes_on_models(found)
    for reason, number in found.left_out():
        yield f"Left out ({number}): {reason}."


# --- Models that write summaries -------------------------------------------------------------------------------------


def _stopped(found: Evaluation) -> Iterator[str]:
    """Say which ways were tried no further, and why."""
    for model in found.models:
        if model.stopped is not None:
            cuts = max((setting.cuts for setting in found.total.settings if setting.way == model.way), default=0)
            yield f"{model.way} was stopped after {plural(cuts, 'cut')} of {found.total.cuts}: {model.stopped}"


def _used(found: Evaluation) -> Table:
    """Return the calls, tokens and cost of the summaries of each way."""
    counts = ("written", "cached", "refused", "calls", "tokens")
    columns = ["summaries", *counts, "cost", "seconds"]
    rows = []
    for model in found.models:
        sums = [f"{sum(getattr(one, count) for one in model.summaries):,}" for count in counts]
        seconds = sum(setting.seconds for setting in found.total.settings if setting.way == model.way)
        rows.append([model.way, *sums, _cost(model.summaries), f"{seconds:.1f}"])
    return Table(columns, rows, range(1, len(columns)), title="What the summaries cost")


def _cost(each: Sequence[Summarized]) -> str:
    known = known_cost(each)
    if not known and any(one.cost is None for one in each):
        return dollars(None)
    return f"{'at least ' if any(one.at_least for one in each) else ''}{dollars(known)}"


def _differences(pair: Sequence[Compared]) -> Table:
    """Return the differences of two ways, by measure."""
    first = pair[0]
    rows = [
        [
            _label(one.measure),
            _points(one.mean),
            NONE if one.low is None or one.high is None else f"{_points(one.low)} to {_points(one.high)}",
            str(one.units),
            _MORE_OR_CHANCE[one.verdict],
        ]
        for one in pair
    ]
    return Table(
        ["measure", "points", f"{100 * CONFIDENCE:.0f}% interval", first.unit, ""],
        rows,
        range(1, 4),
        title=f"{first.way} less {first.against}, {first.setting}",
        is_titled=True,
    )


def _notes_on_models(found: Evaluation) -> Iterator[str]:
    if found.models and not any(model.summaries for model in found.models):
        yield "No summary was requested, so the results are the same. A preset such as max writes summaries."
    if any(one.cached for model in found.models for one in model.summaries):
        yield "Cached answers cost nothing and take no time; --no-cache measures without the cache."
    if found.differences:
        intervals = sum(one.low is not None for one in found.differences)
        yield (
            "Differences compare the same cuts, in percentage points. facts or named: facts that are there, or "
            "that a summary or ledger names; condensed: cuts where summaries were written. "
            f"Intervals: bootstrap over transcripts, or over the cuts of a single one. About one in twenty "
            f"excludes 0 by chance alone; there are {intervals} here."
        )


def _in_words(pair: Sequence[Compared]) -> Iterator[str]:
    """Say whether a way differs from another by more than chance."""
    way, against = pair[0].way, pair[0].against
    if all(one.verdict is Verdict.TOO_FEW for one in pair):
        few = max(one.units for one in pair)
        units = f"{plural(few, pair[0].unit.removesuffix('s'))} {'is' if few == 1 else 'are'} too few to tell"
        yield f"{way} and {against}: {units} whether they differ by more than chance; at least {FEWEST} are needed."
        return
    for verdict, more, larger in ((Verdict.MORE, "more", "larger"), (Verdict.LESS, "less", "smaller")):
        found = {one.measure: f"({_points(one.mean)} points)" for one in pair if one.verdict is verdict}
        often, size = found.pop(CONDENSED, ""), found.pop(SIZE, "")
        if often:
            yield f"{way} condenses {more} often than {against}; significant {often}."
        if found:
            named = _listed([f"{_label(measure)} {by}" for measure, by in found.items()])
            yield f"{way} keeps {more} than {against}; significant: {named}."
        if size:
            yield f"{way} leaves a {larger} result than {against}; significant {size}."
    same = [_label(one.measure) for one in pair if one.verdict is Verdict.CHANCE]
    if same:
        yield f"{way} and {against} do not differ significantly in {_listed(same)}."


def _label(measure: str) -> str:
    return measure.replace("_", " ")


def _points(share: float) -> str:
    """Return a difference of shares in percentage points, with its sign."""
    shown = f"{100 * share:+.1f}".replace("-", "−")
    return "0.0" if shown[1:] == "0.0" else shown


def _listed(names: Sequence[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last
