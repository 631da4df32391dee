"""Find what the second part of a conversation needs of the first, and which of it a condensed form still holds.

Asked are facts that the assistant wrote in the second part, and lines that its edits had to match there, if they occur
only in the first part. Not asked is what the second part shows anew before it is needed, and what every request brings:
the standing instructions, and words of a tool's own schema, such as the states of todos. Files are asked by their
calls, and told by calls that are left and by ledgers.

A fact or line is present if a line of the condensed conversation is a line of the original, with or without the number
that a tool put before it. A fact is also present in a part of such a line: one marked by ellipses, or a beginning or
end of some length. A fact that is not present, but that some text names, such as a ledger or the words of a summary, is
`named`; that is counted apart.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import Final, Literal

from msgspec import Struct

from ..core.markers import ELLIPSIS, parse_gap
from ..core.text_facts import facts_of
from ..core.transcript import Block, Message
from ..core.values import STANDING_ROLES, BlockKind, Role
from ..ledger.collect import collect, merge_all
from ..ledger.entries import FileEntry, Ledger
from ..ledger.text import OPENING, parse
from ..lossless.lines import read_lines
from ..toolcalls.outcomes import Results, results_of
from ..toolcalls.tools import TASK_TOOLS, TODO_LISTS, arguments_of, matched_texts, name_of, string_values

Deed = Literal["read", "changed", "failed", "denied", "deleted", "moved"]
"""Use of a file: the last change decides, and reading alone is no change."""


def touched(messages: Sequence[Message]) -> dict[str, Deed]:
    """Return the use of each file, by its path."""
    # A summary covers what came before the remaining calls.
    ledger = merge_all([*ledgers_in(messages), collect(messages)])
    return {entry.path: _deed(entry) for entry in (*ledger.read, *ledger.changed)}


def ledgers_in(messages: Sequence[Message]) -> list[Ledger]:
    """Yield the ledgers in texts, in order."""
    found = []
    for message in messages:
        for block in message.blocks:
            if block.kind is BlockKind.TEXT and OPENING in block.content:
                ledger = parse(block.text)
                if ledger is not None:
                    found.append(ledger)
    return found


def still_told(before: Mapping[str, Deed], after: Mapping[str, Deed]) -> int:
    """Count the files for which the second part still tells what the first tells."""
    return sum(after.get(path) == deed for path, deed in before.items())


def _deed(entry: FileEntry) -> Deed:
    return entry.state or ("changed" if entry.created or entry.written or entry.edited else "read")


_SHORTEST_LINE: Final = 3
"""Lines of fewer characters, such as a closing bracket, occur everywhere."""

_OF_SCHEMA: Final = frozenset({"status", "priority"})
"""Keys of a todo beside its words; their values are from the tool's schema, which comes with every request."""

NEXT_CALLS: Final = 20
"""Calls after the cut that show what is needed at once."""


class Need(Struct, frozen=True):
    """Facts that one call took from before the cut, and lines that it had to match."""

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
    """Content of a text: its facts, its meaningful lines, and each of its lines without a listing's number."""

    facts: frozenset[str]
    lines: frozenset[str]
    keys: tuple[tuple[str, str], ...]
    """Lines as they are and as they are compared; only those that differ."""


class TextReader:
    """Reads each text once."""

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
    """Yield the meaningful lines among lines without listing numbers."""
    for line in keys:
        line = line.removesuffix("\r")
        if len(line.strip()) >= _SHORTEST_LINE:
            yield line


def ask(before: Sequence[Message], after: Sequence[Message], read: TextReader | None = None) -> Needs:
    """Return what the second part of a conversation needed of the first."""
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
    """Yield the texts of a block without words from its tool's schema."""
    if block.kind is BlockKind.TOOL_CALL and name_of(block) in TODO_LISTS | TASK_TOOLS:
        return [value for path, value in string_values(arguments_of(block) or {}) if path[-1] not in _OF_SCHEMA]
    return texts_of(block)


def texts_of(block: Block) -> list[str]:
    """Yield the texts of a block that a reader sees: the string values of a call, otherwise its text, but no
    thinking."""
    if block.kind is BlockKind.THINKING:
        return []
    arguments = arguments_of(block) if block.kind is BlockKind.TOOL_CALL else None
    if arguments is None:
        text = block.text
        return [text] if text else []
    return [value for _, value in string_values(arguments) if value]


def texts_in(messages: Iterable[Message]) -> Iterator[str]:
    """Yield the texts of all blocks, in order."""
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
    """Yield lines that an edit had to find in its file; a failed edit did not find them."""
    if block.kind is not BlockKind.TOOL_CALL or results.get(id(block), Results()).is_refused:
        return set()
    return {line for text in matched_texts(block) for line in said_lines(read_lines(text).keys)}


_LONG_PART: Final = 40
"""Characters of a part of a line that cannot be a coincidence."""


class Score(Struct, frozen=True, rename={"asked": "needed", "standing": "kept"}):
    """Number of items asked, present, and at least named."""

    asked: int
    standing: int
    named: int = 0

    @property
    def share(self) -> float | None:
        """Recall from 0 to 1; None if nothing was asked."""
        return self.standing / self.asked if self.asked else None

    @property
    def share_named(self) -> float | None:
        """Share that is not present, but named."""
        return self.named / self.asked if self.asked else None


RECALLS: Final = ("facts", "edits", "files")
"""Measures that are always computed; witnesses come on top."""


