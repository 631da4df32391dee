"""Format tables of all measures, for ways measured on groups of sessions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from condense_cli import __version__
from condense_cli.config.preset_folders import preset_names
from condense_cli.core.wording import plural
from condense_cli.quality.differences import Setting, settings_of
from condense_cli.quality.evaluation import Cut, Evaluated

SIZES: Final = (0.5, 0.3)
OWN: Final = "balanced"
SHORT: Final = ("facts", "edits", "old_strings", "bits", "grounding")
"""Measures in the table by kind of client."""

_NEAR: Final = 0.03
"""A way that leaves more than this above a size is not compared there."""

Groups = Mapping[str, Mapping[str, Sequence[Evaluated]]]


def tables(groups: Groups, measures: Sequence[str], versions: Mapping[str, str] | None = None) -> str:
    """Format all ways by every measure, at cuts that each could do; then a preset and the best of others, by group."""
    sessions = {name: [one for found in some.values() for one in found] for name, some in groups.items()}
    cuts = {name: [cut for one in some for cut in one.cuts] for name, some in sessions.items()}
    projects = {project for some in groups.values() for project in some}
    by_all = [cut for some in cuts.values() for cut in some if all(point.recall for point in cut.points)]
    known = ", ".join(f"{name} {version}" for name, version in {"condense": __version__, **(versions or {})}.items())
    measured = f"{plural(sum(map(len, sessions.values())), 'session')} of {plural(len(projects), 'project')}"
    lines = [
        f"Measured on {datetime.now(UTC).date()} with {known}, on {measured}. Percent at "
        f"{' / '.join(f'{100 * size:.0f}%' for size in SIZES)} of the tokens; bold is the best of those that got "
        "there. Only cuts that count: protected content alone is at most half the size. First those where every way "
        "was measured:",
        "",
        *_every_measure(by_all, measures),
    ]
    if len(cuts) > 1:
        wanted = [measure for measure in SHORT if measure in measures]
        lines += ["", "All cuts that count, by kind of client:", ""]
        lines += [f"| kind of client | way | {' | '.join(wanted)} |", f"| --- | --- |{' ---: |' * len(wanted)}"]
        lines += [row for name, some in cuts.items() if some for row in _by_kind(name, some, wanted)]
    return "\n".join([*lines, ""])


def _every_measure(cuts: Sequence[Cut], measures: Sequence[str]) -> Iterator[str]:
    rows = _rows(cuts)
    best = {measure: _best(rows, measure) for measure in measures}
    yield f"| way | size | {' | '.join(measures)} |"
    yield f"| --- | ---: |{' ---: |' * len(measures)}"
    for row in rows:
        sizes = " / ".join(f"{100 * one.size:.0f}" for one in row)
        yield f"| {_name(row)} | {sizes} | {' | '.join(_cells(row, measure, best[measure]) for measure in measures)} |"
    asked = (" / ".join(dict.fromkeys(_asked(rows, measure))) for measure in measures)
    yield f"| cuts with needs | | {' | '.join(asked)} |"


def _asked(rows: Sequence[Sequence[Setting]], measure: str) -> Iterator[str]:
    for number in range(len(SIZES)):
        yield str(max(mean.cuts if (mean := row[number].mean(measure)) else 0 for row in rows))


def _by_kind(name: str, cuts: Sequence[Cut], measures: Sequence[str]) -> Iterator[str]:
    """Yield a preset on one kind of sessions, and by each measure the best non-preset."""
    rows = _rows(cuts)
    presets = preset_names()
    numbers = " / ".join(dict.fromkeys(str(len(counted(cuts, size))) for size in SIZES))
    for row in rows:
        if row[0].way == OWN:
            yield f"| {name} ({numbers}) | {OWN} | {' | '.join(_cells(row, measure) for measure in measures)} |"
    others = [row for row in rows if row[0].way not in presets]
    cells = (" / ".join(map(_percent, _best(others, measure))) for measure in measures)
    yield f"| | the best of the others | {' | '.join(cells)} |"


def counted(cuts: Sequence[Cut], size: float) -> list[Cut]:
    """Drop cuts where half of this size is not enough for content that stays at any size."""
    return [cut for cut in cuts if size not in cut.crowded]


def _rows(cuts: Sequence[Cut]) -> list[list[Setting]]:
    """Return for each way the setting for each size; without targets, the nearest."""
    by_size = [settings_of(counted(cuts, size)) for size in SIZES]
    ways = dict.fromkeys(setting.way for settings in by_size for setting in settings)
    return [[_setting_for(size, way, some) for size, some in zip(SIZES, by_size, strict=True)] for way in ways]


def _setting_for(size: float, way: str, measured: Sequence[Setting]) -> Setting:
    settings = [setting for setting in measured if setting.way == way]
    with_target = (setting for setting in settings if setting.budget == size)
    return next(with_target, None) or min(settings, key=lambda setting: abs(setting.size - size))


def _name(row: Sequence[Setting]) -> str:
    settings = dict.fromkeys(one.setting for one in row if one.budget is None)
    return f"{row[0].way}, {' / '.join(settings)}" if settings else row[0].way


def _best(rows: Sequence[Sequence[Setting]], measure: str) -> list[float | None]:
    """Return the best share at each size among those that reach it."""
    found = []
    for number, size in enumerate(SIZES):
        shares = [_share(row[number], measure) for row in rows if row[number].size <= size + _NEAR]
        found.append(max((share for share in shares if share is not None), default=None))
    return found


def _cells(row: Sequence[Setting], measure: str, best: Sequence[float | None] = (None,) * len(SIZES)) -> str:
    cells = []
    for one, size, most in zip(row, SIZES, best, strict=True):
        share = _share(one, measure)
        is_best = share is not None and share == most and one.size <= size + _NEAR
        cells.append(f"**{_percent(share)}**" if is_best else _percent(share))
    return " / ".join(cells)


def _share(setting: Setting, measure: str) -> float | None:
    mean = setting.mean(measure)
    return mean.recall if mean else None


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.0f}"
