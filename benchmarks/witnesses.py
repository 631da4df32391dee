"""Every measure of `condense evaluate` beside each other, for presets and for ways to compare with.

    python benchmarks/witnesses.py --sample 10
    python benchmarks/witnesses.py --left-out ~/.claude/projects --fitted --measures facts bits grounding
    python benchmarks/witnesses.py --sample 20 --write

Without arguments the recorded transcripts beside the project are measured, in two groups: those of projects that the
weights of the extraction were fitted to, and those of all others. `--sample` takes so many sessions of each group, from
as many projects as there are. `--write` puts the tables into docs/quality.md; `--json` has the means of each project.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import chain, zip_longest
from pathlib import Path
from typing import Final

import msgspec

import condense_cli
from condense_cli import api
from condense_cli.config.presets import load_preset
from condense_cli.core.plurals import plural
from condense_cli.errors import CondenseError
from condense_cli.many.inputs import files_in
from condense_cli.measuring import KNOWN_WAYS, configured
from condense_cli.quality.baselines import mask_but_newest
from condense_cli.quality.cases import AsIs, Way
from condense_cli.quality.curves import Setting, settings_of
from condense_cli.quality.evaluation import Cut, Evaluated, evaluate
from condense_cli.quality.witnesses.measures import MEASURES, WITNESSES
from condense_cli.storage.processes import in_order, usable_processors

PROJECT: Final = Path(__file__).resolve().parent.parent
RECORDED: Final = (PROJECT.parent / "shared" / "transcripts", PROJECT.parent / "shared" / "more-transcripts")
"""Sessions of projects that the weights were fitted to, and others."""

PAGE: Final = PROJECT / "docs" / "quality.md"
BEGIN: Final = "<!-- witnesses: written by benchmarks/witnesses.py --write -->"
END: Final = "<!-- end of the witnesses -->"

FITTED: Final = "Projects that the weights were fitted to"
LEFT_OUT: Final = "Projects that nothing was fitted to"
PRESETS: Final = ("balanced", "cost", "max", "quality")
SIZES: Final = (0.5, 0.3)
CUTS: Final = (0.6,)
_NEAR: Final = 0.03
"""Who leaves more than so much above the size is not compared there."""


def ways(options: Options) -> list[Way]:
    own = [configured(name, load_preset(name)) for name in options.presets]
    if not options.compares:
        return own
    return [*own, *KNOWN_WAYS.values(), Way("clear old results", None, tuple(map(_cleared, (20, 10, 5, 3))))]


def _cleared(keep: int) -> tuple[str, AsIs]:
    """All results but the newest go, as LangChain and the API's own context editing do it."""
    return f"keep {keep}", partial(mask_but_newest, keep=keep)


class Options(msgspec.Struct, frozen=True):
    """What is measured of each session, and whether other ways are too; it travels to other processes."""

    presets: tuple[str, ...]
    measures: tuple[str, ...]
    compares: bool = True


def measured(options: Options, path: Path) -> Evaluated | None:
    """One session; None where it cannot be read or asks for nothing."""
    try:
        transcript = api.load(path)
        witnesses = [name for name in WITNESSES if name in options.measures]
        found = evaluate(transcript, ways(options), budgets=SIZES, cuts=CUTS, witnesses=witnesses, name=str(path))
    except CondenseError:
        return None
    return found if found.cuts else None


def projects_of(paths: Sequence[Path]) -> dict[str, list[Path]]:
    """The files by project: the repository that an index beside their folder names, otherwise the folder."""
    found: dict[str, list[Path]] = {}
    for top in paths:
        known = _indexed(top / "INDEX.tsv") | _indexed(top.parent / "INDEX.tsv")
        for path in files_in(top) if top.is_dir() else [top]:
            found.setdefault(known.get(path.name, path.parent.name), []).append(path)
    return found


def folders(path: Path) -> list[Path]:
    """The folders of recorded transcripts, without what was made from others of them."""
    return sorted(each for each in path.iterdir() if each.is_dir() and each.name != "derived") if path.is_dir() else []


def _indexed(index: Path) -> dict[str, str]:
    if not index.is_file():
        return {}
    with index.open(newline="") as stream:
        return {row["file"]: row["source_repo"] for row in csv.DictReader(stream, delimiter="\t")}


def in_turns(projects: dict[str, list[Path]]) -> Iterator[tuple[str, Path]]:
    """One session of each project, then a second one of each, and so on."""
    lists = [[(name, path) for path in paths] for name, paths in sorted(projects.items())]
    yield from (each for each in chain.from_iterable(zip_longest(*lists)) if each is not None)


