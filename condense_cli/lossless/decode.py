"""Undo references: replace each by the lines that it names, and find those that cannot be resolved.

Input may come from anyone, so decoding is bounded. A reference gives lines of the file, never lines that another
reference gave, and all of them together at most `READ_TIMES` the size of the file. Beyond that a reference is text.

A reference also does not count if we would not have written it: it gives too little, is in text that a person typed, or
names its block otherwise than we do. Foreign text that would count nevertheless has an escape, written by `encode`. It
is matched like a reference, but loses the escape instead of being resolved.

Text that imitates our marks is text. An unresolved line counts as ours only if a change of the file is the likely
cause: a reference may occur there, and it names another call with the same name or file as its own call, whose lines
are now gone. Two of three of our references do so, so a file that lost blocks shows it. A line in the output of `cat
NOTES` that names a project file is text.
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
    REFERENCE_BYTES,
    SHORTEST,
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
    """Number of characters that may still be read, compared or given."""

    left: int

    def spend(self, characters: int) -> bool:
        """Spend `characters`; return whether the allowance covered them."""
        self.left -= characters
        return self.left >= 0


class Sources:
    """Texts by their names in a block; the last ones are cached. Reading a text again spends the allowance."""

    def __init__(self, reader: Reader, allowance: Allowance) -> None:
        self._reader, self._allowance = reader, allowance
        self._values: tuple[Block, dict[str, Text]] | None = None
        self._block: tuple[Block, str, dict[str, list[references.Element]]] | None = None
        self._element: tuple[Block, str, int, Text, int] | None = None

    def lines(self, text: Text) -> Lines:
        if not self._reader.remembers(text):
            self._allowance.spend(size_of(text))
        return self._reader.lines(text)

    def values(self, call: Block) -> dict[str, Text]:
        """Return a call's values by the names that references use."""
        if self._values is None or self._values[0] is not call:
            self._allowance.spend(size_of(call.content))
            values = {field_of(path): compact(value) for path, value in string_values(arguments_of(call))}
            if listed := tools.list_in(call):
                values[field_of(listed[0])] = compact(tools.text_of(listed[1]))
            self._values = (call, values)
        return self._values[1]

    def element(self, block: Block, tag: str, part: int) -> tuple[Text, int] | None:
        """Return the nth element with a tag in a text, and the line where it begins."""
        known = self._element
        if known is None or known[0] is not block or known[1:3] != (tag, part):
            if self._block is None or self._block[0] is not block:
                self._allowance.spend(size_of(block.content))
                self._block = (block, block.text, references.by_tag(block.text))
            _, whole, by_tag = self._block
            found = by_tag.get(tag, ())[part : part + 1]
            if part < 0 or not found:
                return None
            self._allowance.spend(found[0].end - found[0].start)
            text = compact(whole[found[0].start : found[0].end])
            self._element = known = (block, tag, part, text, whole.count("\n", 0, found[0].start))
        return known[3:]


READ_TIMES: Final = 32
"""All references together may give this many times the characters of the messages when reading."""
WRITTEN_TIMES: Final = 16
"""The limit for writing, lower so that a file still decodes after a client dropped messages."""
_LEAST: Final = 1_000_000
"""Characters that references may always give."""

_GIVEN: Final = 1
_LITERAL: Final = 2
"""Marks of lines: given by a reference; text that had an escape."""

_ONCE_TAKEN_FOR_CLIENTS: Final = (
    "<", "# AGENTS.md instructions", "[ERROR] You did not use a tool", "Caveat: The messages below",
    "Another language model started to solve this problem",
)  # fmt: skip
"""Beginnings of texts in which version 0.1.0 may have written references, because it took them for a client's."""


class Decoded(Struct, frozen=True):
    """Messages with references resolved where possible.

    `unresolved` counts remaining lines in the form of a reference whose target lacks the same lines. `named` maps each
    block to the blocks that its references name, resolved or not; keys are (message, block) positions. `counted` maps
    blocks to lines, as written, that were resolved or lost an escape: the call's field and the line number. Lines that
    moved before they were processed are missing there.
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
    """Resolve every reference that can be resolved. Linear in the size of the messages.

    `expected` maps (message, block) positions to texts; where a text results, that object is used instead of a second
    copy. References give at most `times` the characters of the messages.
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
    """Count the lossy markers in messages."""
    return sum(len(gaps_in(text)) for message in messages for block in message.blocks for text in texts_of(block))


