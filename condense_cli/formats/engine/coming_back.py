"""Which texts of a file are written, once they have been replaced and put back, as they were spelled before.

JSON can spell a character in several ways, and a file may mix them: `é` beside `\\u00e9`, `\\/`, `\\u0020`. What is put
back is spelled as the file spells its strings otherwise.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Final

from ...core import json_text
from ...core.json_text import Style
from ...core.lazy_pattern import lazy_pattern
from ...core.markers import ELLIPSIS
from ...core.transcript import IN_STRING, Block, JsonPath, Place, Source
from .base import Values

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
