"""Measure the speed of `condense`: start, stages, growth and memory, next to other tools and the minimal work.

    python benchmarks/speed.py
    python benchmarks/speed.py --sizes 0.5 5 --presets balanced --peers
    python benchmarks/speed.py --sizes        the start alone
    python benchmarks/speed.py --write

For every size of both formats these run in turns, each in a process of its own:

    floor       read the file, count its tokens once, write it unchanged
    condense    `condense run FILE --preset PRESET -o OUT -q` for each preset, the default first, then to a target
    work alone  the same step by step, without starting Python and importing
    waits       other commands that read all of it, at the size nearest to 5 MB
    other tools at that size, installed and isolated as by `quality/compare.py`

In addition, many short conversations go through the Python API in one process, like rows of a set, and what people wait
for is measured on some 200,000 tokens. The text is that of recorded sessions, chained (`chained.py`), or synthetic
where none are recorded. Shown is processor time, the best of several rounds. `--write` puts the tables into
docs/speed.md; which limits are met goes to standard error. Linux and macOS; half an hour.
"""

from __future__ import annotations

import argparse
import datetime
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from chained import write_chained
from platformdirs import user_cache_path
from processes import Cost, cost, environment, exponent, in_turns, seconds_of_children, write_synthetic
from recorded import DOCS, PROJECT, replace_between
from synthetic import FORMATS, write_transcript

BARE: Final = "python -I -c pass"
SMALL: Final = 0.01
"""Megabytes of the transcript with which the start of a run is measured."""
PRESETS: Final = ("balanced", "speed", "cost", "quality", "max", "lossless")
"""Presets; the default one first."""
PERCENT: Final = 50
"""Target in percent of all tokens."""
WITHOUT_TARGET: Final = ("lossless",)
"""Presets without passes, which cannot reach a target."""
ROW: Final = 0.016
"""Megabytes of a typical conversation in a set of rows."""

FLOOR: Final = """
import sys
from pathlib import Path
from condense_cli import api
from condense_cli.formats import serialize
from condense_cli.tokens.counting import Counter
transcript = api.load(sys.argv[1])
Counter.of(transcript).transcript(transcript)
Path(sys.argv[2]).write_bytes(serialize(transcript))
"""

STEPS: Final = """
import gc, json, sys
from pathlib import Path
from time import process_time
import msgspec
gc.disable()
from condense_cli import api
from condense_cli.config.loading import load_preset
from condense_cli.passes.receipts import PRELUDE
from condense_cli.tokens.counting import Counter
configuration, marks = load_preset(sys.argv[3]), [process_time()]
target = {"target_reduction_percent": 100 - int(sys.argv[4])} if len(sys.argv) > 4 else {}
configuration = msgspec.structs.replace(configuration, **target)
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
"""Time besides prelude, reading, counting and writing belongs to the passes: choosing, cutting, receipts."""

ROWS: Final = """
import sys
from pathlib import Path
from time import process_time
from condense_cli import api
folder, presets = Path(sys.argv[1]), sys.argv[2:]
rows = [path.read_bytes() for path in sorted(folder.iterdir())]
for preset in presets:
    api.condense(api.loads(rows[0]), preset=preset)
    started = process_time()
    for row in rows:
        api.dump(api.condense(api.loads(row), preset=preset))
    print(preset, 1_000 * (process_time() - started) / len(rows))
