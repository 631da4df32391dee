"""The texts of a transcript that the prelude looks at: results, string values of calls, states in user text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from ..core.transcript import Block, JsonPath, Message, calls_by_id
from ..core.values import BlockKind, Role, Text, compact
from ..toolcalls.tools import MAIN_ARGUMENTS, arguments_of, list_in, string_values, text_of
from .addresses import ATTACHED_HEAD, TextPlace, field_of
from .finders import Category, Finders
from .states import outermost

_SHORTEST: Final = 60
"""A reference has about so many characters: a shorter text has nothing to win, and nothing to offer."""


_NAMING: Final = frozenset(MAIN_ARGUMENTS)


class Piece(Struct, frozen=True):
    """A text and where it stands. `path` leads to a value in a call's arguments, `span` to a state in user text.

    The first `head` and the last `tail` lines always stay: they name the call, or open and close the element
    of a `tag` that holds a state.
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
        """How a reference calls the value; empty for a result or a state."""
        return field_of(self.path)


def find_pieces(messages: Sequence[Message], finders: Finders) -> Iterator[Piece]:
    """Every piece in the order of the transcript."""
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
    naming = naming or {path for path, _ in values[:1]}  # As `tools.main_argument` has it.
    for path, value in values:
        if listed and path[:1] == listed[0]:
            continue
        # A field with blanks could not be told from the words around it.
        if len(value) >= _SHORTEST and path and not any(" " in str(key) or not str(key) for key in path):
            head = value[: len(value) - len(value.lstrip())].count("\n") + 1 if path in naming else 0
            yield Piece(place, category, compact(value), path, None, head)
