"""Compare the output of this checkout with that of another commit, byte for byte.

    python benchmarks/same_output.py --against HEAD~1            about an hour on all recorded transcripts
    python benchmarks/same_output.py --against v0.9 --files 40   on that many, of all formats

Each transcript is condensed with every preset, without a target and to shares of its tokens, in several ways: as is,
with references of an earlier run, with its older half pinned, with a model that binds thinking to preceding content,
without the prelude, and twice in a row. Differences are summed up by way and preset: tokens left, targets met, and the
share of the input's facts kept; `--list` shows each case. Status 1 if a result is more than 1 % larger, a target that
was met is missed, a run fails, or the share of facts falls by more than half a point. The last line has the processor
seconds of both.

Results of the other commit are cached below --store.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from recorded import MORE, PROJECT, SAMPLES, TRANSCRIPTS

FOLDERS: Final = (TRANSCRIPTS, MORE, SAMPLES)
SHARES: Final = (95, 90, 80, 62, 50, 30)
"""Targets, in percent of a transcript's tokens."""

PRESETS: Final = ("balanced", "lossless", "speed", "quality", "cost", "max")
BOUND: Final = "claude-opus-5-5"
"""A model that rejects thinking once preceding content changed."""

LARGER, FEWER_FACTS = 1.01, 0.005


class Way(NamedTuple):
    """Presets, and targets in percent (0: none)."""

    presets: Sequence[str]
    shares: Sequence[int]


WAYS: Final = {
    "fresh": Way(PRESETS, (0, *SHARES)),
    "references": Way(PRESETS, (0, 62, 30)),
    "pinned": Way(("balanced", "speed", "max"), (0, 62, 30)),
    "bound": Way(("balanced", "speed", "max", "lossless"), (0, 90, 62)),
    "no prelude": Way(("balanced", "cost", "max"), (0, 50)),
    "twice": Way(PRESETS, (0, 50)),
}


class Case(NamedTuple):
    file: str
    way: str
    preset: str
    share: int


class Outcome(NamedTuple):
    """Result of a case, in model tokens; only `error` if the run failed."""

    digest: str = ""
    tokens: int = 0
    is_met: bool = True
    seconds: float = 0.0
    error: str = ""