"""
"""Milliseconds for each of some short conversations, all in one process."""


UI: Final = """
import gc, json, sys
from time import process_time
gc.disable()
from condense_cli.config.loading import PACKAGED
from condense_cli.config.own import UserConfiguration
from condense_cli.providers.registry import Registry
from condense_cli.ui.choice import Configurations, UserChoice
from condense_cli.ui.opened import Desk, OpenSession
started = process_time()
session = OpenSession.read(sys.argv[1], Desk(Configurations(PACKAGED), UserConfiguration(), Registry()))
session.view(UserChoice("balanced"), process_time)
opened = process_time()
session.view(UserChoice("balanced", target_percent=50), process_time)
print(json.dumps([opened - started, process_time() - opened]))
"""
"""Seconds until a session is shown in the terminal app, and until another choice is."""

LIVE: Final = """
import json, sys
from pathlib import Path
from time import process_time
from condense_cli import Live
messages = [json.loads(line) for line in Path(sys.argv[1]).read_bytes().splitlines()]
live = Live(policy="tokens:60000", context_window=10_000_000)
live.fit(messages, now=0, decide=False)
started = process_time()
live.fit(messages, now=0)
spent = process_time() - started
assert live.fit(messages, now=0, decide=False).tokens < 60_000  # Else there was nothing to decide.
words = "some words and more " * 33
long = [{"role": ("user", "assistant")[n % 2], "content": f"{n}: {words}"} for n in range(1_000)]
live, taken = Live(policy="tokens:10000000", context_window=10_000_000), []
live.fit(long, now=0)
for number in range(20):
    long.append({"role": "user", "content": f"and {number}"})
    started = process_time()
    live.fit(long, now=0)
    taken.append(process_time() - started)
