"""Find the texts of a transcript that may become references or be referred to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum, auto
from fnmatch import fnmatchcase
from typing import Final, assert_never

from msgspec import Struct

from ..core.transcript import Block, JsonPath, Message, calls_by_id
from ..core.values import BlockKind, Role, Text, at_hand, compact
from ..toolcalls.tools import (
    MAIN_ARGUMENTS,
    arguments_of,
    list_in,
    prints_a_file,
    reads_a_file,
    string_values,
    text_of,
    writes_a_file,
)
from .references import ATTACHED_HEAD, TAGS, TextPlace, field_of, outermost


@at_hand
class Category(Enum):
    """Kind of text; selects the finders that apply."""

    FILE = auto()
    """Result of reading or changing a file."""
    WRITTEN = auto()
    """Text that a call writes into a file or replaces there."""
    RESULT = auto()
    """Result of any other tool."""
    ARGUMENT = auto()
    """Value in any other call."""
    TODOS = auto()
    """Todo list in a call, one todo per line."""
    STATE = auto()
    """Element that a client repeats in user text."""
    ATTACHED = auto()
    """Text that a client attached, such as a file with instructions."""
    INJECTED = auto()
    """Any other text by a client in the user's name. It may refer to results; nothing refers to it."""


_NOTHING: Final[frozenset[Category]] = frozenset()
_FILES: Final = frozenset({Category.FILE, Category.WRITTEN})
_RESULTS: Final = frozenset({Category.FILE, Category.RESULT})
_ARGUMENTS: Final = frozenset({Category.WRITTEN, Category.ARGUMENT})


class Finders(Struct, frozen=True):
    """Enabled finders, and additions by a configuration to the known tools.

    Finders only say where to look. Content alone decides whether lines are the same, never the call. So failed edits,
    failed or partial reads, and commands that printed something else lose nothing.
    """

    file_reads: bool = True
    """Reads of files and results of changes may refer to later ones, and to text that a call wrote."""
    tool_results: bool = True
    """Results of any tool may refer to results of any tool."""
    state_tags: Sequence[str] = TAGS
    """Client additions in user text may refer to later text: state in elements with these tags to later state. Without
    tags this finder is off. With `tool_parameters`, todo lists may refer to other todo lists.
    """
    tool_parameters: bool = False
    """Values in calls may refer to other values and to results."""
    file_tools: Sequence[str] = ()
    """Globs for further tools that show or write files."""

    def shows_a_file(self, call: Block) -> bool:
        """Return whether the call's result is (part of) a file: read, printed by a command, or shown after a change."""
        return self._is_added(call) or reads_a_file(call) or writes_a_file(call) or prints_a_file(call)

    def writes_a_file(self, call: Block) -> bool:
        return self._is_added(call) or writes_a_file(call)

    def _is_added(self, call: Block) -> bool:
        name = (call.tool or "").lower()
        return any(fnmatchcase(name, glob.lower()) for glob in self.file_tools)

    def sources(self, target: Category) -> frozenset[Category]:
        """Return the categories that a category may refer to; empty if no finder applies."""
        match target:
            case Category.FILE:
                read = _FILES if self.file_reads else _NOTHING
                return read | (_RESULTS if self.tool_results else _NOTHING)
            case Category.RESULT:
                return _RESULTS if self.tool_results else _NOTHING
            case Category.WRITTEN | Category.ARGUMENT:
                return _RESULTS | _ARGUMENTS if self.tool_parameters else _NOTHING
            case Category.STATE:
                return frozenset({target}) if self.state_tags else _NOTHING
            case Category.TODOS:
                return frozenset({target}) if self.state_tags and self.tool_parameters else _NOTHING
            case Category.ATTACHED:
                return _RESULTS | {target} if self.file_reads else _NOTHING
            case Category.INJECTED:
                return _RESULTS if self.state_tags else _NOTHING
            case other:
                assert_never(other)


_SHORTEST: Final = 60
"""Approximate characters of a reference: shorter texts can neither save nor offer anything."""


_NAMING: Final = frozenset(MAIN_ARGUMENTS)


class Piece(Struct, frozen=True):
    """A text and its place. `path` leads to a value in a call's arguments, `span` to a state in user text.

    The first `head` and last `tail` lines always stay: they name the call, or are the tags around a state.
    """

    place: TextPlace
    category: Category
    content: Text
    path: JsonPath = ()
    span: tuple[int, int] | None = None
    head: int = 0
    tail: int = 0
    tag: str = ""

    @property
    def text(self) -> str:
        return str(self.content)

    @property
    def field(self) -> str:
        """Name of the value in references; empty for a result or a state."""
        return field_of(self.path)


def find_pieces(messages: Sequence[Message], finders: Finders) -> Iterator[Piece]:
    """Yield every piece in the transcript's order."""
    calls = calls_by_id(messages)
    for position, message in enumerate(messages):
        for number, block in enumerate(message.blocks):
            if isinstance(block.content, str) and len(block.content) < _SHORTEST:
                continue
            place = TextPlace(position, number)
            if block.kind is BlockKind.TOOL_RESULT:
                call = calls.get(block.answers or "")
                is_file = call is not None and finders.shows_a_file(call)
                yield Piece(place, Category.FILE if is_file else Category.RESULT, block.content)
            elif block.kind is BlockKind.TOOL_CALL:
                yield from _values(place, block, finders)
            elif block.is_attached:
                head = max(ATTACHED_HEAD, block.text.count("\n", 0, block.lead))
                yield Piece(place, Category.ATTACHED, block.content, head=head)
            elif block.kind is BlockKind.TEXT and message.role is Role.USER:
                text = block.text
                found = outermost(text, finders.state_tags)
                if block.injected and not found:
                    yield Piece(place, Category.INJECTED, block.content, head=1)
                for element in found:
                    span = (element.start, element.end)
                    inner = TextPlace(position, number, element.part)
                    yield Piece(inner, Category.STATE, compact(text[slice(*span)]), (), span, 1, 1, element.tag)


def _values(place: TextPlace, block: Block, finders: Finders) -> Iterator[Piece]:
    listed = list_in(block)
    if listed:
        yield Piece(place, Category.TODOS, compact(text_of(listed[1])), listed[0])
    category = Category.WRITTEN if finders.writes_a_file(block) else Category.ARGUMENT
    values = list(string_values(arguments_of(block)))
    naming = {path for path, _ in values if not _NAMING.isdisjoint(path)}
    naming = naming or {path for path, _ in values[:1]}  # As in `tools.main_argument`.
    for path, value in values:
        if listed and path[:1] == listed[0]:
            continue
        # A field with blanks could not be distinguished from the words around it.
        if len(value) >= _SHORTEST and path and not any(" " in str(key) or not str(key) for key in path):
            head = value[: len(value) - len(value.lstrip())].count("\n") + 1 if path in naming else 0
            yield Piece(place, category, compact(value), path, None, head)
