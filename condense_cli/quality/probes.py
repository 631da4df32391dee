"""What is asked of a condensed conversation, and which of it still stands there.

A conversation is cut in two. Asked are the facts and lines that the second part needed and that stood only in the
first: what the second part shows anew before it is needed is not asked. They stand if a verbatim line of the original
holds them; that a summary names them does not count here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct

from ..facts import facts_of
from ..lossless.lines import read_lines
from ..markers import ELLIPSIS, PREFIX, parse_gap
from ..tools import arguments_of, matched_texts, string_values
from ..transcript import Block, BlockKind, Message, Role

_SHORTEST_LINE: Final = 3
"""Lines of fewer characters, such as a closing bracket, stand everywhere."""


class Asked(Struct, frozen=True):
    """Facts that the assistant later wrote, and lines that its later edits had to match."""

    facts: frozenset[str]
    lines: frozenset[str]


class Recall(Struct, frozen=True):
    """How many of the facts and lines that were asked still stand."""

    facts_asked: int
    facts_standing: int
    lines_asked: int
    lines_standing: int

    @property
    def facts(self) -> float | None:
        """Fact recall from 0 to 1; None where no fact was asked."""
        return self.facts_standing / self.facts_asked if self.facts_asked else None

    @property
    def edits(self) -> float | None:
        """Edit recall from 0 to 1; None where no line was asked."""
        return self.lines_standing / self.lines_asked if self.lines_asked else None


def ask(before: Sequence[Message], after: Sequence[Message]) -> Asked:
    """What the second part of a conversation needed of the first."""
    known_facts: set[str] = set()
    known_lines: set[str] = set()
    for text in _texts(before):
        known_facts.update(_facts(text))
        known_lines.update(_lines(text))
    facts: set[str] = set()
    lines: set[str] = set()
    for message in after:
        if message.role is Role.ASSISTANT:
            for block in message.blocks:
                for line in _matched_lines(block):
                    if line in known_lines:
                        lines.add(line)
                for text in _written(block):
                    facts.update(known_facts.intersection(_facts(text)))
        else:
            for text in _texts((message,)):
                # What is shown anew is known again, and not asked from here on; what was asked before stays asked.
                known_facts.difference_update(_facts(text))
                known_lines.difference_update(_lines(text))
    return Asked(frozenset(facts), frozenset(lines))


def recall(asked: Asked, original: Sequence[str], condensed: Sequence[str]) -> Recall:
    """Which of it still stands. Both arguments are the texts of the first part, before and after condensing."""
    facts: set[str] = set()
    lines: set[str] = set()
    unchanged = set(original)
    for text in condensed:
        if text in unchanged:
            facts.update(_facts(text))
            lines.update(_lines(text))
    # Only what was cut has to be compared line by line.
    cut = [text for text in condensed if text not in unchanged]
    originals = {line for text in original for line in text.split("\n")} if cut else set()
    for text in cut:
        verbatim = _verbatim_lines(text, originals, original)
        facts.update(_facts("\n".join(verbatim)))
        lines.update(_lines("\n".join(verbatim)))
    return Recall(len(asked.facts), len(asked.facts & facts), len(asked.lines), len(asked.lines & lines))


def texts_of(block: Block) -> list[str]:
    """The texts of a block: the string values of a call, otherwise its text."""
    arguments = arguments_of(block) if block.kind is BlockKind.TOOL_CALL else None
    if arguments is None:
        return [block.text] if block.text else []
    return [value for _, value in string_values(arguments) if value]


def _verbatim_lines(text: str, originals: set[str], texts: Sequence[str]) -> list[str]:
    found = []
    for line in text.split("\n"):
        if line in originals:
            if not (line.startswith(PREFIX) and parse_gap(line)):
                found.append(line)
        elif line.startswith(ELLIPSIS) or line.endswith(ELLIPSIS):
            part = line.removeprefix(ELLIPSIS).removesuffix(ELLIPSIS)
            if part and any(part in original for original in texts):
                found.append(part)
    return found


def _texts(messages: Iterable[Message]) -> Iterable[str]:
    for message in messages:
        for block in message.blocks:
            if block.kind is not BlockKind.THINKING:
                yield from texts_of(block)


def _written(block: Block) -> list[str]:
    return texts_of(block) if block.kind in (BlockKind.TEXT, BlockKind.TOOL_CALL) else []


def _matched_lines(block: Block) -> set[str]:
    if block.kind is not BlockKind.TOOL_CALL:
        return set()
    return {line for text in matched_texts(block) for line in _lines(text)}


def _facts(text: str) -> list[str]:
    """Facts of a text. The numbers that a listing prints before its lines are none."""
    return facts_of("\n".join(read_lines(text).keys))


def _lines(text: str) -> set[str]:
    """Lines of a text without the numbers of listings, those that say something."""
    return {key for line in read_lines(text).keys if len((key := line.removesuffix("\r")).strip()) >= _SHORTEST_LINE}
