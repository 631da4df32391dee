"""Find runs of lines that another text already holds, in time linear in the size.

Repeated lines are indexed with a bounded number of places each. From a matching line a run grows in both directions as
far as the texts agree; every run is walked once.
"""

from __future__ import annotations

from array import array
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import heapify, heappop, heappush
from itertools import accumulate, compress
from typing import Final

from msgspec import Struct

from ..core.markers import REFERENCE_PREFIX
from ..core.values import Text, compact
from .lines import Lines, Shape, read_lines
from .references import Names

_PLACES: Final = 32
"""Places stored per line. A more frequent line, such as a bracket, starts no run but can be part of one."""
_SHORTEST_LINE: Final = 4
"""Minimum characters of a significant line."""
_MEANS_SOMETHING: Final = -1 << 63
"""Bit that distinguishes hashes, which are negative, from numbers of short lines."""
_CHARACTER: Final = 21
"""Bits per character: three characters, the most of a short line, fit beside that bit."""
_SHIFT: Final = 32
"""A place is an integer: the text's number above these bits, the line's number below."""
_NONE: Final = -1
_TOO_MANY: Final = -2
"""Values in place of a chain of places: there is none, or it would be too long."""
ITSELF: Final = -1
"""Used in place of a text's number: the text being examined."""


class EqualRun(Struct, frozen=True):
    """`size` lines from `at` on equal those from `start` on in text `source`, or (ITSELF) earlier in the same text."""

    at: int
    size: int
    source: int
    start: int

    def part(self, first: int, last: int) -> EqualRun:
        return EqualRun(first, last - first, self.source, self.start + first - self.at)


class Hashed(Struct, frozen=True):
    """A text as hashes of its lines, eight bytes each, so that every text of a large transcript fits in memory.

    `keys` are compared between texts (without numbers of listings), `lines` within the text, if at all (`own_runs`).
    Lines with equal hashes are compared as text before use. `sizes` are the characters of each line, `text` is the hash
    of the whole. `short` is an upper bound for the characters, with line breaks, of all short lines; `more` is the
    number of bytes beyond one per character.
    """

    keys: array[int]
    lines: array[int]
    shape: Shape
    sizes: array[int]
    text: int
    short: int
    more: int

    @property
    def numbered(self) -> bytes:
        return self.shape.numbered


def hash_lines(text: str) -> Hashed:
    read = read_lines(text)
    keys = _hashes(read.keys)
    # A single listing is not searched for runs: its line numbers differ.
    lines = _hashes(read.lines) if len(read.shape.listings) > 1 else keys
    more = 0 if text.isascii() else len(text.encode("utf-8", "surrogatepass")) - len(text)
    sizes = array("I", map(len, read.lines))
    key_sizes = sizes if read.keys is read.lines else map(len, read.keys)
    shorts = sum(size < _SHORTEST_LINE for size in key_sizes)
    longest_number = max((len(listing.last_prefix) for listing in read.shape.listings), default=0)
    short = shorts * (longest_number + _SHORTEST_LINE)
    return Hashed(keys, lines, read.shape, sizes, hash(text), short, more)


def _hashes(lines: list[str]) -> array[int]:
    """Hash lines to negative numbers; short lines get non-negative numbers.

    Runs are found by these alone. Short lines have so many neighbours that hashes would collide, differently in each
    process.
    """
    return array(
        "q", [hash(line) | _MEANS_SOMETHING if len(line) >= _SHORTEST_LINE else _number(line) for line in lines]
    )


def _number(line: str) -> int:
    """Return a unique number for a short line."""
    number = 0
    for character in line:
        number = (number << _CHARACTER) + ord(character) + 1
    return number


class Repeated:
    """Table of lines that occur more than once, by hash; false positives are possible."""

    def __init__(self, texts: Sequence[Hashed]) -> None:
        lines = sum(len(text.keys) for text in texts)
        self._mask = mask = (1 << max(10, (8 * lines).bit_length())) - 1
        self._seen = seen = bytearray(mask + 1)
        self._last: tuple[Hashed, list[int]] | None = None
        for text in texts:
            for key in text.keys:
                seen[key & mask] = 2 if seen[key & mask] else 1

    def lines(self, text: Hashed) -> list[int]:
        """Return the significant lines of a text that occur more than once."""
        if self._last is None or self._last[0] is not text:  # Mostly called several times in a row.
            self._last = (text, self._lines(text))
        return self._last[1]

    def _lines(self, text: Hashed) -> list[int]:
        seen, mask = self._seen, self._mask
        return [line for line, key in enumerate(text.keys) if key < 0 and seen[key & mask] == 2]