def _may_hold(message: Message, block: Block) -> bool:
    is_user_text = block.kind is BlockKind.TEXT and message.role is Role.USER
    return is_user_text or block.kind in (BlockKind.TOOL_RESULT, BlockKind.TOOL_CALL) or block.is_attached


def texts_of(block: Block) -> list[str]:
    """Return the texts of a block whose lines a model reads."""
    if block.kind is BlockKind.TOOL_CALL:
        return [value for _, value in string_values(arguments_of(block))]
    return [block.text]


def _is_resolved_in(address: Address, is_backward: bool) -> bool:
    """Return whether a sweep resolves such addresses; both sweeps resolve those in the same call."""
    return address != ABOVE and (address.what == THIS_CALL or address.is_backward == is_backward)


class _Decoder:
    def __init__(
        self, messages: Sequence[Message], reader: Reader, expected: Mapping[tuple[int, int], Text], limit: int
    ) -> None:
        self.messages = list(messages)
        self._allowance = Allowance(limit)
        self._sources = Sources(reader, self._allowance)
        self._given: dict[tuple[int, int, str], bytes] = {}
        """Marks for lines that references gave, by block and field: no reference gives them again."""
        self._expected = expected
        self._written = messages
        self.resolved = 0
        self.plain = 0
        """Number of lines that lost their last escape."""
        self.counted: dict[tuple[int, int], list[tuple[str, int]]] = {}
        self.named: dict[tuple[int, int], set[tuple[int, int]]] = {}
        self._addresses = Addresses(messages, reader.names)
        self._own: tuple[Block, dict[str, Text]] | None = None
        """The call being decoded, and its values so far."""

    def sweep(self, holders: Iterable[TextPlace], is_backward: bool) -> list[TextPlace]:
        """Decode blocks and return those that may still hold references. Lines given by references are skipped."""
        return [place for place in holders if self._block(place, is_backward)]

    def _block(self, place: TextPlace, is_backward: bool) -> bool:
        """Decode a block; return whether it may still hold references."""
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
        # Replacing values takes time linear in the call, so it is done once, at the end.
        decoded: dict[JsonPath, str] = {}
        self._own = (block, {**self._sources.values(block)})
        # Decode the values that others refer to first: later ones for forward references, else earlier ones.
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
        """Resolve references among a call's todos."""
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
        except (ValueError, RecursionError):  # A reference names lines that are not todos.
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
        """Resolve a text's references in one direction. Inserted lines are not examined again."""
        if REFERENCE_PREFIX not in text:
            return text
        lines = text.split("\n")
        given = bytearray(self._given.get((*place[:2], field), b"")[: len(lines)].ljust(len(lines), b"\0"))
        is_changed, has_moved = False, _GIVEN in given
        is_open = not is_user_text or self._is_clients(place)
        elements: dict[str, list[references.Element]] | None = None
        offsets: list[int] = []
        # From the end, so that elements before a line keep their offsets.
        for number in reversed([number for number, line in enumerate(lines) if line.startswith(REFERENCE_PREFIX)]):
            reference = None if given[number] else parse_reference(without_escapes(lines[number]))
            if reference is None or not _is_resolved_in(reference.address, is_backward):
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
            # In a user's text only state may refer, and only to state.
            if is_inside != bool(tag) or not (tag or is_open):
                continue
            before = lines[number - 1] if number else ""
            after = lines[number + 1].partition("\n")[0] if number + 1 < len(lines) else ""
            found = self._resolve(here, reference, before, after)
            if found is not None:
                if not has_moved:
                    self.counted.setdefault(place[:2], []).append((field, number))
                lines[number], given[number] = self._replacement(lines[number], found)
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

    def _replacement(self, line: str, found: str) -> tuple[str, int]:
        """Return the replacement of a line that counts, and its mark: the lines given, or the line with one escape
        less.
        """
        if parse_reference(line):
            self.resolved += 1
            return found, _GIVEN
        plain = without_escape(line)
        self.plain += parse_reference(plain) is not None
        return plain, _LITERAL

    def _is_clients(self, place: TextPlace) -> bool:
        """Return whether a client may have written a user text, so that references may occur anywhere in it."""
        block = self._written[place.message].blocks[place.block]
        return block.injected or block.text.startswith(_ONCE_TAKEN_FOR_CLIENTS)

    def _from_above(self, place: TextPlace, field: str, text: str, given: bytearray) -> tuple[str, bytearray]:
        """Resolve references to the text's own lines, from the start, because they count decoded lines.

        `given` marks lines given by references, both in the argument and in the result.
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
                line, mark = self._replacement(line, "\n".join(above))
            new = line.split("\n")
            lines += new
            marks += bytes((mark,)) * len(new)
        return "\n".join(lines), marks

    def _may_give(self, given: bytes | bytearray, start: int, size: int) -> bool:
        """Return whether a reference may give `size` lines: none of them was given by another reference."""
        return self._allowance.spend(size) and given.find(_GIVEN, start, start + size) < 0

    def _is_meant(self, found: str, reference: Reference) -> bool:
        """Return whether lines match a reference's hash and are long enough for one."""
        is_covered = self._allowance.spend(len(found)) and len(found) >= SHORTEST - 1
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
        """Return the lines at an address, and marks for those given by references.

        A result refers to its call as written; a value refers to other values of its call, which is being decoded.
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
    """Count unresolved lines that are references of ours; `written` are the messages before decoding."""
    if not found.unresolved:
        return 0
    addresses = Addresses(written)
    return sum(_is_ours(place, reference, written, addresses) for place, reference in _unresolved(written, found))


def _unresolved(written: Sequence[Message], found: Decoded) -> Iterator[tuple[TextPlace, Reference]]:
    for position, (before, after) in enumerate(zip(written, found.messages, strict=True)):
        for number, (old, new) in enumerate(zip(before.blocks, after.blocks, strict=True)):
            if REFERENCE_PREFIX not in old.content:
                continue
            # A line that lost its escape now looks like a reference, so count only lines that did before.
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
        return False  # Lines above change only if one of them is broken, and that one is counted.
    if tag and (block.kind is not BlockKind.TEXT or tag not in references.by_tag(block.text)):
        return False  # Only state refers to state.
    if block.kind is BlockKind.TEXT and not (block.injected or tag):
        return False
    there = addresses.find(here, address)
    if there is not None:
        if addresses.address(here, there, field=address.field, tag=tag) != address:
            return False
        values = string_values(arguments_of(messages[there.message].blocks[there.block]))
        if address.field and all(field_of(path) != address.field for path, _ in values):
            return False
    if address.what in (THE_RESULT, THIS_CALL):
        return there is not None
    # Else both blocks must have one name, or be of one file.
    name = addresses.name_of(here)
    file = name.partition(" of ")[2]
    return bool(tag) or name == address.what or (file != "" and file == address.what.partition(" of ")[2])


def outside_of(transcript: Transcript) -> int:
    """Count references on lines of their own in parts of the file outside the conversation."""
    if not REFERENCE_BYTES.search(transcript.source.data):
        return 0
    used = {block.place.record for _, block in transcript.blocks()}
    others = (record for record in range(len(transcript.source.spans)) if record not in used)
    return sum(
        map(_is_line, (found for record in others for found in REFERENCE_BYTES.finditer(transcript.source.raw(record))))
    )


def _is_line(found: re.Match[bytes]) -> bool:
    """Return whether a possible reference in the bytes of a JSON string is a line of it."""
    start, end = found.span()
    before, after = found.string[max(0, start - 2) : start], found.string[end : end + 2]
    is_whole = before.endswith((b'"', b"\\n")) and (after.startswith(b'"') or after in (b"\\n", b"\\r", b'\\"'))
    if not is_whole:
        return False
    try:
        return parse_reference(json.loads(b'"' + found[0] + b'"')) is not None
    except ValueError:  # JSON inside a JSON string.
        return True
