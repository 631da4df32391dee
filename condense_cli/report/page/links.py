"""Where the references of a conversation lead: to which block, and to which of its lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from ...core.markers import REFERENCE_PREFIX
from ...core.transcript import Block, Message
from ...core.values import BlockKind
from ...lossless import references
from ...lossless.decode import Decoded, decode, texts_of
from ...lossless.lines import find_above, find_place
from ...lossless.matching import Reader
from ...lossless.references import ABOVE, Addresses, Reference, TextPlace, parse_reference, tag_of

Position = tuple[int, int]
"""Positions of a message among the messages, and of a block in it."""


class LinkTarget(Struct, frozen=True):
    """The block that a reference names, and which lines of its text: the first, counted from 0, and how many.

    `size` is 0 where the lines cannot be told: an argument of a call, or a part of a text.
    """

    position: Position
    start: int = 0
    size: int = 0


class PageLinks(Struct, frozen=True):
    """The targets of each block's references by the lines that spell them, and every block without references."""

    targets: Mapping[Position, Mapping[str, LinkTarget]]
    messages: Sequence[Message]

    def whole(self, position: Position) -> Block:
        """The block as it reads with all references replaced by the lines that they stand for."""
        return self.messages[position[0]].blocks[position[1]]


def find_links(messages: Sequence[Message]) -> PageLinks:
    """The links of a conversation. A line that imitates a reference and names no block is none."""
    reader = Reader()
    decoded = decode(messages, reader)
    addresses = Addresses(messages, reader.names)
    targets: dict[Position, dict[str, LinkTarget]] = {}
    for position, message in enumerate(messages):
        for number, block in enumerate(message.blocks):
            if reader.may_refer(block.content):
                found = dict(_of_block(TextPlace(position, number), block, decoded, addresses, reader))
                if found:
                    targets[position, number] = found
    return PageLinks(targets, decoded.messages)


def _of_block(
    here: TextPlace, block: Block, decoded: Decoded, addresses: Addresses, reader: Reader
) -> Iterator[tuple[str, LinkTarget]]:
    named = decoded.named.get(here[:2], frozenset())
    for text in texts_of(block):
        offset = 0
        for line in text.split("\n"):
            reference = parse_reference(line) if line.startswith(REFERENCE_PREFIX) else None
            if reference is not None:
                from_here = here._replace(part=_part(text, offset, reference))
                there = here if reference.address == ABOVE else addresses.find(from_here, reference.address)
                if there is not None and (there[:2] in named or there[:2] == here[:2]):
                    yield line, LinkTarget(there[:2], *_lines(reference, decoded, there, reader))
            offset += len(line) + 1


def _part(text: str, offset: int, reference: Reference) -> int:
    """Which element of its tag a reference to state stands in."""
    tag = tag_of(reference.address.what)
    return sum(element.end <= offset for element in references.by_tag(text).get(tag, ())) if tag else 0


def _lines(reference: Reference, decoded: Decoded, there: TextPlace, reader: Reader) -> tuple[int, int]:
    block = decoded.messages[there.message].blocks[there.block]
    if block.kind is BlockKind.TOOL_CALL or reference.address.field or tag_of(reference.address.what):
        return 0, 0
    shape = reader.lines(block.content).shape
    if reference.address == ABOVE:
        return find_above(shape.length, reference.where) or (0, 0)
    return find_place(shape, reference.where) or (0, 0)
