"""Count small texts with a memory-mapped token table, so the first count needs no loading.

Loading a tokenizer's vocabulary takes almost a tenth of a second, more than all other work on a small transcript. The
build makes the table from the installed tokenizer (`hatch_build.py`). It holds the tokens of o200k_base in sequence and
an open-addressing hash table over them; only the pages that a text needs are read. This counter is pure Python and far
slower than a tokenizer, which takes over for large texts (`tokens.py`).

The splitting pattern is tiktoken's (tiktoken_ext/openai_public.py). `re` has no Unicode categories, so before splitting
each non-ASCII character is replaced by one that represents its category.
"""

from __future__ import annotations

import mmap
import re
import struct
import sys
import unicodedata
import zlib
from array import array
from collections.abc import Callable, Iterable, Sequence
from heapq import heapify, heappop, heappush
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from ..kernels.tokens import Splitter

ENCODING: Final = "o200k_base"
TOKENS: Final = 199_998
"""Number of byte-pair tokens; special tokens have higher ranks."""
TABLE: Final = Path(__file__).with_name("o200k_base.table")

_MAGIC: Final = b"condense token table 1\0\0"
_HEADER: Final = struct.Struct("<24sIIII")
"""Magic bytes, number of tokens, number of slots, total bytes of tokens, Adler-32 of everything after the header."""
_SLOTS: Final = 1 << 19
_LONG: Final = 40
"""Piece length in bytes from which a heap is faster than a scan."""
_KNOWN: Final = 50_000
"""Maximum number of cached pieces."""

_UPPER, _LOWER, _LETTER, _MARK, _DIGIT, _SPACE, _OTHER = "A", "a", "ª", "\u0301", "0", "\x0b", "\x01"
_OF_CATEGORY: Final = {
    **dict.fromkeys(("Lu", "Lt"), _UPPER),
    **dict.fromkeys(("Lm", "Lo"), _LETTER),
    **dict.fromkeys(("Mn", "Mc", "Me"), _MARK),
    **dict.fromkeys(("Nd", "Nl", "No"), _DIGIT),
    **dict.fromkeys(("Zs", "Zl", "Zp"), _SPACE),
    "Ll": _LOWER,
}
_SPLIT: Final = re.compile(
    r"[^\r\nA-Za-zª0-9]?[A-Zª\u0301]*[a-zª\u0301]+(?:'(?:[sdmtSDMT]|[lL][lL]|[vV][eE]|[rR][eE]))?"
    r"|[^\r\nA-Za-zª0-9]?[A-Zª\u0301]+[a-zª\u0301]*(?:'(?:[sdmtSDMT]|[lL][lL]|[vV][eE]|[rR][eE]))?"
    r"|[0-9]{1,3}"
    r"| ?[^\t\n\x0b\x0c\r A-Za-zª0-9]+[\r\n/]*"
    r"|[\t\n\x0b\x0c\r ]*[\r\n]+"
    r"|[\t\n\x0b\x0c\r ]+(?![^\t\n\x0b\x0c\r ])"
    r"|[\t\n\x0b\x0c\r ]+"
)


class UnknownCharacterError(Exception):
    """This Python's Unicode version lacks a character, so its category and the split are uncertain."""


class _Categories(dict[int, str]):
    """Maps code points to the character that represents their category; filled on demand."""

    def __missing__(self, code: int) -> str:
        category = unicodedata.category(chr(code))
        if category == "Cn":
            raise UnknownCharacterError(f"U+{code:04X}")
        # ſ is the only non-ASCII letter that regex engines fold to one of `'s`, `'ll` etc.; U+0085 is white space.
        found = {0x17F: "s", 0x85: _SPACE}.get(code) or _OF_CATEGORY.get(category, _OTHER)
        self[code] = found
        return found


_CLASSES: Final = {
    _LETTER: "letter",
    _MARK: "mark",
    **dict.fromkeys("\r\n", "line"),
    **dict.fromkeys("\t\x0b\x0c ", "space"),
}

_STANDS_FOR: Final = _Categories({code: chr(code) for code in range(128)})


def _class_of(code: int) -> str:
    """Return the class of a character in `kernels.tokens`. Raises UnknownCharacterError."""
    character = _STANDS_FOR[code]
    if found := _CLASSES.get(character):
        return found
    if character.isalpha():
        return "upper" if character.isupper() else "lower"
    return "digit" if character.isdigit() else "other"


class _Pieces(dict[str, int]):
    """Token counts by piece, filled on demand."""

    def __init__(self, table: TokenTable) -> None:
        self._count = table.piece

    def __missing__(self, piece: str) -> int:
        count = self._count(piece.encode())
        if len(self) < _KNOWN:
            self[piece] = count
        return count


