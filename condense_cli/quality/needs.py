"""What the second part of a conversation needed of the first.

Asked are facts that the assistant wrote in the second part, and lines that its edits had to match there, where they
stood in the first part alone. What the second part shows anew before it is needed is not asked, nor is what every
request brings: the standing instructions, and words of a tool's own schema, such as the states of todos.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from msgspec import Struct

from ..core.facts import facts_of
from ..core.transcript import Block, Message
from ..core.values import STANDING_ROLES, BlockKind, Role
from ..lossless.lines import read_lines
from ..toolcalls.outcomes import Results, results_of
from ..toolcalls.tools import TASK_TOOLS, TODO_LISTS, arguments_of, matched_texts, name_of, string_values

_SHORTEST_LINE: Final = 3
"""Lines of fewer characters, such as a closing bracket, stand everywhere."""

_OF_SCHEMA: Final = frozenset({"status", "priority"})
"""What a todo has besides its words: one of a few that the schema of the tool lists, which comes with every request."""

NEXT_CALLS: Final = 20
"""So many calls after the cut tell what is needed at once."""


class Need(Struct, frozen=True):
    """What one call took from before the cut: facts, and lines that it had to match."""

    facts: frozenset[str]
    lines: frozenset[str]


class Needs(Struct, frozen=True):
    """Facts that the assistant later wrote, and lines that its later edits had to match.

    `calls` are those of the next NEXT_CALLS calls that took anything from before the cut.
    """

    facts: frozenset[str]
    lines: frozenset[str]
    calls: tuple[Need, ...] = ()


class Says(Struct, frozen=True):
    """What a text says: its facts, its lines that say something, and each of its lines without a listing's number."""

    facts: frozenset[str]
    lines: frozenset[str]
    keys: tuple[tuple[str, str], ...]
    """Lines as they stand, and as they are compared; only those that differ."""


class TextReader:
    """Reads texts, each of them once."""

    def __init__(self) -> None:
        self._known: dict[str, Says] = {}

    def __call__(self, text: str) -> Says:
        says = self._known.get(text)
        if says is None:
            lines = read_lines(text)
            facts = frozenset(facts_of("\n".join(lines.keys)))
            keys = tuple(pair for pair in zip(lines.lines, lines.keys, strict=True) if pair[0] != pair[1])
            says = self._known[text] = Says(facts, frozenset(said_lines(lines.keys)), keys)
        return says


def said_lines(keys: Iterable[str]) -> Iterator[str]:
    """Of lines without the numbers of listings those that say something."""
    for line in keys:
        line = line.removesuffix("\r")
        if len(line.strip()) >= _SHORTEST_LINE:
            yield line


def ask(before: Sequence[Message], after: Sequence[Message], read: TextReader | None = None) -> Needs:
    """What the second part of a conversation needed of the first."""
    read = read or TextReader()
    facts_known, lines_known = _said(read, (message for message in before if message.role not in STANDING_ROLES))
    facts_always, lines_always = _said(read, (message for message in before if message.role in STANDING_ROLES))
    facts_known -= facts_always
    lines_known -= lines_always
    results = results_of(after)
    facts: set[str] = set()
    lines: set[str] = set()
    calls: list[Need] = []
    for message in after:
        if message.role is Role.ASSISTANT:
            for block in message.blocks:
                if block.kind in (BlockKind.TEXT, BlockKind.TOOL_CALL):
                    written = frozenset(fact for text in _asking(block) for fact in facts_known & read(text).facts)
                    matched = frozenset(lines_known.intersection(_matched_lines(block, results)))
                    facts |= written
                    lines |= matched
                    if block.kind is BlockKind.TOOL_CALL:
                        calls.append(Need(written, matched))
        else:
            shown_facts, shown_lines = _said(read, (message,))
            facts_known -= shown_facts
            lines_known -= shown_lines
    needs = tuple(need for need in calls[:NEXT_CALLS] if need.facts or need.lines)
    return Needs(frozenset(facts), frozenset(lines), needs)


def _asking(block: Block) -> list[str]:
    """The texts of a block without the words that the schema of its tool gives."""
    if block.kind is BlockKind.TOOL_CALL and name_of(block) in TODO_LISTS | TASK_TOOLS:
        return [value for path, value in string_values(arguments_of(block) or {}) if path[-1] not in _OF_SCHEMA]
    return texts_of(block)


def texts_of(block: Block) -> list[str]:
    """The texts of a block that a reader sees: the string values of a call, otherwise its text; none of thinking."""
    if block.kind is BlockKind.THINKING:
        return []
    arguments = arguments_of(block) if block.kind is BlockKind.TOOL_CALL else None
    if arguments is None:
        text = block.text
        return [text] if text else []
    return [value for _, value in string_values(arguments) if value]


def texts_in(messages: Iterable[Message]) -> Iterator[str]:
    """The texts of all blocks, in order."""
    for message in messages:
        for block in message.blocks:
            yield from texts_of(block)


def _said(read: TextReader, messages: Iterable[Message]) -> tuple[set[str], set[str]]:
    facts: set[str] = set()
    lines: set[str] = set()
    for text in texts_in(messages):
        says = read(text)
        facts |= says.facts
        lines |= says.lines
    return facts, lines


def _matched_lines(block: Block, results: dict[int, Results]) -> set[str]:
    """Lines that an edit had to find in its file; an edit that failed did not find them."""
    if block.kind is not BlockKind.TOOL_CALL or results.get(id(block), Results()).is_refused:
        return set()
    return {line for text in matched_texts(block) for line in said_lines(read_lines(text).keys)}
