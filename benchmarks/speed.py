"""How fast `condense` is: start-up, stages, growth and memory, next to other tools and to what no tool can do without.

    python benchmarks/speed.py
    python benchmarks/speed.py --sizes 0.5 5 --peers
    python benchmarks/speed.py --write

For every size of both formats these take turns, each in a process of its own:

- floor: the file is read, its tokens are counted once, and it is written as it was,
- `condense run FILE --preset PRESET -o OUT -q` for each preset,
- the same work step by step, for the shares of its stages,
- at the size nearest to 5 MB the other tools, installed and kept to themselves as `quality/compare.py` does it.

Shown is processor time, the best of several rounds: what else the machine does falls on all of them alike. `--write`
puts the tables into docs/speed.md. `scaling.py` takes the prelude apart; `startup.py` measures the start alone.
"""

from __future__ import annotations

import argparse
import datetime
import json
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Final

import startup
from platformdirs import user_cache_path
from scaling import FORMATS, SIZES, SMALL, Cost, cost, environment, exponent, written

PROJECT: Final = Path(__file__).resolve().parent.parent
PAGE: Final = PROJECT / "docs" / "speed.md"
BEGIN: Final = "<!-- tables: written by benchmarks/speed.py --write -->"
END: Final = "<!-- end of the tables -->"
PRESETS: Final = ("speed", "cost")
COMPARED: Final = 5.0
"""At the size in MB nearest to this the other tools are asked."""
LARGE: Final = 45e6
"""From so many bytes on speed and memory are held against what is asked for."""
STAGES: Final = ("read", "count", "prelude", "passes", "write")

FLOOR: Final = """
import sys
from pathlib import Path
from condense_cli import api
from condense_cli.formats import serialize
from condense_cli.core.tokens import Counter
transcript = api.load(sys.argv[1])
Counter.of(transcript).transcript(transcript)
Path(sys.argv[2]).write_bytes(serialize(transcript))
"""

STEPS: Final = """
import gc, json, sys
from pathlib import Path
from time import process_time
gc.disable()
from condense_cli import api
from condense_cli.config.presets import load_preset
from condense_cli.passes.receipts import PRELUDE
from condense_cli.core.tokens import Counter
configuration, marks = load_preset(sys.argv[3]), [process_time()]
transcript = api.load(sys.argv[1])
marks.append(process_time())
counter = Counter.of(transcript)
counter.transcript(transcript)
marks.append(process_time())
result = api.condense(transcript, configuration, counter=counter, clock=process_time)
marks.append(process_time())
Path(sys.argv[2]).write_bytes(api.dump(result))
marks.append(process_time())
read, count, condense, write = (end - start for start, end in zip(marks, marks[1:]))
prelude = sum(one.seconds for one in result.passes if one.id == PRELUDE)
print(json.dumps([read, count, prelude, condense - prelude, write]))
"""
"""What is neither prelude nor reading, counting and writing belongs to the passes: choosing, cutting, receipts."""

Targets = list[tuple[str, float, float, str]]
"""What is asked for, what was measured, what it may be at most, and the unit."""


@dataclass
class Run:
    """One preset on one file: the whole process, and the seconds of each stage inside it."""

    cost: Cost
    stages: list[float]

    @property
    def work(self) -> float:
        """Seconds without starting Python and importing."""
        return sum(self.stages)


@dataclass
class Row:
    """All that was measured on one file."""

    format: str
    size: int
    floor: Cost
    runs: dict[str, Run]


@dataclass(frozen=True)
class Asked:
    """What another tool took, in processor seconds: for the work alone, and for its whole process."""

    name: str
    counts: str
    format: str
    work: float
    process: float

    def best(self, other: Asked) -> Asked:
        return Asked(self.name, self.counts, self.format, min(self.work, other.work), min(self.process, other.process))


@dataclass
class Found:
    """Everything, for the tables."""

    starts: dict[str, list[Cost]]
    rows: list[Row] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    versions: dict[str, str] = field(default_factory=dict)


def started(commands: dict[str, list[str]], runs: int, variables: dict[str, str]) -> dict[str, list[Cost]]:
    """The cost of each command, taken in turns; the first round, which warms the caches, is not counted."""
    rounds = [{name: cost(command, variables) for name, command in commands.items()} for _ in range(runs + 1)]
    return {name: [one[name] for one in rounds[1:]] for name in commands}


