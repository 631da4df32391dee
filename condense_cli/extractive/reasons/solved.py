"""Which calls failed, and whether a later call of their kind went well: in doubt one did."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from ...core.transcript import Block
from ...toolcalls.outcomes import DENIED, ENDED, OK, Results, command_outcome, tells_failure
from ...toolcalls.tools import command_lines, main_argument, name_of, patched_paths, paths, writes_a_file
from ..parts import Part

_PROGRAM: Final = re.compile(r"(?<![\w./$=-])[A-Za-z][\w.-]*(?![\w/=])")
_IN_ALL: Final = frozenset({"cat", "cd", "echo", "grep", "head", "sleep", "sort", "tail", "tee", "true"})
"""Words of commands that say nothing of what they are for."""


class Failures:
    """The calls of a conversation that failed and were not done again with success."""

    def __init__(self, parts: Iterable[Part]) -> None:
        answers: defaultdict[int, list[Part]] = defaultdict(list)
        for part in parts:
            if part.is_result and part.call is not None:
                answers[id(part.call)].append(part)
        well: set[str] = set()
        self._unsolved: set[int] = set()
        for call, found in reversed(answers.items()):
            of_call = found[0].call
            assert of_call is not None
            aims = _aims(of_call)
            if not _has_failed(found):
                well |= aims
            elif well.isdisjoint(aims):
                self._unsolved.add(call)

    def is_unsolved(self, part: Part) -> bool:
        """Whether a part is the result of such a call."""
        return part.is_result and id(part.call) in self._unsolved


def _has_failed(parts: Iterable[Part]) -> bool:
    """Whether a call did not do what it should; what the user did not allow is no failure."""
    parts = list(parts)
    blocks = tuple(part.block for part in parts)
    results = Results(blocks, any(tells_failure(part.role, part.block) for part in parts))
    outcome = command_outcome(results).outcome
    return outcome != DENIED and (outcome not in (OK, ENDED) or results.is_refused)


def _aims(call: Block) -> set[str]:
    """What a call is about: files that it changes, words of its commands, or else the tool with its main argument."""
    if changed := writes_a_file(call) and (patched_paths(call) or paths(call)):
        return {f"change {path}" for path in changed}
    words = {word for line in command_lines(call) for word in _PROGRAM.findall(line)} - _IN_ALL
    return words or {f"{name_of(call)} {main_argument(call)}"}
