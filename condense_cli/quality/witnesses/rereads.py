"""Re-reads: what it costs to read again every file that a lost fact or edit line came from.

A fact or line came from the file that the newest read or change before the cut shows it in. Reading a file again
costs as many tokens as the longest text that showed it before the cut. The measure is 1 less the cost of the files of
which anything is lost, as a share of the cost of all files that anything came from.

It sees that one lost line of a long file costs more than all of a short one. It does not see what no file holds (words,
output of programs), nor that reading a part may be enough, nor that the file may have changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ...core.transcript import Block, Message
from ...ledger.collect import file_effects, worked_on
from ...toolcalls.outcomes import Results, calls_with_results
from ...toolcalls.tools import command_lines, reads_a_file, writes_a_file
from ..needs import texts_of
from ..recall import Questions
from .condensed import Condensed

Files = tuple[str, ...]
"""The path that a text shows, or the paths of several files at once, which are read again together."""


class Rereads:
    """Where what is asked came from, and what that costs. `count` gives the tokens of a text."""

    def __init__(self, before: Sequence[Message], questions: Questions, count: Callable[[str], int]) -> None:
        self._facts: dict[str, Files] = {}
        self._lines: dict[str, Files] = {}
        self._cost: dict[Files, int] = {}
        for files, text in _shown(before):
            facts, lines = questions.said(text)
            # Who lost the path of a file does not find it in the file.
            self._facts.update({fact: files for fact in facts if not any(fact in path for path in files)})
            self._lines.update(dict.fromkeys(lines, files))
            self._cost[files] = max(self._cost.get(files, 0), count(text))

    def __call__(self, kept: Condensed) -> float | None:
        """The share that need not be read again; None where nothing that is asked came from a file."""
        asked = {*self._facts.values(), *self._lines.values()}
        lost = {files for fact, files in self._facts.items() if fact not in kept.standing.facts}
        lost |= {files for line, files in self._lines.items() if line not in kept.standing.lines}
        everything = sum(self._cost[files] for files in asked)
        return 1 - sum(self._cost[files] for files in lost) / everything if everything else None


def _shown(messages: Sequence[Message]) -> Iterator[tuple[Files, str]]:
    """Texts that show files, in the order of the calls."""
    for call, found in calls_with_results(messages):
        files = tuple(dict.fromkeys(_files(call, found)))
        if files and not found.is_refused:
            # What a call says that only reads is no content.
            parts = (call, *found.blocks) if writes_a_file(call) else found.blocks
            yield from ((files, text) for part in parts for text in texts_of(part))


def _files(call: Block, results: Results) -> Iterator[str]:
    if reads_a_file(call) or writes_a_file(call):
        yield from worked_on(call, results)
    for command in command_lines(call):
        yield from (effect.path for effect in file_effects(command) if effect.kind == "read")
