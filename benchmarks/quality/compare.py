"""Measures condense and other tools on the same transcripts, and writes the tables of docs/quality.md.

    python benchmarks/quality/compare.py
    python benchmarks/quality/compare.py --transcripts ~/.claude/projects --json found.json --limit 5
    python benchmarks/quality/compare.py --write

Without `--transcripts` the recorded transcripts beside the project are taken, where they are present. The other tools
are installed from the package index into a cache folder, each into an environment of its own, and run in throw-away
homes. All of them see the same conversations cut at the same places, and what they leave is asked the same questions.
"""

from __future__ import annotations

import argparse
import datetime
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Final

import msgspec
from page import CALLS, CLAUDE, GROUPS, PAGE, WITNESSES, Found, tables, written
from peers import PEERS, Peer, PeerError, Worker, version_of
from platformdirs import user_cache_path
from shapes import ShapeError, message_list, messages_from, messages_of, session_file

import condense_cli
from condense_cli import api
from condense_cli.config.loading import parse_configuration
from condense_cli.config.preset_folders import preset_names
from condense_cli.config.presets import load_preset
from condense_cli.core.transcript import Message, Transcript
from condense_cli.errors import CondenseError
from condense_cli.measuring import KNOWN_WAYS, configured
from condense_cli.quality.asked import texts_in
from condense_cli.quality.cases import Case, Way
from condense_cli.quality.evaluation import Evaluated, evaluate

PROJECT: Final = Path(__file__).resolve().parent.parent.parent
RECORDED: Final = PROJECT.parent / "shared" / "transcripts"
SUFFIXES: Final = {".json", ".jsonl", ".traj"}
BUDGETS: Final = (0.8, 0.7, 0.5, 0.3)
SESSION: Final = "0b9f3a52-7c1d-4e86-9a40-5d2e8c6f1b73.jsonl"
"""The name of a session file: file tools expect one that is an id."""


class Meter:
    """Seconds of the processor: our own, and in place of the time that passes while a peer works, the peer's."""

    def __init__(self) -> None:
        self._corrected = 0.0

    def __call__(self) -> float:
        return time.process_time() + self._corrected

    def ask(self, worker: Worker, given: Any, setting: dict[str, Any]) -> Any:
        found, seconds = worker.ask(given, setting)
        self._corrected += seconds
        return found

    @contextmanager
    def not_counted(self) -> Iterator[None]:
        started = time.process_time()
        try:
            yield
        finally:
            self._corrected -= time.process_time() - started


class AskedPeer:
    """A peer as a way to condense, in each of its settings."""

    def __init__(self, peer: Peer, cache: Path, home: Path, meter: Meter) -> None:
        self.peer = peer
        self.worker = Worker(peer, cache, home)
        self._home, self._meter = home, meter
        self._numbers = count()
        self.way = Way(peer.name, None, tuple((setting, partial(self._ask, setting)) for setting in peer.settings))

    def _ask(self, setting: str, case: Case) -> Sequence[Message]:
        with self._meter.not_counted():
            try:
                return self._answer(self.peer.settings[setting], case.before)
            except (PeerError, ShapeError) as error:
                raise CondenseError(str(error)) from error

    def _answer(self, setting: dict[str, Any], before: Transcript) -> Sequence[Message]:
        if self.peer.takes == "messages":
            shown = message_list(before.messages)
            return messages_from(before.messages, shown, self._meter.ask(self.worker, shown.messages, setting))
        folder = self._home / ".claude" / "projects" / f"project-{next(self._numbers)}"
        folder.mkdir(parents=True)
        path = folder / SESSION
        path.write_bytes(session_file(before))
        output = Path(self._meter.ask(self.worker, str(path), setting))
        return messages_of(output.read_bytes(), before.format)


def measured(
    files: Sequence[Path], own: Sequence[Way], peers: Sequence[AskedPeer], meter: Meter, limit: int | None
) -> dict[str, list[Evaluated]]:
    """What was measured, by group.

    In a group every way is measured on every transcript. A conversation that is there twice counts once.
    """
    found: dict[str, list[Evaluated]] = {group: [] for group in GROUPS}
    seen: set[tuple[str, ...]] = set()
    for path in files:
        try:
            transcript = api.load(path)
        except CondenseError:
            continue
        group = next(group for group, formats in GROUPS.items() if not formats or transcript.format in formats)
        texts = tuple(texts_in(transcript.messages))
        if texts in seen or (limit is not None and len(found[group]) >= limit):
            continue
        seen.add(texts)
        fitting = [peer for peer in peers if group == CLAUDE or (group == CALLS and peer.peer.takes == "messages")]
        ways = [*own, *(peer.way for peer in fitting)]
        result = evaluate(transcript, ways, budgets=BUDGETS, witnesses=WITNESSES, name=path.name, clock=meter)
        if result.cuts:
            found[group].append(result)
            print(f"{path.name}: {len(result.cuts)} cuts, {result.tokens:,} tokens", file=sys.stderr, flush=True)
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--transcripts", type=Path, default=RECORDED, metavar="DIR", help="folder of transcripts")
    parser.add_argument("--limit", type=int, metavar="N", help="so many transcripts of each group")
    parser.add_argument("--presets", nargs="*", default=preset_names(), metavar="NAME", help="presets, or files")
    parser.add_argument("--providers", nargs="*", default=["native"], metavar="NAME")
    parser.add_argument("--peers", nargs="*", default=sorted({peer.package for peer in PEERS}), metavar="PACKAGE")
    parser.add_argument("--cache", type=Path, default=user_cache_path("condense-benchmarks"), metavar="DIR")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all measures")
    parser.add_argument("--write", action="store_true", help=f"write the tables into {PAGE.relative_to(PROJECT)}")
    options = parser.parse_args(arguments)
    files = sorted(path for path in options.transcripts.rglob("*") if path.is_file() and path.suffix in SUFFIXES)
    if not files:
        raise SystemExit(f"There is no transcript in {options.transcripts}: name a folder with --transcripts.")
    meter = Meter()
    configurations = {name: load_preset(name) for name in options.presets}
    for name in options.providers:
        configurations[f"provider {name}"] = parse_configuration(f"provider: {name}")
    own = [*(configured(name, found) for name, found in configurations.items()), *KNOWN_WAYS.values()]
    versions: dict[str, str] = {"condense": condense_cli.__version__}
    with ExitStack() as stack:
        peers: list[AskedPeer] = []
        for peer in PEERS:
            if peer.package in options.peers:
                versions[peer.package] = version_of(peer, options.cache)
                # The same name every time: some tools write it into what they condense.
                home = options.cache / "homes" / str(len(peers))
                shutil.rmtree(home, ignore_errors=True)
                home.mkdir(parents=True)
                stack.callback(shutil.rmtree, home)
                peers.append(AskedPeer(peer, options.cache, home, meter))
                stack.callback(peers[-1].worker.close)
        groups = measured(files, own, peers, meter, options.limit)
    date = datetime.datetime.now(datetime.UTC).date().isoformat()
    found = Found(date, versions, list(BUDGETS), groups)
    if options.json:
        options.json.write_bytes(msgspec.json.encode(found))
    text = tables(found)
    if options.write:
        PAGE.write_text(written(PAGE.read_text(), text))
    else:
        print(text)


if __name__ == "__main__":
    main()
