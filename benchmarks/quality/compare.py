"""Measure condense and other tools on the same transcripts, and write the tables of docs/quality.md.

    python benchmarks/quality/compare.py --sample 8
    python benchmarks/quality/compare.py --group mine ~/.claude/projects --sample 5 --peers langchain
    python benchmarks/quality/compare.py --sample 8 --write

Measures and sessions are those of `benchmarks/witnesses.py`. The other tools are installed from the package index into
a cache folder, each in its own environment, and run in throw-away homes. All get the same conversations cut at the same
places, and their results are asked the same questions.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import figures
from measure_tables import tables
from peers import PEERS, Peer, PeerError, Worker, fresh_home, version_of
from platformdirs import user_cache_path
from recorded import DOCS, PROJECT, replace_between
from shapes import ShapeError, message_list, messages_from, messages_of, session_file
from witnesses import Options, measured, measured_groups, parser_of

from condense_cli.core.transcript import Message, Transcript
from condense_cli.errors import CondenseError
from condense_cli.quality.cases import Case, Way
from condense_cli.quality.evaluation import Evaluated

PAGE: Final = DOCS / "quality.md"
BEGIN: Final = "<!-- tables: written by benchmarks/quality/compare.py --write -->"
END: Final = "<!-- end of the tables -->"


class AskedPeer:
    """A peer as a way to condense, in each of its settings, in a process and home of its own."""

    def __init__(self, peer: Peer, cache_folder: Path) -> None:
        self._peer = peer
        self._worker = Worker(peer, cache_folder, fresh_home(cache_folder, str(PEERS.index(peer))))
        self.way = Way(peer.name, None, tuple((setting, partial(self._ask, setting)) for setting in peer.settings))

    def _ask(self, setting: str, case: Case) -> Sequence[Message]:
        try:
            return self._answer(self._peer.settings[setting], case.before)
        except (PeerError, ShapeError) as error:
            raise CondenseError(str(error)) from error

    def _answer(self, setting: dict[str, Any], before: Transcript) -> Sequence[Message]:
        if self._peer.takes == "messages":
            shown = message_list(before.messages)
            return messages_from(before.messages, shown, self._worker.ask(shown.messages, setting)[0])
        if before.format != "claude-code":
            raise ShapeError("it reads session files of Claude Code alone")
        return messages_of(self._worker.ask_file(session_file(before), setting).read_bytes(), before.format)


@cache
def _asked(packages: tuple[str, ...], cache_folder: Path) -> tuple[AskedPeer, ...]:
    """Return the peers of this process."""
    return tuple(AskedPeer(peer, cache_folder) for peer in PEERS if peer.package in packages)


def with_peers(packages: tuple[str, ...], cache_folder: Path, options: Options, path: Path) -> Evaluated | None:
    return measured(options, path, [peer.way for peer in _asked(packages, cache_folder)])


def main(arguments: Sequence[str] | None = None) -> None:
    parser = parser_of(__doc__ or "")
    parser.add_argument("--peers", nargs="*", default=sorted({peer.package for peer in PEERS}), metavar="PACKAGE")
    parser.add_argument("--cache", type=Path, default=user_cache_path("condense-benchmarks"), metavar="DIR")
    parser.add_argument("--write", action="store_true", help=f"write the tables into {PAGE.relative_to(PROJECT)}")
    given = parser.parse_args(arguments)
    versions = {peer.package: version_of(peer, given.cache) for peer in PEERS if peer.package in given.peers}
    groups = measured_groups(given, partial(with_peers, tuple(given.peers), given.cache))
    shutil.rmtree(given.cache / "homes", ignore_errors=True)
    text = tables(groups, given.measures, versions)
    if given.write:
        replace_between(PAGE, BEGIN, END, text)
        every = (Path(one.name) for projects in groups.values() for found in projects.values() for one in found)
        figures.keep("quality", every, [f"{package} {version}" for package, version in versions.items()])
    else:
        print(text)


if __name__ == "__main__":
    main()