print(json.dumps([spent, sorted(taken)[10]]))
"""
"""Seconds that `Live` takes to decide, and where there is nothing to decide at 1,000 messages."""

ESTIMATE, HTML, CHECK = "condense estimate", "condense run --html", "condense check"
EVALUATE, OPENING, CHOOSING = "condense evaluate", "condense ui, opening", "condense ui, a target"
DECIDING, PASSING = "Live", "Live, nothing to decide"


@dataclass(frozen=True)
class Wait:
    """Processor seconds that somebody waits for; the peak of memory is 0 where it is measured inside a process."""

    name: str
    format: str
    size: int
    seconds: float
    peak: int = 0


@dataclass
class Run:
    """One preset on one file: the whole process, and the seconds of each stage."""

    cost: Cost
    stages: list[float]

    @property
    def work(self) -> float:
        """Seconds without starting Python and importing."""
        return sum(self.stages)


@dataclass
class Row:
    """All figures of one file."""

    format: str
    size: int
    floor: Cost
    runs: dict[str, Run]


@dataclass(frozen=True)
class Asked:
    """Processor seconds of another tool: for the work alone, and for the whole process."""

    name: str
    format: str
    work: float
    process: float

    def best(self, other: Asked) -> Asked:
        return Asked(self.name, self.format, min(self.work, other.work), min(self.process, other.process))


@dataclass
class Found:
    """All figures for the tables."""

    starts: dict[str, list[Cost]]
    rows: list[Row] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    in_api: dict[str, float] = field(default_factory=dict)
    """Milliseconds for a short conversation through the Python API, by preset."""
    versions: dict[str, str] = field(default_factory=dict)
    waits: list[Wait] = field(default_factory=list)


def start_commands(transcript: Path) -> dict[str, list[str]]:
    """Return commands by shown name, using the installed script if there is one."""
    script = Path(sys.executable).with_name("condense")
    condense = [str(script)] if script.exists() else [sys.executable, "-m", "condense_cli"]
    return {
        BARE: [sys.executable, "-I", "-c", "pass"],
        "condense --help": [*condense, "--help"],
        "condense run (10 KB)": [*condense, "run", str(transcript)],
    }


def waits_at(path: Path, format: str, rounds: int, variables: dict[str, str]) -> list[Wait]:
    """Measure what reads a large file besides a run."""
    output = str(path.with_suffix(".out"))
    commands = {
        ESTIMATE: ["estimate", str(path)],
        CHECK: ["check", str(path), "--above", "1000000000"],  # More than there is: status 0.
        HTML: ["run", str(path), "-o", output, "--html", str(path.with_suffix(".html")), "-q"],
    }
    return [_waited(name, command, path, format, rounds, variables) for name, command in commands.items()]


def small_waits(path: Path, format: str, rounds: int, variables: dict[str, str]) -> list[Wait]:
    """Measure what people do with a session of some 200,000 tokens, and `Live` with messages of half of it."""
    found = [_waited(EVALUATE, ["evaluate", str(path)], path, format, 1, variables)]
    scripts = {(OPENING, CHOOSING): UI} | ({(DECIDING, PASSING): LIVE} if format == "anthropic" else {})
    for names, code in scripts.items():
        read = path
        if code == LIVE:
            lines = path.read_bytes().splitlines(keepends=True)
            read = path.with_suffix(".half")
            read.write_bytes(b"".join(lines[: len(lines) // 2]))
        command = [sys.executable, "-c", code, str(read)]
        runs = [subprocess.run(command, capture_output=True, check=True, env=variables).stdout for _ in range(rounds)]
        best = map(min, zip(*map(json.loads, runs), strict=True))
        found += (Wait(name, format, read.stat().st_size, taken) for name, taken in zip(names, best, strict=True))
    return found


def _waited(
    name: str, arguments: Sequence[str], path: Path, format: str, rounds: int, variables: dict[str, str]
) -> Wait:
    command = [sys.executable, "-m", "condense_cli", *arguments]
    costs = [cost(command, variables) for _ in range(rounds)]
    best = min(costs, key=lambda one: one.processor)
    return Wait(name, format, path.stat().st_size, best.processor, best.peak)


def ways_of(presets: Sequence[str]) -> list[str]:
    """Return presets without a target, and with one where possible."""
    return [*presets, *(f"{preset} to {PERCENT} %" for preset in presets if preset not in WITHOUT_TARGET)]


def measure(
    path: Path, format: str, rounds: int, variables: dict[str, str], ways: Sequence[str] = ("speed", "cost")
) -> Row:
    """Measure floor and ways on one file in turns, and keep the best of each."""
    output = str(path.with_suffix(".out"))
    row: Row | None = None
    for _ in range(rounds):
        floor = cost([sys.executable, "-c", FLOOR, str(path), output], variables)
        runs = {way: _run(path, output, way, variables) for way in ways}
        if row is None:
            row = Row(format, path.stat().st_size, floor, runs)
            continue
        row.floor = row.floor.best(floor)
        for way, run in runs.items():
            known = row.runs[way]
            known.cost = known.cost.best(run.cost)
            known.stages = min(known.stages, run.stages, key=sum)
    assert row is not None
    return row


def _run(path: Path, output: str, way: str, variables: dict[str, str]) -> Run:
    preset, _, target = way.partition(" to ")
    percent = [target.removesuffix(" %")] if target else []
    command = [sys.executable, "-m", "condense_cli", "run", str(path), "--preset", preset, "-o", output, "-q"]
    whole = cost([*command, *(f"--target-percent={share}" for share in percent)], variables)
    steps = [sys.executable, "-c", STEPS, str(path), output, preset, *percent]
    said = subprocess.run(steps, capture_output=True, check=True, env=variables).stdout
    return Run(whole, json.loads(said))


def rows_in_api(presets: Sequence[str], rows: int, variables: dict[str, str]) -> dict[str, float]:
    """Return processor milliseconds per short conversation, by preset."""
    with tempfile.TemporaryDirectory(prefix="condense-bench-") as folder:
        for number in range(rows):
            write_transcript(Path(folder) / f"{number:04}.jsonl", ROW, "anthropic", seed=number)
        done = subprocess.run(
            [sys.executable, "-c", ROWS, folder, *presets], capture_output=True, check=True, text=True, env=variables
        )
    return {preset: float(spent) for preset, spent in map(str.split, done.stdout.splitlines())}


def ask(
    path: Path, format: str, packages: Sequence[str], cache: Path, rounds: int
) -> tuple[list[Asked], dict[str, str]]:
    """Run the other tools on one file; return their figures and versions."""
    sys.path.append(str(Path(__file__).with_name("quality")))
    import splintr
    from peers import PEERS, SESSION, Worker, version_of
    from shapes import message_list

    from condense_cli import api

    chosen: list[tuple[str, str, dict[str, Any]]] = []
    if format == "claude-code":
        dry = {"prescription": "standard", "execute": False}
        chosen.append(("cozempic", "cozempic, dry run", dry))
    chosen.append(("langchain", "LangChain, results cleared", {"keep": 3}))
    chosen.append(("langchain", "LangChain, with our counts", {"keep": 3, "tokenizer": "tokenizer"}))
    chosen.append(("headroom-ai", "headroom", {}))
    found: list[Asked] = []
    versions = {}
    for package, name, setting in chosen:
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
                    given = str(shutil.copy(path, home / SESSION))
                (home / "tokenizer").mkdir()
                (home / "tokenizer" / "splintr").symlink_to(Path(splintr.__file__).parent)
                before = seconds_of_children()
                worker = Worker(peer, cache, home)
                _, work = worker.ask(given, setting)
                worker.close()
                one = Asked(name, format, work, seconds_of_children() - before)
                best = one if best is None else best.best(one)
        if best is not None:
            found.append(best)
    return found, versions


PAGE: Final = DOCS / "speed.md"
BEGIN: Final = "<!-- tables: written by benchmarks/speed.py --write -->"
END: Final = "<!-- end of the tables -->"
SIZES: Final = (0.5, 5.0, 50.0)
COMPARED: Final = 5.0
"""Other tools run at the size in MB nearest to this."""
LARGE: Final = 45e6
"""Bytes from which speed and memory have limits."""
PACKAGES: Final = ("cozempic", "langchain", "headroom-ai")

Targets = list[tuple[str, float, float, str]]
"""Description, measured value, limit and unit."""

FAST: Final = {"balanced": (8.0, 5.0), "speed": (15.0, 10.0)}
"""Required MB/s of presets at 50 MB, in the formats claude-code and anthropic."""
TIMES_PEER: Final = {
    "cozempic, dry run": {"balanced": 2.5, "cost": 2.1, "speed": 1.8},
    "LangChain, with our counts": {"balanced": 1.0, "cost": 1.0, "speed": 1.0},
}
"""Maximum time at 5 MB as a multiple of another tool's."""
TIMES_DEFAULT: Final = {"max": 1.6, "balanced to 50 %": 1.5}
"""Maximum time as a multiple of the default preset's."""
WAITS: Final = {
    ESTIMATE: (1.5, 3.0),
    EVALUATE: (10.0, 10.0),
    OPENING: (1.0, 1.0),
    CHOOSING: (0.15, 0.15),
    DECIDING: (0.08, 0.08),
}
"""Maximum seconds, in the formats claude-code and anthropic."""
OF_ROW: Final = {"balanced": 5.0}
"""Maximum milliseconds for a short conversation; 2.5 with other presets."""
SMALLER: Final = 0.8
"""Megabytes of some 200,000 tokens."""