class Index:
    """Lines of texts that stay, by hash.

    Places of one line form a chain from newest to oldest: `_newest` is its head, `_before` the next place, `_number`
    its length so far. Lists would take several times the memory.
    """

    def __init__(self, repeated: Repeated) -> None:
        self._repeated = repeated
        self._newest: dict[int, int] = {}
        self._places, self._before, self._number = array("q"), array("q"), array("B")
        self._texts: dict[int, Hashed] = {}
        self._gone: dict[int, bytearray] = {}
        self._whole: dict[int, int] = {}

    def add(self, number: int, text: Hashed, gone: bytearray | None = None) -> None:
        """Add a text by its number, without lines marked in `gone`."""
        newest, base = self._newest, number << _SHIFT
        is_used = False
        for line in self._repeated.lines(text):
            if not (gone and gone[line]):
                key = text.keys[line]
                before = newest.get(key, _NONE)
                places = self._number[before] if before >= 0 else 0
                if before == _TOO_MANY or places == _PLACES:
                    newest[key] = _TOO_MANY
                else:
                    newest[key] = len(self._places)
                    self._places.append(base + line)
                    self._before.append(before)
                    self._number.append(places + 1)
                is_used = True
        if is_used:
            self._texts[number] = text
            self._whole[text.text] = number
            if gone:
                self._gone[number] = gone

    def remove(self, number: int, gone: bytearray) -> None:
        """Update the lines of a text that are gone."""
        self._gone[number] = gone

    def runs(self, text: Hashed, allows: Callable[[int], bool]) -> Iterator[EqualRun]:
        """Yield every maximal run of the text that occurs in another allowed text, in order of discovery."""
        newest, places, before, mask = self._newest, self._places, self._before, (1 << _SHIFT) - 1
        # If the whole text occurs elsewhere, it may still have no line rare enough to start a run.
        whole = self._whole.get(text.text)
        if whole is not None and whole not in self._gone and allows(whole):
            yield EqualRun(0, len(text.keys), whole, 0)
            return
        keys = text.keys
        # Keyed by the place that line 0 would match, which is equal for all lines of one diagonal.
        walked: dict[int, int] = {}
        for line in self._repeated.lines(text):
            chain = newest.get(keys[line], _NONE)
            while chain >= 0:
                place, chain = places[chain], before[chain]
                if walked.get(place - line, -1) > line:
                    continue
                source, there = place >> _SHIFT, place & mask
                gone = self._gone.get(source)
                if not (gone and gone[there]) and allows(source):
                    start, end = self._grow(text, line, source, there)
                    walked[place - line] = end
                    yield EqualRun(start, end - start, source, there - line + start)

    def most_bytes(self, text: Hashed, enough: int) -> int:
        """Return an upper bound of the text's bytes in runs, or more than `enough` if that is quickly seen."""
        if text.short + text.more > enough or text.text in self._whole:
            return enough + 1
        newest, own = self._newest, text.lines
        found = bytes(key in newest for key in text.keys)
        if text.shape.listing is None and len(set(own)) < len(own):
            often = {key for key, number in Counter(own).items() if number > 1}
            found = bytes(is_found or key in often for is_found, key in zip(found, own, strict=True))
        # Characters of the lines found, and a line break for each.
        return sum(compress(text.sizes, found)) + sum(found) + text.short + text.more

    def _grow(self, text: Hashed, line: int, source: int, there: int) -> tuple[int, int]:
        """Return the start and (exclusive) end of the run around a matching line."""
        other, gone = self._texts[source], self._gone.get(source)
        keys, other_keys, shift = text.keys, other.keys, there - line
        agree = _agreement(text, line, other, there) if text.numbered or other.numbered else None

        def belongs(line: int) -> bool:
            if keys[line] != other_keys[line + shift] or (gone and gone[line + shift]):
                return False
            return agree is None or agree(line)

        start, end = line, line + 1
        first, last = max(0, -shift), min(len(keys), len(other_keys) - shift)
        while start > first and belongs(start - 1):
            start -= 1
        while end < last and belongs(end):
            end += 1
        return start, end

    def own_runs(self, text: Hashed) -> Iterator[EqualRun]:
        """Yield runs that occur further up in the same text. Such lines are counted, so numbered listings have none."""
        if text.shape.listing is not None:
            return
        keys = text.lines
        places: dict[int, list[int]] = {}
        for line in self._repeated.lines(text):
            places.setdefault(keys[line], []).append(line)
        walked: dict[int, int] = {}
        for lines in places.values():
            if len(lines) > _PLACES:
                continue
            for line, there in ((line, there) for line in lines for there in lines if there < line):
                shift = line - there
                if walked.get(shift, -1) > line:
                    continue
                start, end = line, line + 1
                while start > shift and keys[start - 1] == keys[start - 1 - shift]:
                    start -= 1
                while end < len(keys) and keys[end] == keys[end - shift]:
                    end += 1
                walked[shift] = end
                # Text that repeats immediately refers to its first occurrence only.
                size = min(end - start, shift)
                yield EqualRun(start, size, ITSELF, start - shift)