def measure(path: Path, format: str, rounds: int, variables: dict[str, str]) -> Row:
    """Floor and presets on one file, in turns, the best of each."""
    output = str(path.with_suffix(".out"))
    row: Row | None = None
    for _ in range(rounds):
        floor = cost([sys.executable, "-c", FLOOR, str(path), output], variables)
        runs = {}
        for preset in PRESETS:
            command = [sys.executable, "-m", "condense_cli", "run", str(path), "--preset", preset, "-o", output, "-q"]
            whole = cost(command, variables)
            steps = [sys.executable, "-c", STEPS, str(path), output, preset]
            said = subprocess.run(steps, capture_output=True, check=True, env=variables).stdout
            runs[preset] = Run(whole, json.loads(said))
        if row is None:
            row = Row(format, path.stat().st_size, floor, runs)
            continue
        row.floor = row.floor.best(floor)
        for preset, run in runs.items():
            known = row.runs[preset]
            known.cost = known.cost.best(run.cost)
            known.stages = min(known.stages, run.stages, key=sum)
    assert row is not None
    return row


def ask(
    path: Path, format: str, packages: Sequence[str], cache: Path, rounds: int
) -> tuple[list[Asked], dict[str, str]]:
    """The other tools on one file, and their versions."""
    sys.path.append(str(Path(__file__).with_name("quality")))
    import splintr
    from peers import PEERS, Worker, version_of
    from shapes import message_list

    from condense_cli import api

    chosen: list[tuple[str, str, str, dict[str, Any]]] = []
    if format == "claude-code":
        dry = {"prescription": "standard", "execute": False}
        chosen.append(("cozempic", "cozempic, dry run", "characters / 3 or so", dry))
    chosen.append(("langchain", "LangChain, results cleared", "characters / 4, once", {"keep": 3}))
    counted = {"keep": 3, "tokenizer": "tokenizer"}
    chosen.append(("langchain", "LangChain, with our counts", "our tokenizer, before and after", counted))
    found: list[Asked] = []
    versions = {}
    for package, name, counts, setting in chosen:
        if package not in packages:
            continue
        peer = next(peer for peer in PEERS if peer.package == package)
        versions[package] = version_of(peer, cache)
        best: Asked | None = None
        for _ in range(rounds):
            with tempfile.TemporaryDirectory(prefix="condense-bench-") as folder:
                home = Path(folder)
                given: Any = message_list(api.load(path).messages).messages
                if peer.takes == "file":
                    given = str(shutil.copy(path, home / "0b9f3a52-7c1d-4e86-9a40-5d2e8c6f1b73.jsonl"))
                (home / "tokenizer").mkdir()
                (home / "tokenizer" / "splintr").symlink_to(Path(splintr.__file__).parent)
                before = _children()
                worker = Worker(peer, cache, home)
                _, work = worker.ask(given, setting)
                worker.close()
                one = Asked(name, counts, format, work, _children() - before)
                best = one if best is None else best.best(one)
        if best is not None:
            found.append(best)
    return found, versions


