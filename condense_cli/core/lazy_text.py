"""Texts as they are held: short ones as strings, long ones as the JSON literal that spells them."""

from __future__ import annotations

from typing import Final
from zlib import crc32

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import force_setattr

LONG: Final = 500
"""Texts of fewer characters are held as strings: the way to their spelling would take as much memory."""
_read = msgspec.json.Decoder(str).decode


class LazyText(Struct, frozen=True, eq=False):
    """A text as the JSON literal that spells it, which is read each time somebody asks.

    In a string every character takes the two or four bytes that the widest one needs: an arrow doubles a text. A
    literal is UTF-8, and in a file that was read it is a stretch of the bytes that are there anyway.
    """

    literal: Raw
    checksum: int = -1
    """Of the literal, once somebody has asked for it: what remembers texts looks each one up many times."""

    def __str__(self) -> str:
        return _read(self.literal)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LazyText) and self.literal == other.literal

    def __hash__(self) -> int:
        if self.checksum < 0:
            force_setattr(self, "checksum", crc32(self.literal))
        return self.checksum

    def __contains__(self, word: str) -> bool:
        """Whether a word is in the text. No quote, slash, backslash or control character is in the word.

        The word begins with no letter, which behind a backslash would be half of an escape. Of characters beyond ASCII
        it has only such whose number has no letters, as that of the ellipsis, 2026: an escape spells those in one way.
        """
        literal = bytes(self.literal)
        # Any other spelling of an ASCII character is an escape of its number.
        if b"\\u00" in literal:
            return word in str(self)
        return word.encode() in literal or (not word.isascii() and ascii(word)[1:-1].encode() in literal)


Text = str | LazyText
"""A text in either form: `str(text)` gives it. The two forms of one text are not equal."""


def size_of(text: Text) -> int:
    """About how many bytes the text has; nothing is read for it."""
    return len(text) if isinstance(text, str) else memoryview(text.literal).nbytes


def compact(text: Text) -> Text:
    """The text in the form that takes less memory, which for all but long ones is the string."""
    if not isinstance(text, str) or len(text) < LONG:
        return text
    try:
        return LazyText(Raw(msgspec.json.encode(text)))
    except UnicodeEncodeError:
        return text  # A lone surrogate
