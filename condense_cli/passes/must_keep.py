"""Strings that must be kept: which blocks hold them, and which strings a result no longer has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from msgspec import Struct

from ..core.transcript import Block, BlockKey, Message
from ..core.values import BlockKind
from ..core.wording import quoted
from ..errors import GoneError
from ..lossless.decode import decode
from ..toolcalls.tools import arguments_of, string_values


class Gone(Struct, frozen=True):
    """A string that a result no longer has, and the index of the last message that had it."""

    text: str
    message: int


def holders(strings: Iterable[str], messages: Sequence[Message]) -> dict[BlockKey, tuple[str, ...]]:
    """Return for each string the newest block that has it, by the block; thinking may always go and does not count."""
    found: dict[BlockKey, tuple[str, ...]] = {}
    for text in dict.fromkeys(strings):
        block = next((block for _, block in _newest_first(messages) if any(text in own for own in _texts(block))), None)
        if block is not None:
            found[block.key] = (*found.get(block.key, ()), text)
    return found


def gone(strings: Iterable[str], before: Sequence[Message], after: Sequence[Message]) -> list[Gone]:
    """Return the strings that the messages before have, and those after have not. References count as their text."""
    strings = dict.fromkeys(strings)
    if not strings:
        return []
    before, after = decode(before).messages, decode(after).messages
    missing = [
        text for text in strings if not any(text in own for _, block in _newest_first(after) for own in _texts(block))
    ]
    had = (
        next(
            (message.index for message, block in _newest_first(before) if any(text in own for own in _texts(block))),
            None,
        )
        for text in missing
    )
    return [Gone(text, index) for text, index in zip(missing, had, strict=True) if index is not None]


def absent(strings: Iterable[str], held: Mapping[BlockKey, tuple[str, ...]]) -> list[str]:
    """Return a warning that names the strings which no block holds (`holders`), if there are any."""
    had = {*chain.from_iterable(held.values())}
    names = ", ".join(quoted(text) for text in dict.fromkeys(strings) if text not in had)
    return [f"The input does not hold what must be kept: {names}."] if names else []


def check(strings: Iterable[str], before: Sequence[Message], after: Sequence[Message], hint: str = "") -> None:
    """Raise GoneError, which names the strings, if any that must be kept are gone."""
    found = gone(strings, before, after)
    if found:
        names = ", ".join(f"{quoted(each.text)} (message {each.message})" for each in found)
        are = "string that must be kept is" if len(found) == 1 else "strings that must be kept are"
        raise GoneError(f"{len(found)} {are} gone from the result: {names}.", hint)


def _newest_first(messages: Sequence[Message]) -> Iterator[tuple[Message, Block]]:
    for message in reversed(messages):
        for block in reversed(message.blocks):
            if block.kind is not BlockKind.THINKING:
                yield message, block


def _texts(block: Block) -> Iterator[str]:
    """Yield the texts of a block as a reader sees them: of a call the values of its arguments."""
    arguments = arguments_of(block) if block.kind is BlockKind.TOOL_CALL else None
    if arguments is None:
        yield block.text
    else:
        yield from (value for _, value in string_values(arguments))
