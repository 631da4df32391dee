"""Undo references: replace each by the lines that it names, and find those that resolve to nothing.

What is read may come from anyone, so it is bounded: a reference gives lines that stand in the file, never lines that
another reference gave, and all of them together no more than `READ_TIMES` the file. Beyond that a reference is text.

Nor does a reference count that nothing here would have written: one that gives too little, or stands in what a person
typed, or names its block in other words than are written for it. What would count all the same and is text of others
has an escape, where `proof` wrote it; it counts as the reference would, and loses the escape instead of being resolved.

Text that imitates our marks is text. So a line counts as ours only where a change of the file is the likely reason that
it does not resolve: a reference may be there, and it names another call of the same name, or of the same file, as the
one that it is found in, which lacks those lines now or is gone. Two of three references that we write do so: a file
that lost blocks shows it. A line in the output of `cat NOTES` that names a file of the project is text.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ..core.markers import REFERENCE_PREFIX, gaps_in, short_hash, without_escape, without_escapes
from ..core.transcript import Block, JsonPath, Message, Transcript
from ..core.values import BlockKind, Role, Text, compact, size_of
from ..toolcalls import tools
from ..toolcalls.tools import arguments_of, list_in, string_values, with_values
from . import references
from .lines import Lines, find_above, find_place, readings
from .matching import Reader
from .references import (
    ABOVE,
    ABOVE_WORD,
    SHORTEST,
    SPELLED,
    THE_RESULT,
    THIS_CALL,
    Address,
    Addresses,
    Reference,
    TextPlace,
    field_of,
    is_said_in,
    list_of,
    parse_reference,
    tag_of,
    text_of_list,
)


class Allowance(Struct):
    """How many characters may still be read, compared or given."""

    left: int

    def covers(self, characters: int) -> bool:
        """Use some of it up, and tell whether there was enough."""
        self.left -= characters
        return self.left >= 0


class Sources:
    """Texts by what names them in a block; the last ones are remembered. What is read again uses up the allowance."""

    def __init__(self, reader: Reader, allowance: Allowance) -> None:
        self._reader, self._allowance = reader, allowance
        self._values: tuple[Block, dict[str, Text]] | None = None
        self._block: tuple[Block, str, dict[str, list[references.Element]]] | None = None
        self._element: tuple[Block, str, int, Text, int] | None = None

    def lines(self, text: Text) -> Lines:
        if not self._reader.remembers(text):
            self._allowance.covers(size_of(text))
        return self._reader.lines(text)

    def values(self, call: Block) -> dict[str, Text]:
        """The values of a call by the names that references use."""
        if self._values is None or self._values[0] is not call:
            self._allowance.covers(size_of(call.content))
            values = {field_of(path): compact(value) for path, value in string_values(arguments_of(call))}
            if listed := tools.list_in(call):
                values[field_of(listed[0])] = compact(tools.text_of(listed[1]))
            self._values = (call, values)
        return self._values[1]

    def element(self, block: Block, tag: str, part: int) -> tuple[Text, int] | None:
        """An element of a text, by its number among those of its tag, and the line of the text where it begins."""
        known = self._element
        if known is None or known[0] is not block or known[1:3] != (tag, part):
            if self._block is None or self._block[0] is not block:
                self._allowance.covers(size_of(block.content))
                self._block = (block, block.text, references.by_tag(block.text))
            _, whole, by_tag = self._block
            found = by_tag.get(tag, ())[part : part + 1]
            if part < 0 or not found:
                return None
            self._allowance.covers(found[0].end - found[0].start)
            text = compact(whole[found[0].start : found[0].end])
            self._element = known = (block, tag, part, text, whole.count("\n", 0, found[0].start))
        return known[3:]


READ_TIMES: Final = 32
"""All references together may give so many times the characters of the messages as they are read."""
WRITTEN_TIMES: Final = 16
"""What is written keeps to this, so that it can still be read once a client left some messages out."""
_LEAST: Final = 1_000_000
"""So many characters may references give in any case."""

_GIVEN: Final = 1
_LITERAL: Final = 2
"""Marks of lines: a reference gave them; they are text that had an escape."""

_ONCE_TAKEN_FOR_CLIENTS: Final = (
    "<", "# AGENTS.md instructions", "[ERROR] You did not use a tool", "Caveat: The messages below",
    "Another language model started to solve this problem",
)  # fmt: skip
"""How texts begin in which version 0.1.0 may have written references, as it took them for a client's."""


