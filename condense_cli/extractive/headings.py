"""What stands over lines of a summary: whose they are, and of a call what it works on and whether it was done."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from ..core.lazy_pattern import lazy_pattern
from ..core.transcript import Block
from ..toolcalls.outcomes import Results, tells_failure
from ..toolcalls.tools import (
    arguments_of,
    command_of_editor,
    main_argument,
    matched_texts,
    open_file,
    paths,
    reads_a_file,
    string_values,
    writes_a_file,
)
from .parts import Part

_LONGEST: Final = 120

_ON_OPEN_FILE: Final = frozenset({"edit", "goto", "insert", "scroll_down", "scroll_up", "search_file"})
"""Tools of SWE-agent that need no path."""

_IN_FILE: Final = ("lines", "line", "pattern")
"""Arguments of these that tell which part of the file."""

_WORD: Final = lazy_pattern(r"[^\W\d_]")


class Heading(Struct, frozen=True):
    """The heading of a call in its parts: the tool, and on a line of its own what it works on, as it stood there.

    `replaced` are texts that an edit put others in place of.
    """

    tool: str
    argument: str = ""
    ending: str = ""
    replaced: frozenset[str] = frozenset()

    def __str__(self) -> str:
        argument = self.argument if len(self.argument) <= _LONGEST else self.argument[:_LONGEST] + "…"
        return f"## {self.tool}{self.ending}\n{argument}".rstrip()

    def over(self, lines: str) -> str:
        """The heading where these lines are the first below it: what they begin with is not said twice."""
        is_said = self.argument and lines.startswith(self.argument)
        return f"## {self.tool}{self.ending}" if is_said else str(self)

    def is_of(self, part: Part) -> bool:
        """Whether an argument is the one below the tool's name, whole."""
        return part.text.strip() == self.argument and len(self.argument) <= _LONGEST

    def says(self, part: Part) -> bool:
        """Whether nothing is to be told of an argument but what the heading says.

        So are numbers, such as those of lines.
        """
        text = part.text.strip()
        return text in str(self) or not _WORD.search(text)


class Headings:
    """The headings of parts, each made once."""

    def __init__(self, parts: Iterable[Part]) -> None:
        self._results: dict[int, list[Part]] = {}
        self._known: dict[int, Heading] = {}
        for part in parts:
            if part.is_result and part.call is not None:
                self._results.setdefault(id(part.call), []).append(part)

    def of(self, part: Part) -> Heading:
        call = part.call
        if call is None:
            return Heading("earlier summary" if part.block.summarizes else part.role.value)
        return self._known.get(id(call)) or self._known.setdefault(id(call), self._of_call(call))

    def _of_call(self, call: Block) -> Heading:
        parts = self._results.get(id(call), [])
        results = Results(
            tuple(part.block for part in parts), any(tells_failure(part.role, part.block) for part in parts)
        )
        works_on_file = reads_a_file(call) or writes_a_file(call)
        state = results.state if works_on_file or results.is_denied or results.is_failed else ""
        tool = f"{call.tool or 'call'} {command_of_editor(call)}".rstrip()
        return Heading(
            tool, _argument(call, results), f" ({state})" if state else "", frozenset() if state else _replaced(call)
        )


def _argument(call: Block, results: Results) -> str:
    """The first line of what tells a person what the call was about."""
    if (call.tool or "").lower() in _ON_OPEN_FILE and not paths(call):
        path = open_file(results.text)
        if path:
            arguments = arguments_of(call) or {}
            place = next((value for key in _IN_FILE if isinstance(value := arguments.get(key), str)), "")
            return f"{path} {place}".rstrip()
    return main_argument(call).strip().split("\n", 1)[0]


def _replaced(call: Block) -> frozenset[str]:
    """Texts that the call replaces with others; none where it only takes them out."""
    replaced = frozenset(matched_texts(call))
    named = replaced.union(paths(call))
    puts_others = replaced and any(
        _WORD.search(value) and value not in named for _, value in string_values(arguments_of(call) or {})
    )
    return replaced if puts_others else frozenset()
