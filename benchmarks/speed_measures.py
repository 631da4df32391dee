"""Measurements of `speed.py`: commands and stages in turns, other tools, and conversations through the Python API.

Each runs in a process of its own.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from processes import Cost, cost, seconds_of_children
from synthetic import write_transcript

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
