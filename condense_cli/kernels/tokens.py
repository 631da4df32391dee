"""Split a text as o200k_base does and count its tokens in one pass over its bytes.

This is the pattern of tiktoken (tiktoken_ext/openai_public.py), written out:

[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
\\p{N}{1,3}
 ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*
\\s*[\\r\\n]+
\\s+(?!\\S)
\\s+

Each byte of a character has the class of that character, so runs are followed byte by byte.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from heapq import heappop, heappush

IS_COMPILED = not __file__.endswith(".py")

_UPPER, _LOWER, _LETTER, _MARK, _DIGIT, _SPACE, _LINE, _OTHER = (1 << bit for bit in range(8))
CLASSES = {
    "upper": _UPPER,
    "lower": _LOWER,
    "letter": _LETTER,
    "mark": _MARK,
    "digit": _DIGIT,
    "space": _SPACE,
    "line": _LINE,
    "other": _OTHER,
}
"""Classes of characters: letters by case, other letters, marks, numbers, white space, line breaks, anything else."""
_TO_UPPER = _UPPER | _LETTER | _MARK
_TO_LOWER = _LOWER | _LETTER | _MARK
_BEFORE_WORDS = _MARK | _SPACE | _OTHER
_SIGNS = _OTHER | _MARK
_BLANKS = _SPACE | _LINE

_CHARACTERS = 0x110000
_SHORT = 64
"""Bytes up to which a piece is merged by scanning it, which is faster than a heap."""
_PLACES = 1 << 14
_HALF = 7
"""Bytes that fit in a number beside the length of the piece."""
_NO_RANK = 1 << 30
# Named, as literals of more than 31 bits would be objects of Python.
_ONES = 0xFFFFFFFF
_MIXING = 0x9E3779B1


class Splitter:
    """Counts tokens with the arrays of a table of tokens (`tokens/token_table.py`).

    `class_of` names the class of a character, and is asked once for each; what it raises is passed on.
    """

    def __init__(
        self,
        slots: memoryview[int],
        starts: memoryview[int],
        texts: memoryview[int],
        class_of: Callable[[int], str],
    ) -> None:
        self.slots, self.starts, self.texts, self.mask = slots, starts, texts, len(slots) - 1
        self.class_of = class_of
        self.ascii = bytes(CLASSES[class_of(code)] if code < 128 else 0 for code in range(256))
        self.classes = bytearray(_CHARACTERS)  # No page of it takes memory before it is written.
        self.checksums = array("I", range(256))
        for place in range(256):
            for _ in range(8):
                value = self.checksums[place]
                self.checksums[place] = value >> 1 ^ 0xEDB88320 if value & 1 else value >> 1
        # The newest short piece in each place, as two numbers, and its tokens.
        self.heads, self.tails = array("q", bytes(8 * _PLACES)), array("q", bytes(8 * _PLACES))
        self.counts = bytearray(_PLACES)
        self.pairs = array("i", bytes(4 << 16))
        self.ends, self.ranks = array("q", bytes(8 * _SHORT + 8)), array("q", bytes(8 * _SHORT + 8))

    def count(self, data: bytes) -> int:
        """Count the tokens of a text in UTF-8."""
        size = len(data)
        classes = data.translate(self.ascii) if data.isascii() else bytes(self.classified(data, size))
        tokens = start = 0
        while start < size:
            end = self.end_of(data, classes, start, size)
            tokens += self.known(data, start, end)
            start = end
        return tokens

    def classified(self, data: bytes, size: int) -> bytearray:
        """Return the class of each byte's character."""
        found = bytearray(size)
        at = 0
        while at < size:
            code = data[at]
            stop = at + 1
            if code >= 128:
                code &= 31 if code < 224 else 15 if code < 240 else 7
                while stop < size and data[stop] & 192 == 128:
                    code = code << 6 | data[stop] & 63
                    stop += 1
            if not self.classes[code]:
                self.classes[code] = CLASSES[self.class_of(code)]
            while at < stop:
                found[at] = self.classes[code]
                at += 1
        return found

    def end_of(self, data: bytes, classes: bytes, start: int, size: int) -> int:
        """Return where the piece ends that begins at `start`."""
        first = classes[start]
        at = start
        if first == _DIGIT:
            for _ in range(3):
                if at < size and classes[at] == _DIGIT:
                    at = self.behind(data, at, size)
            return at
        if first != _LINE:
            if first & _BEFORE_WORDS:
                at = self.behind(data, at, size)
            stop = at
            while stop < size and classes[stop] & _TO_UPPER:
                stop += 1
            if stop < size and classes[stop] == _LOWER:
                while stop < size and classes[stop] & _TO_LOWER:
                    stop += 1
                return self.contracted(data, stop, size)
            # Without lower case the first alternative ends at the last character of neither case.
            last = stop - 1
            while last >= at and classes[last] == _UPPER:
                last -= 1
            if last >= at:
                return self.contracted(data, last + 1, size)
            if first == _MARK:  # Alone it is a word without a character before it.
                return self.contracted(data, at, size)
            if stop > at:
                return self.contracted(data, stop, size)
            at = start + 1 if data[start] == 32 else start
            if at < size and classes[at] == _OTHER:
                while at < size and classes[at] & _SIGNS:
                    at += 1
                while at < size and (classes[at] == _LINE or data[at] == 47):
                    at += 1
                return at
        at = start
        line = -1
        while at < size and classes[at] & _BLANKS:
            if classes[at] == _LINE:
                line = at
            at += 1
        if line >= 0:
            return line + 1
        if at < size:  # The last blank belongs to what follows it.
            last = at - 1
            while data[last] & 192 == 128:
                last -= 1
            if last > start:
                return last
        return at

    def behind(self, data: bytes, at: int, size: int) -> int:
        """Return where the next character begins."""
        at += 1
        while at < size and data[at] & 192 == 128:
            at += 1
        return at

    def contracted(self, data: bytes, at: int, size: int) -> int:
        """Return the end of a word and of what is contracted with it, such as `'ll`."""
        if at + 1 < size and data[at] == 39:
            first = data[at + 1] | 32
            second = data[at + 2] | 32 if at + 2 < size else 0
            if first in (115, 100, 109, 116):  # s d m t
                return at + 2
            if (first == 108 and second == 108) or (first in (118, 114) and second == 101):  # ll ve re
                return at + 3
            if data[at + 1] == 0xC5 and at + 2 < size and data[at + 2] == 0xBF:  # Engines fold ſ to s.
                return at + 3
        return at

    def known(self, data: bytes, start: int, end: int) -> int:
        """Count the tokens of a piece, which mostly came before."""
        size = end - start
        if size > 2 * _HALF:
            return self.piece(data, start, end)
        middle = min(end, start + _HALF)
        head = size
        tail = 0
        for at in range(start, middle):
            head = head << 8 | data[at]
        for at in range(middle, end):
            tail = tail << 8 | data[at]
        place = ((head ^ head >> 31 ^ tail ^ tail >> 29) & 0x7FFFFFFF) * _MIXING >> 16 & (_PLACES - 1)
        if self.heads[place] != head or self.tails[place] != tail:
            self.counts[place] = self.piece(data, start, end)
            self.heads[place] = head
            self.tails[place] = tail
        return self.counts[place]

    def rank(self, data: bytes, start: int, end: int) -> int:
        """Return the rank of some bytes (lower ranks merge first), or `_NO_RANK` if they are no token."""
        code = _ONES  # As `zlib.crc32`.
        for at in range(start, end):
            code = self.checksums[(code ^ data[at]) & 255] ^ code >> 8
        slot = (code ^ _ONES) & self.mask
        size = end - start
        while self.slots[slot]:
            number = self.slots[slot] - 1
            first = self.starts[number]
            if self.starts[number + 1] - first == size:
                at = 0
                while at < size and self.texts[first + at] == data[start + at]:
                    at += 1
                if at == size:
                    return number
            slot = (slot + 1) & self.mask
        return _NO_RANK

    def pair(self, data: bytes, at: int) -> int:
        """Return the rank of two bytes."""
        both = data[at] << 8 | data[at + 1]
        if not self.pairs[both]:
            self.pairs[both] = self.rank(data, at, at + 2) + 1
        return self.pairs[both] - 1

    def piece(self, data: bytes, start: int, end: int) -> int:
        """Count the tokens of a piece: the neighbours of lowest rank are merged again and again."""
        size = end - start
        if size == 1 or self.rank(data, start, end) != _NO_RANK:
            return 1
        if size > _SHORT:
            return self.long_piece(data, start, end)
        for at in range(size):
            self.ends[at] = start + at
            self.ranks[at] = self.pair(data, start + at) if at < size - 1 else _NO_RANK
        self.ends[size] = end
        while True:
            best = _NO_RANK
            place = 0
            for at in range(size - 1):
                if self.ranks[at] < best:
                    best = self.ranks[at]
                    place = at
            if best == _NO_RANK:
                return size
            size -= 1
            for at in range(place + 1, size + 1):
                self.ends[at] = self.ends[at + 1] if at < size else end
                self.ranks[at] = self.ranks[at + 1] if at < size else _NO_RANK
            if place < size - 1:
                self.ranks[place] = self.rank(data, self.ends[place], self.ends[place + 2])
            else:
                self.ranks[place] = _NO_RANK
            if place > 0:
                self.ranks[place - 1] = self.rank(data, self.ends[place - 1], self.ends[place + 1])

    def long_piece(self, data: bytes, start: int, end: int) -> int:
        """Count as `piece` in O(n log n). Parts are named by their start; merges that are outdated are skipped."""
        size = count = end - start
        ends = array("q", range(1, size + 1))
        before = array("q", range(-1, size - 1))
        ranks = array("q", bytes(8 * size))
        waiting: list[int] = []
        for at in range(size - 1):
            ranks[at] = self.pair(data, start + at)
            if ranks[at] != _NO_RANK:
                heappush(waiting, ranks[at] << 32 | at)
        ranks[size - 1] = _NO_RANK
        while waiting:
            found = heappop(waiting)
            at = found & _ONES
            if ranks[at] != found >> 32:
                continue
            count -= 1
            middle = ends[at]
            until = ends[middle]
            ends[at] = until
            ranks[middle] = -1
            ranks[at] = _NO_RANK
            if until < size:
                before[until] = at
                ranks[at] = self.rank(data, start + at, start + ends[until])
                if ranks[at] != _NO_RANK:
                    heappush(waiting, ranks[at] << 32 | at)
            left = before[at]
            if left >= 0:
                ranks[left] = self.rank(data, start + left, start + until)
                if ranks[left] != _NO_RANK:
                    heappush(waiting, ranks[left] << 32 | left)
        return count