class Recall(Struct, frozen=True):
    """Scores of facts that the assistant later wrote, of lines that its later edits had to match, and of files that
    were touched, with their last use (the ledger)."""

    facts: Score
    edits: Score
    files: Score

    def shares(self) -> dict[str, float | None]:
        return {"facts": self.facts.share, "edits": self.edits.share, "files": self.files.share}


class StillThere(Struct, frozen=True):
    """Asked facts and lines that are present, and asked facts that are only named."""

    facts: frozenset[str]
    lines: frozenset[str]
    named: frozenset[str]


class Questions:
    """Questions of the second part of a conversation to any number of condensed forms of the first.

    Each text of the original is read once, and so is each text that is only in a condensed form. `read` may be
    shared between cuts of one conversation.
    """

    def __init__(self, before: Sequence[Message], after: Sequence[Message], read: TextReader | None = None) -> None:
        read = read or TextReader()
        self.asked = ask(before, after, read)
        self.files = touched(before)
        # Only asked items matter.
        self._texts: dict[str, tuple[frozenset[str], frozenset[str]]] = {}
        self._keys: dict[str, str] = {}
        self._on_line: dict[str, frozenset[str]] = {}
        for text in texts_in(before):
            if text not in self._texts:
                says = read(text)
                self._texts[text] = says.facts & self.asked.facts, says.lines & self.asked.lines
                self._keys.update(says.keys)

    def __call__(self, condensed: Sequence[Message]) -> Recall:
        return self.recall(condensed, self.standing(condensed))

    def recall(self, condensed: Sequence[Message], standing: StillThere) -> Recall:
        """Score a condensed form whose present items are known."""
        return Recall(
            Score(len(self.asked.facts), len(standing.facts), len(standing.named)),
            Score(len(self.asked.lines), len(standing.lines)),
            Score(len(self.files), still_told(self.files, touched(condensed))),
        )

    def standing(self, condensed: Sequence[Message]) -> StillThere:
        """Return the asked items that are present in a condensed form."""
        facts: set[str] = set()
        lines: set[str] = set()
        named: set[str] = set()
        for text in texts_in(condensed):
            whole = self._texts.get(text)
            if whole is not None:
                facts |= whole[0]
                lines |= whole[1]
                continue
            named |= self._facts(text)
            for line in text.split("\n"):
                self._read_line(line, facts, lines)
        for ledger in ledgers_in(condensed):
            named |= self._paths(ledger)
            for request in ledger.requests:
                for line in request.text.split("\n"):
                    self._read_line(line, facts, lines)
        return StillThere(frozenset(facts), frozenset(lines), frozenset(named - facts))

    def verbatim(self, condensed: Sequence[Message]) -> Iterator[str]:
        """Return what a condensed form holds verbatim: whole texts, otherwise lines without listing numbers,
        and parts of lines."""
        quoted = (request.text for ledger in ledgers_in(condensed) for request in ledger.requests)
        for text in chain(texts_in(condensed), quoted):
            if text in self._texts:
                yield text
                continue
            for line in text.split("\n"):
                if self._is_line(line):
                    yield self._keys.get(line, line)
                elif line not in self._lines and self._is_part(line):
                    yield line

    def said(self, text: str) -> tuple[frozenset[str], frozenset[str]]:
        """Return the asked facts and lines in a text of the original."""
        return self._texts[text]

    def _read_line(self, line: str, facts: set[str], lines: set[str]) -> None:
        if self._is_line(line):
            key = self._keys.get(line, line)
            if key not in self._on_line:
                self._on_line[key] = self._facts(key)
            facts |= self._on_line[key]
            lines |= self.asked.lines.intersection(said_lines((key,)))
        elif line not in self._lines and self._is_part(line):
            facts |= self._facts(line)

    def _is_line(self, line: str) -> bool:
        """Check for a line of the original that is no marker."""
        return line in self._lines and not parse_gap(line)

    def _is_part(self, line: str) -> bool:
        if line.startswith(ELLIPSIS) or line.endswith(ELLIPSIS):
            part = line.removeprefix(ELLIPSIS).removesuffix(ELLIPSIS)
            return bool(part) and part in self._original
        # Cuts at a number of characters often leave no mark on the line.
        return len(line) >= _LONG_PART and (
            _begins_one(line, self._sorted) or _begins_one(line[::-1], self._sorted_backwards)
        )

    def _facts(self, text: str) -> frozenset[str]:
        return self.asked.facts.intersection(facts_of("\n".join(read_lines(text).keys)))

    def _paths(self, ledger: Ledger) -> frozenset[str]:
        """Yield what the paths of a ledger say; the ledger may abbreviate their folder."""
        return self._facts("\n".join(entry.path for entry in (*ledger.changed, *ledger.read)))

    @cached_property
    def _lines(self) -> frozenset[str]:
        whole = (line for text in self._texts for line in text.split("\n"))
        return frozenset(chain(whole, self._keys.values()))

    @cached_property
    def _sorted(self) -> list[str]:
        return sorted(line for line in self._lines if len(line) >= _LONG_PART)

    @cached_property
    def _sorted_backwards(self) -> list[str]:
        return sorted(line[::-1] for line in self._sorted)

    @cached_property
    def _original(self) -> str:
        return "\n".join(self._texts)


def _begins_one(part: str, lines: Sequence[str]) -> bool:
    """Check if one of the sorted lines begins so."""
    position = bisect_left(lines, part)
    return position < len(lines) and lines[position].startswith(part)