class TokenTable:
    """Callable that counts tokens of o200k_base with a memory-mapped table.

    Special tokens in the text count as ordinary text. Raises UnknownCharacterError, and UnicodeEncodeError for lone
    surrogates.
    """

    def __init__(self, data: memoryview) -> None:
        """Read a whole table, header included. Raises ValueError if it is damaged."""
        if len(data) < _HEADER.size:
            raise ValueError("it ends in its header")
        magic, tokens, slots, size, checksum = _HEADER.unpack_from(data)
        starts = _HEADER.size + slots * 4
        texts = starts + (tokens + 1) * 4
        if magic != _MAGIC or len(data) != texts + size or zlib.adler32(data[_HEADER.size :]) != checksum:
            raise ValueError("its checksum is another one")
        self._mask = slots - 1
        self._slots: memoryview[int] = data[_HEADER.size : starts].cast("I")
        self._starts: memoryview[int] = data[starts:texts].cast("I")
        self._texts = data[texts:]
        self._known = _Pieces(self)
        from ..kernels import tokens  # Not at the top, as the build imports this module alone.

        self._compiled = self.splitter(tokens.Splitter) if tokens.IS_COMPILED else None

    def splitter(self, kind: type[Splitter]) -> Splitter:
        """Return a counter that counts alike, faster than a tokenizer if it is compiled."""
        return kind(self._slots, self._starts, self._texts, _class_of)

    def __call__(self, text: str) -> int:
        if self._compiled:
            return self._compiled.count(text.encode())
        if text.isascii():
            pieces: Iterable[str] = _SPLIT.findall(text)
        else:
            # Characters are replaced one by one, so the pieces' lengths apply to the original text.
            ends = list(accumulate(map(len, _SPLIT.findall(text.translate(_STANDS_FOR))), initial=0))
            pieces = map(text.__getitem__, map(slice, ends, ends[1:]))
        return sum(map(self._known.__getitem__, pieces))

    def piece(self, piece: bytes) -> int:
        """Count the tokens of one piece that the pattern split off."""
        if self._rank(piece) is not None:
            return 1
        return self._merged(piece) if len(piece) < _LONG else self._merged_by_heap(piece)

    def _rank(self, token: bytes) -> int | None:
        """Return a token's rank (lower ranks merge first), or None if it is not a token."""
        slots, starts = self._slots, self._starts
        slot = zlib.crc32(token) & self._mask
        while number := int(slots[slot]):
            if self._texts[starts[number - 1] : starts[number]] == token:
                return number - 1
            slot = (slot + 1) & self._mask
        return None

    def _merged(self, piece: bytes) -> int:
        """Count tokens by byte-pair encoding: repeatedly merge the neighbours of lowest rank."""
        ends = list(range(len(piece) + 1))
        rank = self._rank
        ranks = [rank(piece[at : at + 2]) for at in range(len(piece) - 1)]
        while ranks:
            best = min((r for r in ranks if r is not None), default=None)
            if best is None:
                break
            at = ranks.index(best)
            del ends[at + 1], ranks[at]
            if at < len(ranks):
                ranks[at] = rank(piece[ends[at] : ends[at + 2]])
            if at:
                ranks[at - 1] = rank(piece[ends[at - 1] : ends[at + 1]])
        return len(ends) - 1

    def _merged_by_heap(self, piece: bytes) -> int:
        """Count as `_merged` in O(n log n), for long pieces. Parts are named by their start; outdated merges are
        skipped.
        """
        size = len(piece)
        end = list(range(1, size + 1))
        before = list(range(-1, size - 1))
        rank = self._rank
        waiting = [(found, at, at + 2) for at in range(size - 1) if (found := rank(piece[at : at + 2])) is not None]
        heapify(waiting)
        count = size
        while waiting:
            _, at, until = heappop(waiting)
            middle = end[at]
            if middle in (0, size) or end[middle] != until:
                continue
            end[at], end[middle] = until, 0
            count -= 1
            if until < size:
                before[until] = at
                if (found := rank(piece[at : end[until]])) is not None:
                    heappush(waiting, (found, at, end[until]))
            if (left := before[at]) >= 0 and (found := rank(piece[left:until])) is not None:
                heappush(waiting, (found, left, until))
        return count


def load(path: Path = TABLE) -> Callable[[str], int] | None:
    """Open a table. None if it is missing, damaged or of another byte order."""
    if sys.byteorder != "little":
        return None
    try:
        with path.open("rb") as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return TokenTable(memoryview(data))
    except (OSError, ValueError):
        return None


def table_of(tokens: Sequence[bytes]) -> bytes:
    """Build the table from tokens in rank order."""
    starts = array("I", (0,))
    slots = array("I", bytes(4 * _SLOTS))
    for number, token in enumerate(tokens, 1):
        starts.append(starts[-1] + len(token))
        slot = zlib.crc32(token) % _SLOTS
        while slots[slot]:
            slot = (slot + 1) % _SLOTS
        slots[slot] = number
    if sys.byteorder != "little":
        starts.byteswap()
        slots.byteswap()
    texts = b"".join(tokens)
    body = slots.tobytes() + starts.tobytes() + texts
    return _HEADER.pack(_MAGIC, len(tokens), _SLOTS, len(texts), zlib.adler32(body)) + body
