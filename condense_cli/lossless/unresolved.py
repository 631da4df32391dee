"""Lines with the form of a reference that resolve to nothing: which of them are ours, and broken.

Text that imitates our marks is text. So a line counts as ours only where a change of the file is the likely reason that
it does not resolve: a reference may be there, and it names another call of the same name, or of the same file, as the
one that it is found in, which lacks those lines now or is gone. Two of three references that we write do so: a file
that lost blocks shows it. A line in the output of `cat NOTES` that names a file of the project is text.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from ..core.markers import REFERENCE_PREFIX
from ..core.transcript import Block, Message, Transcript
from ..core.values import BlockKind
from ..toolcalls.tools import arguments_of, string_values
from . import states
from .addresses import Addresses, TextPlace, field_of, tag_of
from .decode import Decoded, texts_of
from .references import ABOVE, SPELLED, THE_RESULT, THIS_CALL, Address, Reference, parse_reference


def broken_in(written: Sequence[Message], found: Decoded) -> int:
    """How many unresolved lines are references that we wrote; `written` are the messages before decoding."""
    if not found.unresolved:
        return 0
    addresses = Addresses(written)
    return sum(_is_ours(place, reference, written, addresses) for place, reference in _unresolved(written, found))


def _unresolved(written: Sequence[Message], found: Decoded) -> Iterator[tuple[TextPlace, Reference]]:
    for position, (before, after) in enumerate(zip(written, found.messages, strict=True)):
        for number, (old, new) in enumerate(zip(before.blocks, after.blocks, strict=True)):
            if REFERENCE_PREFIX not in old.content:
                continue
            # A line that lost its escape, and looks like a reference now, did not before.
            left = Counter(_lines(old)) & Counter(_lines(new))
            for line in left.elements():
                reference = parse_reference(line)
                if reference is not None:
                    yield TextPlace(position, number), reference


def _lines(block: Block) -> Iterator[str]:
    return (line for text in texts_of(block) for line in text.split("\n") if line.startswith(REFERENCE_PREFIX))


def _is_ours(here: TextPlace, reference: Reference, messages: Sequence[Message], addresses: Addresses) -> bool:
    address = reference.address
    block = messages[here.message].blocks[here.block]
    tag = tag_of(address.what)
    if address == ABOVE:
        return False  # What is above does not change by itself; where a line above is broken, that one is told.
    if tag and (block.kind is not BlockKind.TEXT or tag not in states.by_tag(block.text)):
        return False  # State alone refers to state.
    if block.kind is BlockKind.TEXT and not (block.injected or tag):
        return False
    there = addresses.find(here, address)
    if there is not None:
        if addresses.address(here, there, field=address.field, tag=tag) != address:
            return False
        if not _has_field(messages[there.message].blocks[there.block], address.field):
            return False
    if address.what in (THE_RESULT, THIS_CALL):
        return there is not None
    return bool(tag) or _is_akin(addresses.name_of(here), address)


def _has_field(block: Block, field: str) -> bool:
    return not field or any(field_of(path) == field for path, _ in string_values(arguments_of(block)))


def _is_akin(name: str, address: Address) -> bool:
    """Whether a block and what a line in it names have one name, or are of one file."""
    _, _, file = name.partition(" of ")
    return name == address.what or (file != "" and file == address.what.partition(" of ")[2])


def outside_of(transcript: Transcript) -> int:
    """How many references have a line of their own in parts of the file that are not in the conversation."""
    if not SPELLED.search(transcript.source.data):
        return 0
    used = {block.place.record for _, block in transcript.blocks()}
    others = (record for record in range(len(transcript.source.spans)) if record not in used)
    return sum(map(_is_line, (found for record in others for found in SPELLED.finditer(transcript.source.raw(record)))))


def _is_line(found: re.Match[bytes]) -> bool:
    """Whether what looks like a reference in the bytes of a JSON string is a line of it."""
    start, end = found.span()
    before, after = found.string[max(0, start - 2) : start], found.string[end : end + 2]
    is_whole = before.endswith((b'"', b"\\n")) and (after.startswith(b'"') or after in (b"\\n", b"\\r", b'\\"'))
    if not is_whole:
        return False
    try:
        return parse_reference(json.loads(b'"' + found[0] + b'"')) is not None
    except ValueError:  # JSON inside a string of JSON.
        return True
