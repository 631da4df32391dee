"""Ways whose summaries models write, side by side: what each used, and in words whether they differ.

Documented in docs/json-report.md, with the rest of `condense evaluate`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

import msgspec

from ...core.wording import plural
from ...llm.summarizer import ProfileUse
from ...quality.differences import CONDENSED, FEWEST, SIZE, Compared, Verdict
from ..run.facts import Summarized
from ..run.summaries import one_summarized


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
    way: str, configuration: str, profile: str | None, prompt: str | None, used: Iterable[ProfileUse], stopped: str
) -> ModelWay:
    return ModelWay(way, configuration, profile, prompt, [one_summarized(each) for each in used], stopped or None)


def by_pair(differences: Sequence[Compared]) -> Iterator[list[Compared]]:
    """What belongs together: one way in one setting, less the way that it is compared with."""
    for _, each in groupby(differences, key=lambda one: (one.way, one.against, one.setting)):
        yield list(each)


def in_words(pair: Sequence[Compared]) -> Iterator[str]:
    """Whether a way differs from another by more than chance, in sentences."""
    way, against = pair[0].way, pair[0].against
    if all(one.verdict is Verdict.TOO_FEW for one in pair):
        few = max(one.units for one in pair)
        units = f"{plural(few, pair[0].unit.removesuffix('s'))} {'is' if few == 1 else 'are'} too few to tell"
        yield f"{way} and {against}: {units} whether they differ by more than chance; at least {FEWEST} are needed."
        return
    for verdict, more, larger in ((Verdict.MORE, "more", "larger"), (Verdict.LESS, "less", "smaller")):
        found = {one.measure: f"({points(one.mean)} points)" for one in pair if one.verdict is verdict}
        often, size = found.pop(CONDENSED, ""), found.pop(SIZE, "")
        if often:
            yield f"{way} condenses {more} often than {against}; significant {often}."
        if found:
            named = _listed([f"{label(measure)} {by}" for measure, by in found.items()])
            yield f"{way} keeps {more} than {against}; significant: {named}."
        if size:
            yield f"{way} leaves a {larger} result than {against}; significant {size}."
    same = [label(one.measure) for one in pair if one.verdict is Verdict.CHANCE]
    if same:
        yield f"{way} and {against} do not differ significantly in {_listed(same)}."


def label(measure: str) -> str:
    return measure.replace("_", " ")


def points(share: float) -> str:
    """A difference of shares in points of percent, with its sign."""
    shown = f"{100 * share:+.1f}".replace("-", "−")
    return "0.0" if shown[1:] == "0.0" else shown


def _listed(names: Sequence[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last
