"""Check that what is written reads back as what was meant, and find where it does not.

JSON can spell a character in several ways, and a file may mix them: `é` beside `\\u00e9`, `\\/`, `\\u0020`. New text is
spelled as most of the file is.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import zip_longest
from typing import Final

from msgspec import Struct

from ...core import json_text
from ...core.json_text import Style
from ...core.lazy_pattern import lazy_pattern
from ...core.markers import ELLIPSIS
from ...core.transcript import IN_STRING, TEXT_CALL, Block, Place, Source, Transcript
from ...core.values import BlockKind, Role
from .. import parse
from .base import Values

_Content = tuple[Block, Role, BlockKind, str | None, str | int | None, bool, int]
"""A block, and the fields that are compared besides its text."""


class Difference(Struct, frozen=True):
    """A block that would read as something else: the index of its message, its record, and the fault."""

    message: int
    record: int
    said: str


def reads_back(data: bytes, meant: Transcript) -> bool:
    """Return whether the bytes say the same. Compares block by block, to hold few texts at a time."""
    return next(_unequal(_read(data, meant), meant), None) is None


def differences(data: bytes, meant: Transcript) -> tuple[Difference, Difference] | None:
    """Return the first and the last block that the bytes do not say; None if they say the same."""
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
    """Yield the blocks in order. Ids that a reader makes up are numbered anew: they move if calls before them go."""
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
    """Name the kind of a block in words."""
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
"""Spellings that we would not write, in a file that escapes only what it must, or everything that is not ASCII. They do
not count behind an escaped backslash. Halves of a pair count, although each alone is spelled so."""


class ComingBack:
    """Tell whether the texts of blocks come back as the file spells them; looks at each place once.

    With `only_even`, none do in a file that mixes spellings: a text may have other places than the one looked at.
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
        """Return whether the text shows how the file spells characters that are not ASCII, if it has any.

        The ellipsis of a marker does not count: once a pass has cut other texts, they would show it, and a second run
        would refer where the first did not. It is part of no listing, so what a text refers to has it as well. A new
        summary counts: it is written in the file's own style.
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
        """Whether the file spells all strings alike."""
        return not _has_odd(self._source.data, self._style)

    def _comes_back(self, place: Place) -> bool:
        path = place.path
        if IN_STRING in path:
            path = path[: path.index(IN_STRING)]
            # Of JSON in a string the rest may not tell how it spells what is not ASCII.
            inner = json_text.encode(str(self._values(place.record, path)))
            if _has_odd(inner, Style(escapes_non_ascii=False, is_utf8=True)):
                return False
        if self._is_even:
            return True
        value = self._values(place.record, path)
        text = json_text.decode(self._source.raw(place.record))
        ((start, end),) = json_text.locate(text, [path]).values()
        if isinstance(value, str):
            return text[start:end] == self._style.literal(value)
        return not _has_odd(json_text.encode(text[start:end]), self._style)


def _has_odd(data: bytes, style: Style) -> bool:
    """Return whether JSON spells any string otherwise than the style does."""
    for pattern in _ODD_ESCAPED if style.escapes_non_ascii else _ODD_RAW:
        for match in pattern.finditer(data):
            start = match.start()
            while start and data[start - 1] == _BACKSLASH:
                start -= 1
            if not (match.start() - start) % 2:
                return True
    return False


_BACKSLASH: Final = ord("\\")
