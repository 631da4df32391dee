"""Measure figures again that must not get worse, and report those that did.

    python benchmarks/gates.py                        all gates of benchmarks/gates.toml
    python benchmarks/gates.py --only lossless tokens
    python benchmarks/gates.py --write                writes better figures, and new ones
    python benchmarks/gates.py --write --worse        writes all figures, worse ones too

A figure is worse if it is so by more than its gate's tolerance, a share of the figure. Then the status is 1. `--write`
refuses while any figure is worse. Within the tolerance it keeps the old figure, so that small steps do not add up. The
recorded transcripts are expected beside the project.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from msgspec import Struct, convert
from msgspec.structs import replace

FILE: Final = Path(__file__).with_name("gates.toml")
MEASURES_OF_QUALITY: Final = ("facts", "edits", "bits", "grounding")
STARTS: Final = 10
SIZES: Final = (0.5, 5.0)
ROUNDS: Final = 3

Figures = dict[str, float]


class Gate(Struct, frozen=True, forbid_unknown_fields=True):
    """Figures of one kind, and the share of itself by which each may get worse."""

    about: str
    better: str
    tolerance: float
    figures: dict[str, float] = {}

    def worse_by(self, name: str, now: float) -> float:
        """Return how much worse a figure is now, as a share of the old one; negative if better."""
        reached = self.figures[name]
        lost = reached - now if self.better == "higher" else now - reached
        return lost / abs(reached) if reached else lost

    def is_worse(self, name: str, now: float) -> bool:
        return self.worse_by(name, now) > self.tolerance


# Measures. Each imports its benchmark, which may need a package that others do not.


def quality() -> Figures:
    import witnesses
    from measure_tables import SIZES, counted

    from condense_cli.quality.differences import settings_of
    from condense_cli.storage.processes import usable_processors

    options = witnesses.Options(("balanced",), MEASURES_OF_QUALITY, compares=False)
    measure_one = partial(witnesses.measured, options)
    cuts = witnesses.cuts_of(
        found
        for paths in witnesses.recorded().values()
        for found in witnesses.measured_group(paths, measure_one, None, usable_processors()).values()
    )
    return {
        f"{setting.way} {setting.setting}: {measure}": mean.recall
        for size in SIZES
        for setting in settings_of(counted(cuts, size))
        if setting.budget == size
        for measure in MEASURES_OF_QUALITY
        if (mean := setting.mean(measure)) is not None
    }


def structure() -> Figures:
    import kept
    import witnesses

    from condense_cli.storage.processes import in_order, usable_processors

    paths = [path for top in witnesses.recorded()[witnesses.NEWER] for path in sorted(top.iterdir())]
    results = in_order(partial(kept.kept_of, only_form=True), paths, usable_processors())
    found = [one for some in results for one in some]
    return {
        f"balanced {kept.size_name(size)}: {name}": share
        for size in kept.SIZES
        for name, share in kept.means(found, size).items()
    }


def fit() -> Figures:
    from condense_cli.extractive import weights

    line = re.compile(r"^- (target [\d.]+%) .*: fact recall ([\d.]+), edit recall ([\d.]+)", re.MULTILINE)
    found = line.findall(weights.__doc__ or "")
    facts = {f"{name}: facts": float(share) for name, share, _ in found}
    return facts | {f"{name}: edits": float(share) for name, _, share in found}


def lossless() -> Figures:
    import prelude

    groups, _ = prelude.grouped(prelude.recorded())
    totals = [prelude.total(name, groups[name]) for name in prelude.GROUPS if name in groups]
    results = {f"{one.name}: results": one.results / one.tokens for one in totals}
    return results | {f"{one.name}: and parameters": one.parameters / one.tokens for one in totals}


def tokens() -> Figures:
    import token_factors

    by_usage, by_table = token_factors.predictions(token_factors.sessions_of(token_factors.recorded()))
    return {
        "from the session's usage": token_factors.error_of([each.error for each in by_usage]),
        "from the table": token_factors.error_of([each.error for each in by_table]),
    }


def speed() -> Figures:
    import processes
    import speed as measured

    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="condense-gates-") as name:
        folder = Path(name)
        variables = processes.environment(folder / "bytecode")
        commands = measured.start_commands(processes.write_synthetic(folder, measured.SMALL, "anthropic"))
        starts = processes.in_turns(commands, STARTS, variables)
        medians = {each: statistics.median(one.processor for one in costs) for each, costs in starts.items()}
        bare = medians.pop(measured.BARE)
        figures |= {f"{command}: time": taken / bare for command, taken in medians.items()}
        for megabytes in SIZES:
            row = measured.measure(
                processes.write_synthetic(folder, megabytes, "anthropic"), "anthropic", ROUNDS, variables
            )
            for preset, run in row.runs.items():
                figures[f"{preset}, {megabytes:g} MB: time"] = run.cost.processor / row.floor.processor
    return figures


MEASURES: Final[Mapping[str, Callable[[], Figures]]] = {
    "quality": quality,
    "structure": structure,
    "fit": fit,
    "lossless": lossless,
    "tokens": tokens,
    "speed": speed,
}


def read(path: Path) -> dict[str, Gate]:
    return convert(tomllib.loads(path.read_text()), dict[str, Gate])


def compared(gate: Gate, now: Figures) -> Iterator[str]:
    """Yield a row per figure: old value, new value, ratio and verdict."""
    for name in gate.figures | now:
        if name not in now:
            yield f"  {name:<50} {gate.figures[name]:8.4f}        –          NOT MEASURED"
        elif name not in gate.figures:
            yield f"  {name:<50}        – {now[name]:8.4f}          new"
        else:
            verdict = (
                "WORSE" if gate.is_worse(name, now[name]) else "better" if gate.worse_by(name, now[name]) < 0 else ""
            )
            reached = gate.figures[name]
            ratio = f"{now[name] / reached:8.3f}" if reached else f"{'':8}"
            yield f"  {name:<50} {reached:8.4f} {now[name]:8.4f} {ratio}  {verdict}".rstrip()


def failures(gate: Gate, now: Figures) -> list[str]:
    """Return the figures that are worse or no longer measured."""
    return [name for name in gate.figures if name not in now or gate.is_worse(name, now[name])]


def raised(gate: Gate, now: Figures, *, even_worse: bool) -> Gate:
    """Return the gate with better and new figures; with `even_worse`, exactly the measured ones."""
    if even_worse:
        return replace(gate, figures=now)
    better = {name: value for name, value in now.items() if name not in gate.figures or gate.worse_by(name, value) < 0}
    return replace(gate, figures=gate.figures | better)


def written(text: str, gates: Mapping[str, Gate]) -> str:
    """Format the file with other figures; the comment at its beginning stays."""
    head = text.partition("\n[")[0].rstrip()
    parts = [head] if head.startswith("#") else []
    for name, gate in gates.items():
        lines = [f"[{name}]"]
        lines += [
            f"{key} = {json.dumps(getattr(gate, key), ensure_ascii=False)}" for key in ("about", "better", "tolerance")
        ]
        lines += ["", f"[{name}.figures]"]
        lines += [f"{json.dumps(figure, ensure_ascii=False)} = {value:.4f}" for figure, value in gate.figures.items()]
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def main(
    arguments: Sequence[str] | None = None,
    *,
    path: Path = FILE,
    measures: Mapping[str, Callable[[], Figures]] = MEASURES,
) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--only", nargs="+", choices=list(measures), metavar="GATE", help=", ".join(measures))
    parser.add_argument("--write", action="store_true", help=f"write figures that are better into {path.name}")
    parser.add_argument("--worse", action="store_true", help="with --write: worse ones too")
    given = parser.parse_args(arguments)
    if given.worse and not given.write:
        parser.error("--worse goes with --write")
    gates = read(path)
    failed: list[str] = []
    for name in given.only or measures:
        print(f"{name}: {gates[name].about}", flush=True)
        now = {figure: round(value, 4) for figure, value in measures[name]().items()}
        print("\n".join(compared(gates[name], now)), flush=True)
        failed += [f"{name}, {figure}" for figure in failures(gates[name], now)]
        gates[name] = raised(gates[name], now, even_worse=given.worse)
    if failed and not given.worse:
        print(f"\nWorse than what was reached, or not measured: {'; '.join(failed)}.")
        if given.write:
            print("Nothing was written; --worse would write these as well.")
        return 1
    if given.write:
        path.write_text(written(path.read_text(), gates))
        print(f"\nWritten: {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