class Decoded(Struct, frozen=True):
    """Messages without the references that could be resolved, and what was found in them.

    `unresolved` are lines that have the form of a reference, but name nothing that holds the same lines; they stay.
    `named` are the blocks that references of a block name, resolved or not, by positions of message and block.
    `counted` are the lines as they were written that gave others or lost an escape, by positions of message and block:
    the field of a call that a line stands in, and its number; those that moved before they counted are left out.
    """

    messages: tuple[Message, ...]
    resolved: int = 0
    unresolved: int = 0
    named: Mapping[tuple[int, int], frozenset[tuple[int, int]]] = {}
    counted: Mapping[tuple[int, int], Sequence[tuple[str, int]]] = {}


def decode(
    messages: Sequence[Message],
    reader: Reader | None = None,
    expected: Mapping[tuple[int, int], Text] | None = None,
    times: int = READ_TIMES,
) -> Decoded:
    """Resolve every reference that resolves. Linear in the size of the messages.

    `expected` are texts, by positions of message and block, that need not be held twice where they come out.
    References give at most `times` the characters of the messages.
    """
    reader = reader or Reader()
    holders = [
        TextPlace(position, number)
        for position, message in enumerate(messages)
        for number, block in enumerate(message.blocks)
        if _may_hold(message, block) and reader.may_refer(block.content)
    ]
    if not holders:
        return Decoded(tuple(messages))
    size = sum(size_of(block.content) for message in messages for block in message.blocks)
    decoder = _Decoder(messages, reader, expected or {}, max(_LEAST, times * size))
    # A forward reference needs the newer blocks first, a backward one the older.
    open_after = decoder.sweep(reversed(holders), is_backward=False)
    open_after = decoder.sweep(reversed(open_after), is_backward=True)
    unresolved = sum(
        parse_reference(line) is not None
        for place in open_after
        for text in texts_of(decoder.messages[place.message].blocks[place.block])
        if REFERENCE_PREFIX in text
        for line in text.split("\n")
    )
    named = {place: frozenset(others) for place, others in decoder.named.items()}
    messages = tuple(decoder.messages)
    return Decoded(messages, decoder.resolved, unresolved - decoder.plain, named, decoder.counted)


def count_gaps(messages: Sequence[Message]) -> int:
    """How many lossy markers stand in the messages."""
    return sum(len(gaps_in(text)) for message in messages for block in message.blocks for text in texts_of(block))


def _may_hold(message: Message, block: Block) -> bool:
    is_user_text = block.kind is BlockKind.TEXT and message.role is Role.USER
    return is_user_text or block.kind in (BlockKind.TOOL_RESULT, BlockKind.TOOL_CALL) or block.is_attached


def texts_of(block: Block) -> list[str]:
    """The texts whose lines a model reads."""
    if block.kind is BlockKind.TOOL_CALL:
        return [value for _, value in string_values(arguments_of(block))]
    return [block.text]


def _is_turn_of(address: Address, is_backward: bool) -> bool:
    """Whether a sweep resolves such addresses; those in the very call belong to both."""
    return address != ABOVE and (address.what == THIS_CALL or address.is_backward == is_backward)


