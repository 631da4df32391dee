"""Whether what is written says what was meant; and the escapes that text needs which imitates references.

A line of others that has the form of a reference may come to count, where messages in between went, or a text was cut.
What is written is decoded as it will be read: new references that say anything else are not written, and text that
would be resolved gets an escape, which reading takes away.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from ..core.markers import REFERENCE_PREFIX, with_escape, without_escapes
from ..core.transcript import Block, Message
from ..core.values import BlockKind, Text
from ..toolcalls.tools import arguments_of, string_values, with_values
from .addresses import field_of
from .decode import WRITTEN_TIMES, decode, texts_of
from .reader import Reader
from .references import parse_reference

Positions = tuple[int, int]
"""Positions of a message and of a block in it."""

_ROUNDS: Final = 12
"""An escape, or a reference that is not written, may let other lines count or not: so it is looked at again."""


def with_blocks(messages: Sequence[Message], blocks: Mapping[Positions, Block]) -> list[Message]:
    """The messages with some blocks exchanged."""
    changed = list(messages)
    numbers: dict[int, list[int]] = {}
    for position, number in blocks:
        numbers.setdefault(position, []).append(number)
    for position, inner in numbers.items():
        new = list(messages[position].blocks)
        for number in inner:
            new[number] = blocks[position, number]
        changed[position] = replace(messages[position], blocks=tuple(new))
    return changed


def verified(
    messages: Sequence[Message], blocks: dict[Positions, Block], meant: Mapping[Positions, Text], reader: Reader
) -> dict[Positions, Block]:
    """The blocks that decode to what they were made from, and besides those of the messages that need escapes.

    Text that imitates references can spoil some. `meant` is what blocks say that are not made from the messages.
    """
    escaped: dict[Positions, Block] = {}
    for _ in range(_ROUNDS):
        written = with_blocks(messages, escaped | blocks)
        expected = {place: messages[place[0]].blocks[place[1]].content for place in blocks} | dict(meant)
        decoded = decode(written, reader, expected, WRITTEN_TIMES)

        def is_wrong(place: Positions) -> bool:
            said = decoded.messages[place[0]].blocks[place[1]]  # noqa: B023 - asked in this round only
            return not _is_same(said, messages[place[0]].blocks[place[1]], meant.get(place))

        wrong = [place for place in blocks if is_wrong(place)]
        if wrong:
            blocks = {place: block for place, block in blocks.items() if place not in wrong}
            continue
        others = [place for place in {*escaped, *decoded.counted} if place not in blocks and is_wrong(place)]
        if not others:
            break
        for place in others:
            lines = decoded.counted.get(place)
            block = written[place[0]].blocks[place[1]]
            if lines:
                escaped[place] = _with_escapes(block, lines)
            else:  # Its escapes count no more, since others went.
                escaped.pop(place, None)
    return escaped | blocks


def has_imitations(messages: Iterable[Message], reader: Reader) -> bool:
    """Whether a text of messages without references holds a line that has the form of one, escaped or not."""
    blocks = (block for message in messages for block in message.blocks if reader.may_refer(block.content))
    return any(_imitates(line) for block in blocks for text in texts_of(block) for line in text.split("\n"))


def with_escapes(messages: Sequence[Message], before: Sequence[Message]) -> tuple[Message, ...]:
    """Messages without references as they have to be written; blocks as they were `before` where they say the same."""
    reader = Reader()
    if not has_imitations(messages, reader):
        return tuple(messages)
    escaped = verified(messages, {}, {}, reader)
    same = {
        (position, number): before[position].blocks[number]
        for (position, number), block in escaped.items()
        if block.reads_as(before[position].blocks[number])
    }
    return tuple(with_blocks(messages, escaped | same))


def _imitates(line: str) -> bool:
    return line.startswith(REFERENCE_PREFIX) and parse_reference(without_escapes(line)) is not None


def _with_escapes(block: Block, lines: Iterable[tuple[str, int]]) -> Block:
    """The block with an escape more in some lines, which are named by the field of a call and their numbers."""
    numbers: dict[str, set[int]] = {}
    for field, number in lines:
        numbers.setdefault(field, set()).add(number)
    if block.kind is not BlockKind.TOOL_CALL:
        return block.with_text(_escaped(block.text, numbers.get("", set())))
    values = [(path, value) for path, value in string_values(arguments_of(block)) if field_of(path) in numbers]
    return with_values(block, {path: _escaped(value, numbers[field_of(path)]) for path, value in values})


def _escaped(text: str, numbers: set[int]) -> str:
    lines = text.split("\n")
    return "\n".join(with_escape(line) if number in numbers else line for number, line in enumerate(lines))


def _is_same(decoded: Block, original: Block, meant: Text | None) -> bool:
    """Whether a block says what it said. Of arguments that are an object the spelling of their JSON does not count;
    where they are JSON in a string, it is part of that string.
    """
    expected = original.content if meant is None else meant
    if decoded.content is expected or decoded.text == str(expected):
        return True
    return original.is_object and arguments_of(decoded) == arguments_of(original)