def _children() -> float:
    """Processor seconds of all processes that were started here and have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def targets(found: Found) -> Targets:
    """What is asked of the program, and what was measured. None is left out because it was missed."""
    asked: Targets = []
    for name, most in (("condense --help", 60.0), ("condense run (10 KB)", 150.0)):
        asked.append((f"`{name}`", min(one.seconds for one in found.starts[name]) * 1_000, most, "ms"))
    for one in found.asked:
        run = _compared(found, one.format).runs["cost"]
        most = 2.5 if one.name.startswith("cozempic") else 1.0
        what = f"{one.format}, {_compared(found, one.format).size / 1e6:.0f} MB, preset cost, times {one.name}"
        asked.append((f"{what}: whole process", run.cost.processor / one.process, most, "x"))
        asked.append((f"{what}: work alone", run.work / one.work, most, "x"))
    for format in dict.fromkeys(row.format for row in found.rows):
        rows = [row for row in found.rows if row.format == format]
        for preset in PRESETS:
            run, size = rows[-1].runs[preset], rows[-1].size
            what = f"{format}, {size / 1e6:.0f} MB, preset {preset}"
            if size >= LARGE:
                asked.append((f"{what}: time for 25 MB", 25e6 * run.cost.processor / size, 1.0, "s"))
                asked.append((f"{what}: memory, times the file", run.cost.peak / size, 5.0, "x"))
            slope = growth(rows, preset)
            if slope is not None:
                asked.append((f"{format}, preset {preset}: growth of time, exponent", slope, 1.05, ""))
    return asked


def growth(rows: Sequence[Row], preset: str) -> float | None:
    """Exponent of the processor time above that of the smallest file, which is the start."""
    start = rows[0].runs[preset].cost.processor
    return exponent([row.size for row in rows[1:]], [row.runs[preset].cost.processor - start for row in rows[1:]])


def _compared(found: Found, format: str) -> Row:
    """The row at which other tools were asked."""
    return min((row for row in found.rows if row.format == format), key=lambda row: abs(row.size / 1e6 - COMPARED))


def tables(found: Found, date: str, machine: str) -> Iterator[str]:
    yield f"Measured on {date}, {machine}."
    if found.versions:
        yield "Other tools: " + ", ".join(f"{name} {version}" for name, version in found.versions.items()) + "."
    yield "\n### Start\n"
    yield "| | best, ms | median, ms | processor, ms | times the bare interpreter |"
    yield "| --- | ---: | ---: | ---: | ---: |"
    bare = min(one.processor for one in found.starts[startup.BARE])
    for name, costs in found.starts.items():
        times, processor = [one.seconds * 1_000 for one in costs], min(one.processor for one in costs)
        figures = f"{min(times):.0f} | {median(times):.0f} | {processor * 1_000:.0f} | {processor / bare:.1f}"
        yield f"| `{name}` | {figures} |"
    yield "\n### Time and memory\n"
    yield "| format | file MB | preset | seconds | MB/s | times the floor | peak MB | times the file |"
    yield "| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: |"
    for row in found.rows:
        for preset, run in row.runs.items():
            seconds, megabytes = run.cost.processor, row.size / 1e6
            yield (
                f"| {row.format} | {megabytes:.2f} | {preset} | {seconds:.2f} | {megabytes / seconds:.1f} "
                f"| {seconds / row.floor.processor:.1f} | {run.cost.peak / 1e6:.0f} | {run.cost.peak / row.size:.1f} |"
            )
    yield "\n### Stages, in seconds\n"
    yield f"| format | file MB | preset | {' | '.join(STAGES)} |"
    yield "| --- | ---: | --- |" + " ---: |" * len(STAGES)
    for row in found.rows:
        for preset, run in row.runs.items():
            yield (
                f"| {row.format} | {row.size / 1e6:.2f} | {preset} | "
                + " | ".join(f"{s:.3f}" for s in run.stages)
                + " |"
            )
    if found.asked:
        yield "\n### Next to other tools\n"
        yield "| tool | format | file MB | what it counts tokens as | work alone, s | whole process, s |"
        yield "| --- | --- | ---: | --- | ---: | ---: |"
        for format in dict.fromkeys(one.format for one in found.asked):
            row = _compared(found, format)
            for preset, run in row.runs.items():
                yield (
                    f"| condense, preset {preset} | {format} | {row.size / 1e6:.2f} | our tokenizer, before and after "
                    f"| {run.work:.2f} | {run.cost.processor:.2f} |"
                )
            for one in found.asked:
                if one.format == format:
                    yield (
                        f"| {one.name} | {format} | {row.size / 1e6:.2f} | {one.counts} "
                        f"| {one.work:.2f} | {one.process:.2f} |"
                    )
    yield "\n### What is asked for\n"
    yield "| | measured | at most | |"
    yield "| --- | ---: | ---: | --- |"
    for what, measured, most, unit in targets(found):
        yield f"| {what} | {measured:.2f} {unit} | {most:g} {unit} | {'met' if measured <= most else 'missed'} |"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--sizes", type=float, nargs="+", default=SIZES, metavar="MB", help="(default: 0.5 5 50)")
    parser.add_argument("--formats", nargs="+", default=FORMATS, choices=FORMATS, metavar="NAME")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each command (default: 3)")
    parser.add_argument("--starts", type=int, default=20, help="starts of each command (default: 20)")
    parser.add_argument("--peers", nargs="*", default=["cozempic", "langchain"], metavar="PACKAGE")
    parser.add_argument("--cache", type=Path, default=user_cache_path("condense-benchmarks"), metavar="DIR")
    parser.add_argument("--machine", default="on this machine", help="what the page says of it")
    parser.add_argument("--write", action="store_true", help=f"write the tables into {PAGE.relative_to(PROJECT)}")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="condense-bench-") as name:
        folder = Path(name)
        variables = environment(folder / "bytecode")
        small = written(folder, SMALL, "anthropic")
        found = Found(started(startup.commands(small), options.starts, variables))
        for format in options.formats:
            compared = min(options.sizes, key=lambda size: abs(size - COMPARED))
            for megabytes in (SMALL, *sorted(options.sizes)):
                path = written(folder, megabytes, format)
                found.rows.append(measure(path, format, max(1, options.rounds), variables))
                if megabytes == compared and options.peers:
                    asked, versions = ask(path, format, options.peers, options.cache, max(1, options.rounds))
                    found.asked += asked
                    found.versions |= versions
                path.unlink()
                print(f"{format}, {megabytes:g} MB", file=sys.stderr, flush=True)
    text = "\n".join(tables(found, datetime.datetime.now(datetime.UTC).date().isoformat(), options.machine))
    if not options.write:
        print(text)
        return
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{rest.partition(END)[2]}")


if __name__ == "__main__":
    main()