class _Decoder:
    def __init__(
        self, messages: Sequence[Message], reader: Reader, expected: Mapping[tuple[int, int], Text], limit: int
    ) -> None:
        self.messages = list(messages)
        self._allowance = Allowance(limit)
        self._sources = Sources(reader, self._allowance)
        self._given: dict[tuple[int, int, str], bytes] = {}
        """Marks for the lines of a block, or of a field of it, that references gave: no reference gives them again."""
        self._expected = expected
        self._written = messages
        self.resolved = 0
        self.plain = 0
        """Lines without any escape now that had one."""
        self.counted: dict[tuple[int, int], list[tuple[str, int]]] = {}
        self.named: dict[tuple[int, int], set[tuple[int, int]]] = {}
        self._addresses = Addresses(messages, reader.names)
        self._own: tuple[Block, dict[str, Text]] | None = None
        """The call that is being decoded, and its values as far as they are."""

    def sweep(self, holders: Iterable[TextPlace], is_backward: bool) -> list[TextPlace]:
        """Decode blocks that may hold references; those that still may. What references gave is not looked at again."""
        return [place for place in holders if self._block(place, is_backward)]

    def _block(self, place: TextPlace, is_backward: bool) -> bool:
        """Decode a block, and tell whether it may hold references still."""
        block = self.messages[place.message].blocks[place.block]
        if block.kind is not BlockKind.TOOL_CALL:
            written = block.text
            text = self._text(place, written, is_backward, is_user_text=block.kind is BlockKind.TEXT)
            if text != written:
                known = self._expected.get(place[:2])
                is_known = known is not None and str(known) == text
                self._put(place, block.with_text(known if known is not None and is_known else compact(text)))
            return REFERENCE_PREFIX in text
        listed = list_in(block)
        values = [
            (path, value)
            for path, value in string_values(arguments_of(block))
            if not (listed and path[:1] == listed[0] and is_said_in(value, listed[0]))
        ]
        # All are put at once, as each time takes as long as the call is; until then they stand among its fields.
        decoded: dict[JsonPath, str] = {}
        self._own = (block, {**self._sources.values(block)})
        # A value may refer to one after it (forward) or before it, which therefore comes first.
        for path, value in values if is_backward else reversed(values):
            text = self._text(place, value, is_backward, field=field_of(path)) if REFERENCE_PREFIX in value else value
            if text != value:
                decoded[path] = self._own[1][field_of(path)] = text
        self._own = None
        if decoded:
            block = with_values(block, decoded)
            self._put(place, block)
        if listed and REFERENCE_PREFIX in block.content:
            block = self._listed(place, block, is_backward)
        return REFERENCE_PREFIX in block.content

    def _listed(self, place: TextPlace, call: Block, is_backward: bool) -> Block:
        """The call with references among its todos resolved."""
        found, resolved = list_in(call), self.resolved
        if found is None:
            return call
        path, listed = found
        written = text_of_list(listed, path)
        text = self._text(place, written, is_backward, field=field_of(path))
        if text == written:
            return call
        try:
            call = with_values(call, {path: list_of(text, listed)})
        except (ValueError, RecursionError):  # It names lines that are no todos.
            self.resolved = resolved
            self._given.pop((*place[:2], field_of(path)), None)
            return call
        self._put(place, call)
        return call

    def _put(self, place: TextPlace, block: Block) -> None:
        message = self.messages[place.message]
        blocks = list(message.blocks)
        blocks[place.block] = block
        self.messages[place.message] = replace(message, blocks=tuple(blocks))

    def _text(
        self, place: TextPlace, text: str, is_backward: bool, *, field: str = "", is_user_text: bool = False
    ) -> str:
        """The text with references of one direction resolved; what takes their place is not looked at again."""
        if REFERENCE_PREFIX not in text:
            return text
        lines = text.split("\n")
        given = bytearray(self._given.get((*place[:2], field), b"")[: len(lines)].ljust(len(lines), b"\0"))
        is_changed, has_moved = False, _GIVEN in given
        is_open = not is_user_text or self._is_clients(place)
        elements: dict[str, list[references.Element]] | None = None
        offsets: list[int] = []
        # From the end, where elements before a line still stand as they did.
        for number in reversed([number for number, line in enumerate(lines) if line.startswith(REFERENCE_PREFIX)]):
            reference = None if given[number] else parse_reference(without_escapes(lines[number]))
            if reference is None or not _is_turn_of(reference.address, is_backward):
                continue
            here, is_inside = place, False
            tag = tag_of(reference.address.what)
            if is_user_text:
                if elements is None:
                    elements, offsets = (
                        references.by_tag(text),
                        [*accumulate((len(line) + 1 for line in lines), initial=0)],
                    )
                same, offset = elements.get(tag, []), offsets[number]
                part = bisect_right(same, offset, key=lambda element: element.start) - 1
                is_inside = part >= 0 and offset < same[part].end
                here = place._replace(part=part)
            # State refers to state, and nothing else in what a person typed refers to anything.
            if is_inside != bool(tag) or not (tag or is_open):
                continue
            before = lines[number - 1] if number else ""
            after = lines[number + 1].partition("\n")[0] if number + 1 < len(lines) else ""
            found = self._resolve(here, reference, before, after)
            if found is not None:
                if not has_moved:
                    self.counted.setdefault(place[:2], []).append((field, number))
                lines[number], given[number] = self._taken(lines[number], found)
                is_changed = True
        if is_changed:
            marked = zip(given, lines, strict=True)
            given = bytearray().join(bytes((mark,)) * (line.count("\n") + 1) for mark, line in marked)
            text = "\n".join(lines)
        if is_open:
            text, given = self._from_above(place, field, text, given)
        if any(given):
            self._given[*place[:2], field] = bytes(given)
        return text

    def _taken(self, line: str, found: str) -> tuple[str, int]:
        """What a line that counts becomes, and the mark for that: what the reference gives, or a line with an escape
        less.
        """
        if parse_reference(line):
            self.resolved += 1
            return found, _GIVEN
        plain = without_escape(line)
        self.plain += parse_reference(plain) is not None
        return plain, _LITERAL

    def _is_clients(self, place: TextPlace) -> bool:
        """Whether a client may have written a text of the user's, so that references may stand all over it."""
        block = self._written[place.message].blocks[place.block]
        return block.injected or block.text.startswith(_ONCE_TAKEN_FOR_CLIENTS)

    def _from_above(self, place: TextPlace, field: str, text: str, given: bytearray) -> tuple[str, bytearray]:
        """The text with references to its own lines resolved, from the start, as they count decoded lines.

        `given` marks the lines that references gave, and does so for the text that comes out.
        """
        if ABOVE_WORD not in text:
            return text, given
        lines: list[str] = []
        marks = bytearray()
        has_moved = _GIVEN in given
        for number, (line, mark) in enumerate(zip(text.split("\n"), given, strict=True)):
            is_asked = not mark and line.startswith(REFERENCE_PREFIX)
            reference = parse_reference(without_escapes(line)) if is_asked else None
            where = find_above(len(lines), reference.where) if reference and reference.address == ABOVE else None
            above = lines[where[0] : sum(where)] if where and self._may_give(marks, *where) else []
            if reference and above and self._is_meant("\n".join(above), reference):
                if not has_moved:
                    self.counted.setdefault(place[:2], []).append((field, number))
                line, mark = self._taken(line, "\n".join(above))
            new = line.split("\n")
            lines += new
            marks += bytes((mark,)) * len(new)
        return "\n".join(lines), marks

    def _may_give(self, given: bytes | bytearray, start: int, size: int) -> bool:
        """Whether a reference may give `size` lines of a text: if no other one gave any of them, which are marked."""
        return self._allowance.covers(size) and given.find(_GIVEN, start, start + size) < 0

    def _is_meant(self, found: str, reference: Reference) -> bool:
        """Whether lines are those that a reference means, and worth one."""
        is_covered = self._allowance.covers(len(found)) and len(found) >= SHORTEST - 1
        return is_covered and short_hash(found) == reference.hash

    def _resolve(self, here: TextPlace, reference: Reference, before: str, after: str) -> str | None:
        there = self._addresses.find(here, reference.address)
        if there is not None and there[:2] != here[:2]:
            self.named.setdefault(here[:2], set()).add(there[:2])
        is_own_name = (
            there is not None
            and self._addresses.address(here, there, field=reference.address.field, tag=tag_of(reference.address.what))
            == reference.address
        )
        if there is None or not is_own_name or self._allowance.left < 0:
            return None
        source, given = self._source(here, there, reference)
        place = find_place(source.shape, reference.where) if source is not None else None
        if source is None or place is None or not self._may_give(given, *place):
            return None
        found = readings(source, *place, reference.numbering, before, after)
        return next((text for text in found if self._is_meant(text, reference)), None)

    def _source(self, here: TextPlace, there: TextPlace, reference: Reference) -> tuple[Lines | None, bytes]:
        """The lines of what an address means, and marks for those that references gave.

        A result refers to its call as it is written, a value to the other values of its call, which is being decoded.
        """
        address = reference.address
        is_own_call = address.what == THIS_CALL and there != here
        block = (self._written if is_own_call else self.messages)[there.message].blocks[there.block]
        text: Text | None = block.content
        given = b"" if is_own_call else self._given.get((*there[:2], address.field), b"")
        if address.field:
            values = self._own[1] if self._own and self._own[0] is block else self._sources.values(block)
            text = values.get(address.field)
        elif tag := tag_of(address.what):
            text, first = self._sources.element(block, tag, there.part) or (None, 0)
            given = given[first:]
        return None if text is None else self._sources.lines(text), given


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
    if tag and (block.kind is not BlockKind.TEXT or tag not in references.by_tag(block.text)):
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
