"""The facts of `condense evaluate`: measures of configurations on transcripts.

Documented in docs/json-report.md; the measures in docs/quality.md.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterable, Sequence

import msgspec

from ...core.version import __version__
from ...llm.summarizer import ProfileUse
from ...quality.cases import LeftOut
from ...quality.curves import Mean, Setting, curve, recall_at, settings_of
from ...quality.differences import Compared, compare
from ...quality.evaluation import Cut, Evaluated
from ...quality.recall import RECALLS
from ...quality.witnesses import Shares
from ..as_json import SHAPE
from ..run.facts import Summarized
from ..run.summaries import one_summarized


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


def model_way(
    way: str, configuration: str, profile: str | None, prompt: str | None, used: Iterable[ProfileUse], stopped: str
) -> ModelWay:
    return ModelWay(way, configuration, profile, prompt, [one_summarized(each) for each in used], stopped or None)


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
