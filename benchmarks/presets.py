"""How much of what later work needs each preset typically keeps: what `condense estimate` shows.

    python benchmarks/presets.py                     prints the figures
    python benchmarks/presets.py --write             and writes them where `condense estimate` reads them
    python benchmarks/presets.py ~/.claude/projects  measures your own sessions

Sessions are cut at half and at three quarters of their messages, as `condense evaluate` does; what came before is
condensed, without a target and without a model. Kept is the share of the facts and edit lines that later work asked for
and that stay, over all cuts: the median, and the range in which eight of ten cuts are. The sessions must be of projects
that the weights of the extraction were not fitted to (benchmarks/train_extraction.py); those of `../shared/transcripts`
were, so that by default others are measured. A preset beats another one where it as a rule keeps as much in no more
tokens: at four of five of the cuts at which it leaves no more.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec

import condense_cli
from condense_cli.config.preset_folders import preset_names
from condense_cli.config.presets import load_preset
from condense_cli.many.inputs import files_in
from condense_cli.measuring import Plan, evaluate_files
from condense_cli.quality.evaluation import Evaluated
from condense_cli.quality.kept import beats, kept_by
from condense_cli.report.estimate.typical import FILE, Typical
from condense_cli.storage.processes import usable_processors

PROJECT: Final = Path(__file__).resolve().parent.parent
SESSIONS: Final = PROJECT.parent / "shared" / "more-transcripts"


def measure(paths: Sequence[Path], jobs: int) -> Typical:
    """The figures of every preset on the files that can be read and are long enough."""
    plan = Plan(tuple((name, load_preset(name)) for name in preset_names()), against=(), budgets=())
    names = [str(file) for path in paths for file in (files_in(path) if path.is_dir() else [path])]
    found = [one for one in evaluate_files(names, plan, jobs=jobs) if isinstance(one, Evaluated) and one.cuts]
    return Typical(
        date=datetime.now(UTC).date().isoformat(),
        condense=condense_cli.__version__,
        transcripts=len(found),
        cuts=sum(len(one.cuts) for one in found),
        presets={name: kept for name in preset_names() if (kept := kept_by(name, found)) is not None},
        beats={
            name: [other for other in preset_names() if other != name and beats(name, other, found)]
            for name in preset_names()
        },
    )


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("paths", nargs="*", type=Path, metavar="PATH", help="sessions, or folders of them")
    parser.add_argument("--jobs", type=int, default=usable_processors())
    parser.add_argument("--write", action="store_true", help=f"write {FILE.relative_to(PROJECT)}")
    options = parser.parse_args(arguments)
    typical = measure(options.paths or [SESSIONS], options.jobs)
    text = msgspec.json.format(msgspec.json.encode(typical), indent=2).decode() + "\n"
    print(text, end="")
    if options.write:
        FILE.write_text(text)


if __name__ == "__main__":
    main()
