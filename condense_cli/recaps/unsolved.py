"""Errors that nobody is known to have solved: commands that failed, and nothing like them went well since."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from ..ledger.entries import CommandEntry
from ..toolcalls.outcomes import DENIED, ENDED, OK

MOST: Final = 5

_LEADING: Final = re.compile(r"\s*+(?:cd [^&;\n]{1,300}(?:&&|;)\s*+|[A-Za-z_]\w*=\S*+\s++|(?:sudo|time|timeout \S+) )*")
_PROGRAM: Final = re.compile(r"(\S++)((?: ++\S++){0,8})")
_OPTION: Final = re.compile(r"(?<! ) ++-\S++(?: ++[/.~]\S++)?")
"""An option, with the folder that some of them name."""

_NAMES: Final = (
    "git gh npm pnpm yarn npx bun cargo go docker kubectl helm terraform make just uv pip poetry python python3 node "
    "dotnet mvn gradle bazel rake bundle composer flutter deno systemctl apt brew aws az gcloud"
)
_WITH_SUBCOMMANDS: Final = frozenset(_NAMES.split())
_RUNNING: Final = frozenset({"run", "exec", "compose"})
"""Subcommands behind which the name of what runs comes."""


def unsolved(commands: Sequence[CommandEntry]) -> tuple[CommandEntry, ...]:
    """The newest commands that failed, oldest first, where no later run of the same program, and subcommand, went well.

    Commands are in the order in which each ran last.
    """
    found: list[CommandEntry] = []
    went_well: set[str] = set()
    for command in reversed(commands):
        what = _what_runs(command.text)
        if command.outcome == OK:
            went_well.add(what)
        elif command.outcome not in (ENDED, DENIED) and what not in went_well:
            went_well.add(what)  # An older failure of the same is the same trouble.
            found.append(command)
    return tuple(reversed(found[:MOST]))


def _what_runs(text: str) -> str:
    """Program and subcommand of a command line, by which runs of the same thing are known."""
    rest = text[match.end() :] if (match := _LEADING.match(text)) else text
    named = _PROGRAM.match(rest)
    if named is None:
        return rest
    program = named[1].rpartition("/")[2]
    if program not in _WITH_SUBCOMMANDS:
        return program
    words = _OPTION.sub("", named[2]).split()
    return " ".join([program, *words[: 2 if words and words[0] in _RUNNING else 1]])