def _agreement(text: Hashed, line: int, other: Hashed, there: int) -> Callable[[int], bool]:
    """Return a check that lines are numbered alike: in both texts, in neither, or as where the run was found."""
    shift = there - line
    here, over_there = text.shape.is_numbered, other.shape.is_numbered
    found = (here(line), over_there(there))
    is_alike = found[0] == found[1]

    def agree(line: int) -> bool:
        both = (here(line), over_there(line + shift))
        return both[0] == both[1] if is_alike else both == found

    return agree


def disjoint(runs: Iterable[EqualRun], sizes: Sequence[int], fixed: bytearray, shortest: int) -> Iterator[EqualRun]:
    """Yield runs that do not overlap, longest first (in characters, by `sizes`), without parts taken by others.

    Lines marked in `fixed` belong to no run. The caller marks the lines that it takes or refers to before it requests
    the next run. Runs of fewer than `shortest` characters are skipped.
    """
    found = list(runs)
    if not found:
        return
    offsets = list(accumulate(sizes, initial=0))

    def characters(run: EqualRun) -> int:
        return offsets[run.at + run.size] - offsets[run.at] + run.size

    # Parts of one run may be equally long; their start breaks the tie, because runs cannot be compared.
    heap = [(-size, number, run.at, run) for number, run in enumerate(found) if (size := characters(run)) >= shortest]
    heapify(heap)
    while heap:
        _, number, _, run = heappop(heap)
        parts = list(_free(fixed, run.at, run.at + run.size))
        if parts == [(run.at, run.at + run.size)]:
            yield run
            continue
        for part in (run.part(first, last) for first, last in parts):
            if (size := characters(part)) >= shortest:
                heappush(heap, (-size, number, part.at, part))


def _free(fixed: bytearray, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the unmarked ranges of `[start, end)`."""
    while start < end:
        if fixed[start]:
            start += 1
            continue
        stop = fixed.find(1, start, end)
        stop = end if stop < 0 else stop
        yield start, stop
        start = stop


_REMEMBERED: Final = 1_000_000
"""Characters of text cached as lines, which take many times the memory. Caching more saves no time."""


class Hashes(dict[Text, Hashed]):
    """Texts as hashes of their lines. Several readers may share them."""


class Reader:
    """Reads each text once: caches all hashes, and lines of recent texts.

    `names` caches names of calls for `Addresses`.
    """

    def __init__(self, hashed: Hashes | None = None) -> None:
        self.names: Names = {}
        self._hashed = Hashes() if hashed is None else hashed
        self._lines: OrderedDict[Text, tuple[Lines, int]] = OrderedDict()
        self._size = 0
        self._plain: set[Text] = set()

    def may_refer(self, text: Text) -> bool:
        """Return whether a text contains the beginning of a reference."""
        if text in self._plain:
            return False
        found = REFERENCE_PREFIX in text
        if not (found or isinstance(text, str)):
            self._plain.add(text)
        return found

    def hashed(self, text: Text) -> Hashed:
        text = compact(text)
        found = self._hashed.get(text)
        if found is None:
            found = self._hashed[text] = hash_lines(str(text))
        return found

    def forget(self, but: Iterable[Text]) -> None:
        """Drop the hashes of all texts except `but`, and all lines."""
        known = self._hashed.get
        self._hashed = Hashes({text: hashed for text in but if (hashed := known(text)) is not None})
        self._lines.clear()
        self._size = 0

    def remembers(self, text: Text) -> bool:
        """Return whether the text's lines are cached."""
        return compact(text) in self._lines

    def lines(self, text: Text) -> Lines:
        text = compact(text)
        found = self._lines.get(text)
        if found is not None:
            self._lines.move_to_end(text)
            return found[0]
        string = str(text)
        hashed = self._hashed.get(text)
        lines = read_lines(string, hashed.shape if hashed else None)
        self._lines[text] = lines, len(string)
        self._size += len(string)
        while self._size > _REMEMBERED and len(self._lines) > 1:
            self._size -= self._lines.popitem(last=False)[1][1]
        return lines
