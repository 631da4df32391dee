"""Check that what is written reads back as what was meant, and find where it does not.

JSON can spell a character in several ways, and a file may mix them: `é` beside `\\u00e9`, `\\/`, `\\u0020`. What is put
back is spelled as the file spells its strings otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import zip_longest
from typing import Any, Final

from msgspec import Struct

from ...core import json_text
from ...core.json_text import Style
from ...core.lazy_pattern import lazy_pattern
from ...core.markers import ELLIPSIS
from ...core.transcript import IN_STRING, TEXT_CALL, Block, JsonPath, Place, Source, Transcript
from ...core.values import BlockKind, Role
from .. import parse
from .base import Values

_Content = tuple[Block, Role, BlockKind, str | None, str | int | None, bool, int]
"""A block, and what is compared besides its text."""


class Difference(Struct, frozen=True):
    """A block that would read as something else: the index of its message, its record, and what is wrong with it."""

    message: int
    record: int
    said: str


def reads_back(data: bytes, meant: Transcript) -> bool:
    """Whether the bytes say the same. Block by block: the texts of two transcripts take more memory than both files."""
    return next(_unequal(_read(data, meant), meant), None) is None


def differences(data: bytes, meant: Transcript) -> tuple[Difference, Difference] | None:
    """The first and the last block that the bytes do not say; None where they say the same."""
    written = _read(data, meant)
    first = next(_unequal(written, meant), None)
    if first is None:
        return None
    pairs = zip_longest(*(reversed(list(_contents(each, numbered=False))) for each in (written, meant)))
    last = next(((one, other) for one, other in pairs if not _is_same(one, other)), first)
    (one, other), (late, latest) = first, last
    return _difference(one, other, meant), _difference(late, latest, meant)


def _read(data: bytes, meant: Transcript) -> Transcript:
    return parse(data, format=meant.format, lenient=bool(meant.source.unparsed), is_own=True)


def _unequal(written: Transcript, meant: Transcript) -> Iterator[tuple[_Content | None, _Content | None]]:
    for one, other in zip_longest(_contents(written), _contents(meant)):
        if not _is_same(one, other):
            yield one, other


def _is_same(one: _Content | None, other: _Content | None) -> bool:
    return one is not None and other is not None and one[1:] == other[1:] and one[0].reads_as(other[0])


def _contents(transcript: Transcript, *, numbered: bool = True) -> Iterator[_Content]:
    """The blocks in order. Ids that a reader makes up are numbers, which move when calls before them went."""
    made_up: dict[str, int] = {}
    for message, block in transcript.blocks():
        call: str | int | None = block.call_id
        if isinstance(call, str) and call.startswith(TEXT_CALL):
            call = made_up.setdefault(call, len(made_up)) if numbered else -1
        yield block, message.role, block.kind, block.tool, call, block.is_error, block.estimate


def _difference(written: _Content | None, meant: _Content | None, transcript: Transcript) -> Difference:
    what, read = _named(meant), _named(written)
    if meant is None:
        *_, (message, block) = transcript.blocks()
        return Difference(message.index, block.place.record, f"{read} would follow it")
    block = meant[0]
    if written is None:
        wrong = "would be missing"
    elif read != what:
        wrong = f"would read as {read}"
    else:
        wrong = "would read differently" if written[1:] == meant[1:] else "would belong to another call"
    index = next(message.index for message, other in transcript.blocks() if other is block)
    return Difference(index, block.place.record, f"{what} {wrong}")


def _named(content: _Content | None) -> str:
    """What a block is, in words."""
    if content is None:
        return "nothing"
    block, role, *_ = content
    if block.kind is BlockKind.TOOL_CALL or block.answers:
        return f"{'a call' if block.kind is BlockKind.TOOL_CALL else 'a result'} of {block.tool or 'an unknown tool'}"
    return f"{_KINDS.get(block.kind, 'a part')} of the {role.value}"


_KINDS = {BlockKind.TEXT: "a text", BlockKind.THINKING: "thinking", BlockKind.IMAGE: "an image"}


_ODD_RAW: Final = (lazy_pattern(rb"\\/"), lazy_pattern(rb"\\u(?!00(?:0[0-7bef]|1[0-9a-f]))"))
_ODD_ESCAPED: Final = (
    lazy_pattern(rb"\\/"),
    lazy_pattern(rb"\\u(?!00(?:0[0-7bef]|1[0-9a-f]|7f|[89a-f][0-9a-f])|(?!00)[0-9a-f]{4})"),
    lazy_pattern(rb"\x7f"),
)
"""What is written otherwise, where a file escapes nothing that it need not, or all that is not ASCII; an escaped
backslash in front of it aside. Halves of a pair count, although each alone is spelled so."""


class ComingBack:
    """Tells of blocks of a file whether their texts come back as they are spelled; looked at once for each place.

    With `only_even` none do where the file mixes spellings: what is looked at is not the only place of a text.
    """

    def __init__(self, source: Source, *, only_even: bool = False) -> None:
        self._source, self._only_even = source, only_even
        self._values = Values(source)
        self._known: dict[Place, bool] = {}

    def __call__(self, block: Block) -> bool:
        place = block.place
        if not place.path or (self._is_even and IN_STRING not in place.path):
            return True
        if self._only_even and not self._is_even:
            return False
        if place not in self._known:
            self._known[place] = self._comes_back(place)
        return self._known[place]

    def shows_spelling(self, block: Block) -> bool:
        """Whether the text shows how the file spells what is not ASCII, where the file holds such characters.

        The ellipsis of a marker does not do: once a pass has cut other texts, they would show it, and a second run
        would refer where the first did not. It is part of no listing, so what a text refers to has it as well. A new
        summary does: it is written in the file's own style.
        """
        if not self._has_more_than_ascii or block.text.replace(ELLIPSIS, "").isascii():
            return False
        return block.is_inserted or (bool(block.place.path) and self(block))

    @cached_property
    def _has_more_than_ascii(self) -> bool:
        return not self._source.data.isascii() or self._style.escapes_non_ascii

    @cached_property
    def _style(self) -> Style:
        return Style.of(self._source.data)

    @cached_property
    def _is_even(self) -> bool:
        """Whether no string of the file is spelled otherwise than the file spells strings."""
        return not _has_odd(self._source.data, self._style)

    def _comes_back(self, place: Place) -> bool:
        outer, inner = place.path, None
        if IN_STRING in outer:
            outer, inner = outer[: outer.index(IN_STRING)], self._values(place.record, outer[: outer.index(IN_STRING)])
        if inner is not None and not _inside_comes_back(inner):
            return False
        return self._is_even or self._is_spelled_alike(place.record, outer)

    def _is_spelled_alike(self, record: int, path: JsonPath) -> bool:
        value = self._values(record, path)
        text = json_text.decode(self._source.raw(record))
        ((start, end),) = json_text.locate(text, [path]).values()
        if isinstance(value, str):
            return text[start:end] == self._style.literal(value)
        return not _has_odd(json_text.encode(text[start:end]), self._style)


def _has_odd(data: bytes, style: Style) -> bool:
    """Whether JSON spells any string otherwise than the style does."""
    for pattern in _ODD_ESCAPED if style.escapes_non_ascii else _ODD_RAW:
        for match in pattern.finditer(data):
            start = match.start()
            while start and data[start - 1] == _BACKSLASH:
                start -= 1
            if not (match.start() - start) % 2:
                return True
    return False


_BACKSLASH: Final = ord("\\")


def _inside_comes_back(text: Any) -> bool:
    """The same for JSON in a string, of which the rest may not tell how it spells what is not ASCII."""
    data = json_text.encode(str(text))
    return not _has_odd(data, Style(escapes_non_ascii=False, is_utf8=True))