def files(number: int, largest: int) -> list[Path]:
    """Return `number` transcripts of at most `largest` bytes, spread over all folders; 0 is all of them."""
    found = sorted(
        path
        for folder in FOLDERS
        for path in folder.rglob("*")
        if path.is_file() and path.suffix in {".json", ".jsonl", ".traj"} and path.stat().st_size <= largest
    )
    return found if not number or number >= len(found) else [found[i * len(found) // number] for i in range(number)]


def run_cases(paths: Sequence[str], ways: Sequence[str], store: Path) -> None:
    """Run every case of some files with the importable condense_cli; print one line of JSON per case."""
    for path in paths:
        for case, outcome, data in _of_file(Path(path), ways):
            if data:
                (store / outcome.digest).write_bytes(zlib.compress(data, 1))
            print(json.dumps([*case, *outcome]), flush=True)


def _of_file(path: Path, ways: Sequence[str]) -> Iterator[tuple[Case, Outcome, bytes]]:
    import condense_cli
    from condense_cli.errors import CondenseError
    from condense_cli.formats import format_named

    try:
        whole = condense_cli.load(path)
    except CondenseError:
        return
    if not format_named(whole.format).is_writable:
        return
    result = condense_cli.condense(whole, preset="lossless")
    tokens, lossless = result.shown_before, condense_cli.dump(result)
    for name in ways:
        way = WAYS[name]
        for preset in way.presets:
            for share in way.shares:
                given: dict[str, Any] = {"configuration": {"preset": preset}}
                data = lossless if name == "references" else None
                if name == "bound":
                    given["model"] = BOUND
                if name == "pinned":
                    given["overrides"] = condense_cli.overrides_from(keep=[f"0:{max(1, len(whole.messages) // 2)}"])
                if name == "no prelude":
                    given["configuration"]["lossless_prelude"] = {"enabled": False}
                if share:
                    given["target_tokens"] = max(1, tokens * share // 100)
                outcome, written = _outcome(path, data, given, times=2 if name == "twice" else 1)
                yield Case(str(path), name, preset, share), outcome, written


def _outcome(path: Path, data: bytes | None, given: dict[str, Any], times: int) -> tuple[Outcome, bytes]:
    import condense_cli

    started = time.process_time()
    try:
        for _ in range(times):
            transcript = condense_cli.load(path) if data is None else condense_cli.loads(data)
            result = condense_cli.condense(transcript, **given)
            data = condense_cli.dump(result)
    except Exception as error:  # Any error is the outcome of this case.
        return Outcome(error=f"{type(error).__name__}: {str(error)[:200]}"), b""
    seconds = time.process_time() - started
    assert data is not None
    digest = hashlib.sha256(data).hexdigest()[:32]
    return Outcome(digest, result.shown_after, not result.is_target_missed, round(seconds, 3)), data


def outcomes(checkout: Path, paths: Sequence[Path], ways: Sequence[str], store: Path) -> dict[Case, Outcome]:
    """Return the outcome of every case with a checkout's condense_cli, reusing those in the store."""
    store.mkdir(parents=True, exist_ok=True)
    log = store / "outcomes.jsonl"
    lines = log.read_text().splitlines() if log.exists() else []
    found = {Case(*line[:4]): Outcome(*line[4:]) for line in map(json.loads, lines)}
    known = {(case.file, case.way) for case in found}
    for way in ways:
        missing = [str(path) for path in paths if (str(path), way) not in known]
        if not missing:
            continue
        command = [sys.executable, __file__, "--run", "--store", str(store), "--ways", way, "--", *missing]
        environment = os.environ | {"PYTHONPATH": str(checkout), "PYTHONHASHSEED": "0"}
        with (
            subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process,
            log.open("a") as to,
        ):
            assert process.stdout is not None
            for line in process.stdout:
                to.write(line)
                values = json.loads(line)
                found[Case(*values[:4])] = Outcome(*values[4:])
        if process.returncode:
            raise SystemExit(f"{checkout}: ended with status {process.returncode}.")
    return found


class Difference(NamedTuple):
    case: Case
    old: Outcome
    new: Outcome
    old_facts: float
    new_facts: float

    @property
    def ratio(self) -> float:
        return self.new.tokens / max(1, self.old.tokens)

    @property
    def is_worse(self) -> bool:
        lost_target = self.old.is_met and not self.new.is_met
        return bool(self.new.error) or lost_target or (not self.old.error and self.ratio > LARGER)


def differences(old: dict[Case, Outcome], new: dict[Case, Outcome], stores: tuple[Path, Path]) -> Iterator[Difference]:
    for case in old.keys() & new.keys():
        was, now = old[case], new[case]
        if was.digest != now.digest or was.error != now.error:
            shares = [_facts_kept(case, one, store) for one, store in zip((was, now), stores, strict=True)]
            yield Difference(case, was, now, *shares)


def _facts_kept(case: Case, outcome: Outcome, store: Path) -> float:
    """Return the share of the input's distinct facts in the output."""
    from condense_cli.core.text_facts import facts_of

    if outcome.error:
        return 0.0
    before = set(facts_of(Path(case.file).read_text(errors="replace")))
    after = set(facts_of(zlib.decompress((store / outcome.digest).read_bytes()).decode(errors="replace")))
    return len(before & after) / max(1, len(before))


def report(found: Sequence[Difference], cases: int, *, lists: bool) -> Iterator[str]:
    yield f"{cases - len(found):,} of {cases:,} results are the same bytes."
    groups = defaultdict[tuple[str, str], list[Difference]](list)
    for one in found:
        groups[one.case.way, one.case.preset].append(one)
    for (way, preset), group in sorted(groups.items()):
        sizes = sum(one.new.tokens for one in group) / max(1, sum(one.old.tokens for one in group))
        facts = sum(one.new_facts - one.old_facts for one in group) / len(group)
        yield (
            f"{way:<11} {preset:<9} {len(group):>4} differ: tokens x {sizes:.3f} (at most x {_largest(group):.3f}), "
            f"facts {facts:+.4f}, worse {sum(one.is_worse for one in group)}"
        )
    for one in sorted(found, key=lambda one: -one.ratio):
        if lists or one.is_worse:
            case, name = one.case, "/".join(Path(one.case.file).parts[-2:])
            met = f"{one.old.is_met} -> {one.new.is_met}"
            shares = f"{one.old_facts:.3f} -> {one.new_facts:.3f}"
            tokens = f"{one.old.tokens:,} -> {one.new.tokens:,}"
            yield f"  {case.way} {case.preset} {case.share} {name}: {tokens}, met {met}, facts {shares} {one.new.error}"


def _largest(group: Iterable[Difference]) -> float:
    return max(one.ratio for one in group)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", metavar="COMMIT", help="the commit to compare with")
    parser.add_argument("--files", type=int, default=0, metavar="N", help="that many transcripts; 0: all")
    parser.add_argument("--largest", type=int, default=400_000, metavar="BYTES", help="no larger transcripts")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=[*WAYS])
    parser.add_argument("--store", type=Path, default=Path(tempfile.gettempdir()) / "condense-same-output")
    parser.add_argument("--list", action="store_true", help="name every case that differs")
    parser.add_argument("--run", action="store_true", help=argparse.SUPPRESS)
    options, rest = parser.parse_known_args()
    if options.run:
        run_cases([name for name in rest if name != "--"], options.ways, options.store)
        return
    paths = files(options.files, options.largest)
    commit = _git("rev-parse", f"{options.against}^{{commit}}")
    with tempfile.TemporaryDirectory() as folder:
        checkout = Path(folder) / "checkout"
        _git("worktree", "add", "--detach", str(checkout), commit)
        try:
            for table in (PROJECT / "condense_cli" / "core").glob("*.table"):  # Made by the set-up of a checkout.
                (checkout / "condense_cli" / "core" / table.name).write_bytes(table.read_bytes())
            old = outcomes(checkout, paths, options.ways, options.store / commit)
        finally:
            _git("worktree", "remove", "--force", str(checkout))
        store = Path(folder) / "new"
        new = outcomes(PROJECT, paths, options.ways, store)
        cases = old.keys() & new.keys()
        found = [*differences(old, new, (options.store / commit, store))]
    print("\n".join(report(found, len(cases), lists=options.list)))
    seconds = [sum(side[case].seconds for case in cases) for side in (old, new)]
    print(f"Processor seconds: {seconds[0]:.0f} -> {seconds[1]:.0f} (x {seconds[1] / max(0.1, seconds[0]):.2f})")
    fewer = sum(one.old_facts - one.new_facts for one in found) / max(1, len(cases))
    if any(one.is_worse for one in found) or fewer > FEWER_FACTS:
        raise SystemExit(1)


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=PROJECT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


if __name__ == "__main__":
    main()