def targets(found: Found) -> Targets:
    """Return all limits with measured values, including missed ones."""
    bare = min(one.processor for one in found.starts[BARE])
    asked: Targets = []
    for name, most in (("condense --help", 5.0), ("condense run (10 KB)", 11.0)):
        taken = min(one.processor for one in found.starts[name])
        asked.append((f"`{name}`, times the bare interpreter", taken / bare, most, "x"))
    for one in found.asked:
        for preset, most in TIMES_PEER.get(one.name, {}).items():
            run = _compared(found, one.format).runs.get(preset)
            if run is not None:
                what = f"{one.format}, {_compared(found, one.format).size / 1e6:.0f} MB, preset {preset}"
                asked.append((f"{what}, times {one.name}", run.cost.processor / one.process, most, "x"))
    for format in dict.fromkeys(row.format for row in found.rows):
        rows = [row for row in found.rows if row.format == format]
        asked += _of_largest(format, rows)
        runs = _compared(found, format).runs
        for way, most in TIMES_DEFAULT.items():
            if way in runs and PRESETS[0] in runs:
                times = runs[way].cost.processor / runs[PRESETS[0]].cost.processor
                asked.append((f"{format}, {way}, times {PRESETS[0]}", times, most, "x"))
        small = rows[0]
        peak = max(run.cost.peak for run in small.runs.values())
        asked.append((f"{format}, {small.size / 1e3:.0f} KB: memory of the largest", peak / (1 << 20), 45.0, "MiB"))
        for way in small.runs:
            slope = growth(rows, way)
            if slope is not None:
                asked.append((f"{format}, preset {way}: growth of time, exponent", slope, 1.05, ""))
    for wait in found.waits:
        if wait.name in WAITS:
            most = WAITS[wait.name][FORMATS.index(wait.format)]
            asked.append((f"{wait.format}, {wait.size / 1e6:.1f} MB, {wait.name}", wait.seconds, most, "s"))
    for preset, spent in found.in_api.items():
        asked.append((f"16 KB in the Python API, preset {preset}", spent, OF_ROW.get(preset, 2.5), "ms"))
    return asked


