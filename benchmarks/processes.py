"""Run commands and measure their time and memory."""

from __future__ import annotations

import math
import os
import resource
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from synthetic import Format, write_transcript

_RSS_UNIT: Final = 1 if sys.platform == "darwin" else 1_024
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")
_INTERVAL: Final = 0.05
Inputs = Mapping[str, Path]
NO_INPUTS: Final[Inputs] = {}

LAUNCH: Final = """
import os, sys, time
nowhere = os.open(os.devnull, os.O_RDWR)
started = time.perf_counter()
files = [(os.POSIX_SPAWN_OPEN, 0, sys.argv[1], os.O_RDONLY, 0)]
files += [(os.POSIX_SPAWN_DUP2, nowhere, number) for number in (1, 2)]
process = os.posix_spawnp(sys.argv[2], sys.argv[2:], os.environ, file_actions=files)
_, status, usage = os.wait4(process, 0)
seconds = time.perf_counter() - started
print(os.waitstatus_to_exitcode(status), seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss)
"""


@dataclass(frozen=True)
class Cost:
    """Cost of one process: wall seconds, processor seconds, and peak memory in bytes."""

    seconds: float
    processor: float
    peak: int

    def best(self, other: Cost) -> Cost:
        return Cost(min(self.seconds, other.seconds), min(self.processor, other.processor), min(self.peak, other.peak))


def cost(command: Sequence[str], variables: Mapping[str, str], given: str | Path = os.devnull) -> Cost:
    """Run a command on an input file and return its own usage: RUSAGE_CHILDREN would give the largest child so far.

    A new process inherits the peak of its parent, so a bare interpreter starts it. Raises CalledProcessError.
    """
    launch = [sys.executable, "-I", "-S", "-c", LAUNCH, str(given), *command]
    said = subprocess.run(launch, stdin=subprocess.DEVNULL, capture_output=True, check=True, text=True, env=variables)
    status, seconds, processor, peak = map(float, said.stdout.split())
    if status:
        raise subprocess.CalledProcessError(int(status), command)
    return Cost(seconds, processor, int(peak) * _RSS_UNIT)


def in_turns(
    commands: Mapping[str, Sequence[str]], runs: int, variables: Mapping[str, str], given: Inputs = NO_INPUTS
) -> dict[str, list[Cost]]:
    """Measure commands in turns, so that other load affects all alike. A first round, to warm caches, is dropped.

    `given` are the input files of commands by name.
    """
    rounds = [
        {name: cost(command, variables, given.get(name, os.devnull)) for name, command in commands.items()}
        for _ in range(runs + 1)
    ]
    return {name: [one[name] for one in rounds[1:]] for name in commands}


def environment(bytecode: Path) -> dict[str, str]:
    """Return this process's variables, with compiled modules kept in the given folder."""
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return variables | {"PYTHONPYCACHEPREFIX": str(bytecode)}


def seconds_of_children() -> float:
    """Return the processor seconds of all finished children."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def write_synthetic(folder: Path, megabytes: float, format: Format) -> Path:
    """Write a synthetic transcript of this size."""
    path = folder / f"{format}-{megabytes:g}.jsonl"
    write_transcript(path, megabytes, format)
    return path


def exponent(sizes: Sequence[float], costs: Sequence[float]) -> float | None:
    """Return the least-squares slope of log cost over log size: 1 is linear growth.

    Infinity if a cost is; None with fewer than two costs above 0.
    """
    if math.inf in costs:
        return math.inf
    points = [(math.log(size), math.log(cost)) for size, cost in zip(sizes, costs, strict=True) if cost > 0]
    if len(points) < 2:
        return None
    x_mean = sum(x for x, _ in points) / len(points)
    y_mean = sum(y for _, y in points) / len(points)
    return sum((x - x_mean) * (y - y_mean) for x, y in points) / sum((x - x_mean) ** 2 for x, _ in points)


@dataclass(frozen=True)
class Watched:
    """Cost of a command with all its descendants, and its output. `peak` is their largest total memory, in bytes."""

    seconds: float
    processor: float
    peak: int
    said: bytes


def watch(command: list[str]) -> Watched:
    """Run a command and sample the memory of all its processes. Linux only. Raises CalledProcessError."""
    before, started = seconds_of_children(), time.perf_counter()
    peak = 0
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
        while process.poll() is None:
            peak = max(peak, sum(map(_resident, _family(process.pid))))
            time.sleep(_INTERVAL)
        said = process.stdout.read() if process.stdout else b""
    seconds = time.perf_counter() - started
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return Watched(seconds, seconds_of_children() - before, peak, said)


def _family(root: int) -> list[int]:
    """Return a process and all its descendants."""
    found, waiting = list[int](), [root]
    while waiting:
        process = waiting.pop()
        found.append(process)
        try:
            children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
        except OSError:  # It has ended.
            continue
        waiting += map(int, children)
    return found


def _resident(process: int) -> int:
    try:
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * _PAGE
    except (OSError, IndexError):
        return 0