def measured_group(
    paths: Sequence[Path], options: Options, sample: int | None, jobs: int
) -> dict[str, list[Evaluated]]:
    """What was measured, by project."""
    found: dict[str, list[Evaluated]] = {}
    number = 0
    order = list(in_turns(projects_of(paths)))
    results = in_order(partial(measured, options), (path for _, path in order), jobs)
    for (project, path), result in zip(order, results, strict=False):
        if result is not None:
            found.setdefault(project, []).append(result)
            number += 1
            print(f"{project}: {path.name}", flush=True)
        if number == sample:
            break
    return found


def table(settings: Sequence[Setting], measures: Sequence[str], size: float) -> Iterator[str]:
    """Percent of every measure, of each way in the setting for one size; the best of those that got there is bold."""
    rows = [
        _setting_for(size, [setting for setting in settings if setting.way == way])
        for way in dict.fromkeys(setting.way for setting in settings)
    ]
    small = [row for row in rows if row.size <= size + _NEAR]
    best = {measure: max((_share(row, measure) or 0.0 for row in small), default=0.0) for measure in measures}
    yield f"| to {size:.0%} | size | {' | '.join(measures)} |"
    yield f"| --- | ---: |{' ---: |' * len(measures)}"
    for row in rows:
        name = row.way if row.budget is not None else f"{row.way}, {row.setting}"
        cells = (_cell(_share(row, measure), best[measure] if row in small else None) for measure in measures)
        yield f"| {name} | {100 * row.size:.1f} | {' | '.join(cells)} |"
    asked = (max(mean.cuts if (mean := row.mean(measure)) else 0 for row in rows) for measure in measures)
    yield f"| cuts that ask | | {' | '.join(map(str, asked))} |"


def _setting_for(size: float, settings: Sequence[Setting]) -> Setting:
    """The setting with this target; of a way that takes none the one that comes nearest."""
    with_target = (setting for setting in settings if setting.budget == size)
    return next(with_target, None) or min(settings, key=lambda setting: abs(setting.size - size))


def _share(setting: Setting, measure: str) -> float | None:
    mean = setting.mean(measure)
    return mean.recall if mean else None


def _cell(share: float | None, best: float | None) -> str:
    if share is None:
        return "–"
    return f"**{100 * share:.1f}**" if share == best else f"{100 * share:.1f}"


def tables(groups: dict[str, dict[str, list[Evaluated]]], measures: Sequence[str]) -> str:
    today = datetime.now(UTC).date().isoformat()
    lines = [
        f"Measured on {today} with condense {condense_cli.__version__}. Percent. In bold the best of a column among "
        "those that got to the size.",
        "",
    ]
    for group, projects in groups.items():
        cuts = cuts_of(projects.values())
        if not cuts:
            continue
        sessions = plural(sum(map(len, projects.values())), "session")
        lines += [f"**{group}**: {sessions} of {plural(len(projects), 'project')}, {plural(len(cuts), 'cut')}.", ""]
        for size in SIZES:
            lines += [*table(settings_of(cuts), measures, size), ""]
    return "\n".join(lines)


def cuts_of(projects: Iterable[list[Evaluated]]) -> list[Cut]:
    return [cut for found in projects for one in found for cut in one.cuts]


def written(page: str, text: str) -> str:
    """The page with other tables."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{text}\n{END}{after}"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    fitted, left_out = (folders(path) for path in RECORDED)
    parser.add_argument("--fitted", type=Path, nargs="*", default=fitted, metavar="PATH")
    parser.add_argument("--left-out", type=Path, nargs="*", default=left_out, metavar="PATH")
    parser.add_argument("--sample", type=int, metavar="N", help="so many sessions of each group")
    parser.add_argument("--presets", nargs="*", default=PRESETS, metavar="NAME")
    parser.add_argument("--measures", nargs="*", default=MEASURES, choices=MEASURES, metavar="NAME")
    parser.add_argument("--jobs", type=int, default=usable_processors())
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the means of each project")
    parser.add_argument("--write", action="store_true", help=f"write the tables into {PAGE.relative_to(PROJECT)}")
    given = parser.parse_args(arguments)
    if not (given.fitted or given.left_out):
        raise SystemExit("There are no recorded transcripts: name some with --left-out.")
    options = Options(tuple(given.presets), tuple(given.measures))
    groups = {
        group: measured_group(paths, options, given.sample, given.jobs)
        for group, paths in ((FITTED, given.fitted), (LEFT_OUT, given.left_out))
    }
    if given.json:
        means = {
            group: {project: settings_of(cuts_of([found])) for project, found in projects.items()}
            for group, projects in groups.items()
        }
        given.json.write_bytes(msgspec.json.encode(means))
    text = tables(groups, options.measures)
    if given.write:
        PAGE.write_text(written(PAGE.read_text(), text))
    print(text)


if __name__ == "__main__":
    main()