def _of_largest(format: str, rows: Sequence[Row]) -> Iterator[tuple[str, float, float, str]]:
    """Yield limits for the largest file, if it is large."""
    row = rows[-1]
    if row.size < LARGE:
        return
    for way, run in row.runs.items():
        what = f"{format}, {row.size / 1e6:.0f} MB, preset {way}"
        if way in FAST:
            speed = FAST[way][FORMATS.index(format)]
            yield f"{what}: time for {speed:g} MB", speed * 1e6 * run.cost.processor / row.size, 1.0, "s"
        yield f"{what}: memory, times the file", run.cost.peak / row.size, 6.0, "x"


def growth(rows: Sequence[Row], way: str) -> float | None:
    """Fit the exponent of processor time, minus the smallest file's, from about 5 MB on."""
    start = rows[0].runs[way].cost.processor
    large = [row for row in rows[1:] if row.size > COMPARED / 2 * 1e6 and way in row.runs]
    return exponent([row.size for row in large], [row.runs[way].cost.processor - start for row in large])


def _compared(found: Found, format: str) -> Row:
    """Return the row at which other tools ran."""
    return min((row for row in found.rows if row.format == format), key=lambda row: abs(row.size / 1e6 - COMPARED))


Cells = dict[str, dict[str, tuple[str, ...]]]
"""The figures of a table: by row, then by format."""


def tables(found: Found, date: str, machine: str) -> Iterator[str]:
    yield f"Measured on {date}, {machine}."
    if found.versions:
        yield "Other tools: " + ", ".join(f"{name} {version}" for name, version in found.versions.items()) + "."
    yield "\n### Start\n"
    taken = {name: min(one.processor for one in costs) for name, costs in found.starts.items()}
    bare = taken[BARE]
    starts: Cells = {f"`{name}`": {"": (f"{one * 1_000:.0f}", f"{one / bare:.1f}")} for name, one in taken.items()}
    yield from _table(("ms", "times the bare interpreter"), starts)
    largest = {row.format: row.size for row in found.rows}
    sizes: dict[str, list[Row]] = {}
    for row in found.rows:
        if row.size > 1e6 or max(largest.values()) < 1e6:  # Smaller files only show the start.
            sizes.setdefault(f"{row.size / 1e6:.{0 if row.size > 1e6 else 2}f} MB", []).append(row)
    for size, rows in sizes.items():
        yield f"\n### {size}\n"
        yield from _table(("work alone, s", "seconds", "peak MB"), _of_size(found, rows))
    if small := [wait for wait in found.waits if wait.size not in {row.size for row in found.rows}]:
        yield "\n### 200,000 tokens\n"
        waits: Cells = {}
        for wait in small:
            waits.setdefault(wait.name, {})[wait.format] = (f"{wait.seconds:.2f}",)
        yield from _table(("seconds",), waits)
    if found.in_api:
        yield "\n### Short conversations through the Python API\n"
        short: Cells = {preset: {"": (f"{spent:.1f}",)} for preset, spent in found.in_api.items()}
        yield from _table(("ms for each of 16 KB",), short)


def _of_size(found: Found, rows: Sequence[Row]) -> Cells:
    """Return what was measured on files of a size: the default preset first, then other commands and tools."""
    cells: Cells = {}
    for row in rows:
        format = row.format
        for way, run in row.runs.items():
            if " to " not in way or way.startswith(f"{next(iter(row.runs))} "):  # With a target all do the same work.
                figures = f"{run.work:.2f}", f"{run.cost.processor:.2f}", f"{run.cost.peak / 1e6:.0f}"
                cells.setdefault(way, {})[format] = figures
    for row in rows:
        format = row.format
        floor = "", f"{row.floor.processor:.2f}", f"{row.floor.peak / 1e6:.0f}"
        cells.setdefault("reading, counting once, writing", {})[format] = floor
        for wait in found.waits:
            if (wait.format, wait.size) == (format, row.size):
                cells.setdefault(wait.name, {})[format] = "", f"{wait.seconds:.2f}", f"{wait.peak / 1e6:.0f}"
        for one in found.asked if row is _compared(found, format) else ():
            if one.format == format:
                cells.setdefault(one.name, {})[format] = f"{one.work:.2f}", f"{one.process:.2f}", ""
    return cells


