"""Compare presets and other ways by every measure of `condense evaluate`.

    python benchmarks/witnesses.py --sample 10
    python benchmarks/witnesses.py --group mine ~/.claude/projects --measures facts bits grounding

Without `--group`, the recorded transcripts beside the project, by kind of client. Each session is condensed with
weights that its project had no part in (`left_out.py`). `--sample` limits the sessions of each group, taken from as
many projects as possible; `--json` has the means of each project. `quality/compare.py` does the same with other tools
and writes the tables of docs/quality.md.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, zip_longest
from pathlib import Path
from typing import Final

import left_out
import msgspec
from measure_tables import SIZES, tables
from recorded import MORE, TRANSCRIPTS

from condense_cli import api
from condense_cli.api.evaluating import configured
from condense_cli.config.loading import load_preset
from condense_cli.errors import CondenseError
from condense_cli.quality.baselines import BASELINES, mask_but_newest
from condense_cli.quality.cases import AsIs, Way
from condense_cli.quality.differences import settings_of
from condense_cli.quality.evaluation import Cut, Evaluated, evaluate
from condense_cli.quality.witnesses import MEASURES, WITNESSES
from condense_cli.rows.many_files import files_in
from condense_cli.storage.processes import in_order, usable_processors

OLDER, NEWER, OTHERS = "Claude Code, older sessions", "Claude Code, newer sessions", "Codex and other clients"
PRESETS: Final = ("balanced", "cost", "max", "quality")
CUTS: Final = (0.6,)

Groups = dict[str, dict[str, list[Evaluated]]]
"""Results by group and project."""


class Options(msgspec.Struct, frozen=True):
    """Measures and presets, and whether to compare other ways. Passed to other processes."""

    presets: tuple[str, ...]
    measures: tuple[str, ...]
    compares: bool = True


def ways(options: Options) -> list[Way]:
    own = [configured(name, load_preset(name)) for name in options.presets]
    own = [msgspec.structs.replace(way, as_is=()) for way in own]
    if not options.compares:
        return own
    others = [msgspec.structs.replace(way, as_is=()) for way in BASELINES.values()]
    return [*own, *others, Way("clear old results", None, tuple(map(_cleared, (20, 10, 5, 3))))]


def _cleared(keep: int) -> tuple[str, AsIs]:
    """Clear all results but the newest, as LangChain and the API's own context editing do."""
    return f"keep {keep}", partial(mask_but_newest, keep=keep)


def measured(options: Options, path: Path, further: Sequence[Way] = ()) -> Evaluated | None:
    """Evaluate one session. None if it cannot be read or needs nothing."""
    try:
        transcript = api.load(path)
        names = [name for name in WITNESSES if name in options.measures]
        every = [*ways(options), *further]
        with left_out.without(path):
            found = evaluate(transcript, every, budgets=SIZES, cuts=CUTS, witnesses=names, name=str(path))
    except CondenseError:
        return None
    return found if found.cuts else None


def recorded() -> dict[str, list[Path]]:
    """Return the recorded transcripts by kind of client, without derived ones."""
    older, newer = ([path for path in sorted(top.glob("*")) if path.is_dir()] for top in (TRANSCRIPTS, MORE))
    sessions = [[path for path in some if path.name == "claude-code"] for some in (older, newer)]
    others = [path for path in (*older, *newer) if path.name not in ("claude-code", "derived")]
    return {OLDER: sessions[0], NEWER: sessions[1], OTHERS: others}


def projects_of(paths: Sequence[Path]) -> dict[str, list[Path]]:
    """Group files by project: the repository named in an index beside their folder, else the folder."""
    found: dict[str, list[Path]] = {}
    for top in paths:
        known = _indexed(top / "INDEX.tsv") | _indexed(top.parent / "INDEX.tsv")
        for path in files_in(top) if top.is_dir() else [top]:
            found.setdefault(known.get(path.name, path.parent.name), []).append(path)
    return found


def _indexed(index: Path) -> dict[str, str]:
    if not index.is_file():
        return {}
    with index.open(newline="") as stream:
        return {row["file"]: row["source_repo"] for row in csv.DictReader(stream, delimiter="\t")}


def in_turns(projects: dict[str, list[Path]]) -> Iterator[tuple[str, Path]]:
    """Yield one session of each project, then a second one of each, and so on."""
    lists = [[(name, path) for path in paths] for name, paths in sorted(projects.items())]
    yield from (each for each in chain.from_iterable(zip_longest(*lists)) if each is not None)


def measured_group(
    paths: Sequence[Path], measure: Callable[[Path], Evaluated | None], sample: int | None, jobs: int
) -> dict[str, list[Evaluated]]:
    """Evaluate sessions and return the results by project."""
    found: dict[str, list[Evaluated]] = {}
    number = 0
    order = list(in_turns(projects_of(paths)))
    results = in_order(measure, (path for _, path in order), jobs)
    for (project, path), result in zip(order, results, strict=False):
        if result is not None:
            found.setdefault(project, []).append(result)
            number += 1
            print(f"{project}: {path.name}", flush=True)
        if number == sample:
            break
    return found


def cuts_of(projects: Iterable[list[Evaluated]]) -> list[Cut]:
    return [cut for found in projects for one in found for cut in one.cuts]


def parser_of(description: str) -> argparse.ArgumentParser:
    """Build the parser shared with `quality/compare.py`."""
    parser = argparse.ArgumentParser(description=description.split("\n")[0])
    parser.add_argument("--group", nargs="+", action="append", default=[], metavar=("NAME", "PATH"))
    parser.add_argument("--sample", type=int, metavar="N", help="so many sessions of each group")
    parser.add_argument("--presets", nargs="*", default=PRESETS, metavar="NAME")
    parser.add_argument("--measures", nargs="*", default=MEASURES, choices=MEASURES, metavar="NAME")
    parser.add_argument("--jobs", type=int, default=usable_processors())
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the means of each project")
    return parser


def measured_groups(
    given: argparse.Namespace, measure: Callable[[Options, Path], Evaluated | None] = measured
) -> Groups:
    """Evaluate all groups, and write the means if `--json` is given."""
    paths = {name: [*map(Path, some)] for name, *some in given.group} or recorded()
    if not any(paths.values()):
        raise SystemExit("There are no recorded transcripts: name some with --group.")
    options = Options(tuple(given.presets), tuple(given.measures))
    groups = {
        name: measured_group(some, partial(measure, options), given.sample, given.jobs) for name, some in paths.items()
    }
    if given.json:
        means = {
            group: {project: settings_of(cuts_of([found])) for project, found in projects.items()}
            for group, projects in groups.items()
        }
        given.json.write_bytes(msgspec.json.encode(means))
    return groups


def main(arguments: Sequence[str] | None = None) -> None:
    given = parser_of(__doc__ or "").parse_args(arguments)
    print(tables(measured_groups(given), given.measures))


if __name__ == "__main__":
    main()
