"""Ways whose summaries models write, side by side: what each used, and in words whether they differ.

Documented in docs/json-report.md, with the rest of `condense evaluate`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

import msgspec

from ..llm.summarizer import Used
from ..quality.differences import CONDENSED, SIZE, Compared
from ..quality.paired import FEWEST, Verdict
from .facts import Summarized
from .summaries import one_summarized


class ModelWay(msgspec.Struct, frozen=True):
    """A way, by what it is made of: null is the profile that the configuration names, and condense's own prompt.

    `summaries` are sums over all cuts and settings; `stopped` says why it was tried no further, null where it was not.
    """

    way: str
    configuration: str
    profile: str | None
    prompt: str | None
    summaries: list[Summarized]
    stopped: str | None


def model_way(
    way: str, configuration: str, profile: str | None, prompt: str | None, used: Iterable[Used], stopped: str
) -> ModelWay:
    return ModelWay(way, configuration, profile, prompt, [one_summarized(each) for each in used], stopped or None)


def by_pair(differences: Sequence[Compared]) -> Iterator[list[Compared]]:
    """What belongs together: one way in one setting, less the way that it is compared with."""
    for _, each in groupby(differences, key=lambda one: (one.way, one.against, one.setting)):
        yield list(each)


def in_words(pair: Sequence[Compared]) -> Iterator[str]:
    """Whether a way differs from another by more than chance, in sentences."""
    first = pair[0]
    known = [one for one in pair if one.verdict is not Verdict.TOO_FEW]
    if not known:
        few = max(one.units for one in pair)
        yield (
            f"{first.way} and {first.against}: {few} {first.unit} are too few to say whether they differ by more than "
            f"chance; {FEWEST} would do."
        )
        return
    for verdict, keeps in ((Verdict.MORE, "more"), (Verdict.LESS, "less")):
        for one in (one for one in known if one.verdict is verdict):
            if one.measure == CONDENSED:
                does = "condenses" if verdict is Verdict.MORE else "fails"
                yield f"{first.way} {does} at more cuts than {first.against}: more than chance ({_points(one)})."
            elif one.measure == SIZE:
                yield f"{first.way} leaves {keeps} of the size than {first.against}: more than chance ({_points(one)})."
        kept = [one for one in known if one.verdict is verdict and one.measure not in (CONDENSED, SIZE)]
        if kept:
            named = _listed([f"{label(one.measure)} ({_points(one)})" for one in kept])
            yield f"{first.way} keeps {keeps} than {first.against}, by more than chance: {named}."
    same = [label(one.measure) for one in known if one.verdict is Verdict.CHANCE]
    if same:
        yield f"{first.way} and {first.against} are no more different than chance in {_listed(same)}."


def label(measure: str) -> str:
    return measure.replace("_", " ")


def points(share: float) -> str:
    """A difference of shares in points of percent, with its sign."""
    return f"{100 * share:+.1f}".replace("-", "−")


def _points(one: Compared) -> str:
    return f"{points(one.mean)} points"


def _listed(names: Sequence[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last