def _table(heads: Sequence[str], cells: Cells) -> Iterator[str]:
    formats = [*dict.fromkeys(format for row in cells.values() for format in row)]
    yield "| | " + " | ".join(", ".join(filter(None, (format, head))) for format in formats for head in heads) + " |"
    yield "| --- |" + " ---: |" * len(formats) * len(heads)
    for name, row in cells.items():
        figures = (figure for format in formats for figure in row.get(format, ("",) * len(heads)))
        yield f"| {name} | " + " | ".join(figures) + " |"


def goals(found: Found) -> Iterator[str]:
    """Yield the table of limits, for those who work on the program."""
    yield "| | measured | at most | |"
    yield "| --- | ---: | ---: | --- |"
    for what, measured, most, unit in targets(found):
        yield f"| {what} | {measured:.2f} {unit} | {most:g} {unit} | {'met' if measured <= most else 'missed'} |"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--sizes", type=float, nargs="*", default=SIZES, metavar="MB", help="(default: 0.5 5 50)")
    parser.add_argument("--formats", nargs="+", default=FORMATS, choices=FORMATS, metavar="NAME")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each command (default: 3)")
    parser.add_argument("--starts", type=int, default=20, help="starts of each command (default: 20)")
    parser.add_argument("--peers", nargs="*", default=PACKAGES, metavar="PACKAGE")
    parser.add_argument("--presets", nargs="+", default=PRESETS, choices=PRESETS, metavar="NAME")
    parser.add_argument("--large", nargs="+", default=[*FAST], choices=PRESETS, metavar="NAME", help="of large files")
    parser.add_argument("--rows", type=int, default=100, help="conversations through the Python API (default: 100)")
    parser.add_argument("--waits", action=argparse.BooleanOptionalAction, default=True, help="other commands as well")
    parser.add_argument("--cache", type=Path, default=user_cache_path("condense-benchmarks"), metavar="DIR")
    parser.add_argument("--machine", default="on this machine", help="what the page says of it")
    parser.add_argument("--write", action="store_true", help=f"write the tables into {PAGE.relative_to(PROJECT)}")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="condense-bench-") as name:
        folder = Path(name)
        variables = environment(folder / "bytecode")
        small = write_synthetic(folder, SMALL, "anthropic")
        found = Found(in_turns(start_commands(small), options.starts, variables))
        if options.rows and options.sizes:
            found.in_api = rows_in_api(options.presets, options.rows, variables)
        for format in options.formats if options.sizes else ():
            compared = min(options.sizes, key=lambda size: abs(size - COMPARED))
            if options.waits:
                small = write_chained(folder, min(SMALLER, compared), format)
                found.waits += small_waits(small, format, max(1, options.rounds), variables)
            for megabytes in (SMALL, *sorted(options.sizes)):
                path = write_chained(folder, megabytes, format)
                ways = ways_of(options.presets)
                if megabytes * 1e6 >= LARGE:
                    # With a target all presets do the same work.
                    ways = [*options.large, *ways_of(options.large[:1])[1:]]
                found.rows.append(measure(path, format, max(1, options.rounds), variables, ways))
                if megabytes == compared and options.waits:
                    found.waits += waits_at(path, format, max(1, options.rounds), variables)
                if megabytes == compared and options.peers:
                    asked, versions = ask(path, format, options.peers, options.cache, max(1, options.rounds))
                    found.asked += asked
                    found.versions |= versions
                path.unlink()
                print(f"{format}, {megabytes:g} MB", file=sys.stderr, flush=True)
    print("\n".join(goals(found)), file=sys.stderr)
    text = "\n".join(tables(found, datetime.datetime.now(datetime.UTC).date().isoformat(), options.machine))
    if not options.write:
        print(text)
        return
    replace_between(PAGE, BEGIN, END, text)


if __name__ == "__main__":
    main()
