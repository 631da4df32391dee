"""Measure how much of what later work needs each preset typically keeps, and which presets beat which.

    python benchmarks/presets.py                     prints the figures
    python benchmarks/presets.py ~/.claude/projects  measures your own sessions

Sessions are cut at half and at three quarters of their messages, as by `condense evaluate`; the part before is
condensed without target or model. Kept is the share of facts and edit lines needed later that stays: the median over
all cuts, and the range of eight of ten. Each session is condensed with weights that its project had no part in
(`left_out.py`). A preset beats another one if it keeps at least as much in no more tokens at four of five of the cuts
where it leaves no more.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final

import left_out
import msgspec
from recorded import MORE, TRANSCRIPTS

import condense_cli
from condense_cli.api.evaluating import Plan, Unread, evaluate_file
from condense_cli.config.loading import load_preset
from condense_cli.config.preset_folders import preset_names
from condense_cli.quality.evaluation import Evaluated, KeptShare, beats, kept_by
from condense_cli.rows.many_files import files_in
from condense_cli.storage.processes import in_order, usable_processors

SESSIONS: Final = (TRANSCRIPTS / "claude-code", MORE)


class Typical(msgspec.Struct, frozen=True):
    """Figures by preset. `beats` lists the presets that each usually beats."""

    date: str
    condense: str
    transcripts: int
    cuts: int
    presets: dict[str, KeptShare]
    beats: dict[str, list[str]]


def measure(paths: Sequence[Path], jobs: int) -> Typical:
    """Measure every preset on the files that are readable and long enough."""
    plan = Plan(tuple((name, load_preset(name)) for name in preset_names()), against=(), budgets=())
    files = [file for path in paths for file in (files_in(path) if path.is_dir() else [path])]
    results = in_order(partial(_measured, plan), files, jobs)
    found = [one for one in results if isinstance(one, Evaluated) and one.cuts]
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


def _measured(plan: Plan, path: Path) -> Evaluated | Unread:
    with left_out.without(path):
        return evaluate_file(str(path), plan)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("paths", nargs="*", type=Path, metavar="PATH", help="sessions, or folders of them")
    parser.add_argument("--jobs", type=int, default=usable_processors())
    options = parser.parse_args(arguments)
    typical = measure(options.paths or SESSIONS, options.jobs)
    print(msgspec.json.format(msgspec.json.encode(typical), indent=2).decode())


if __name__ == "__main__":
    main()
