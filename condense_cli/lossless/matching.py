"""Find runs of lines that another text holds already, in time that grows with the size alone.

Lines that come more than once are indexed with where they stand, a bounded number of places each. From a
line that is found, a run grows in both directions as far as the texts agree; every run is walked once.
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
"""Places remembered for one line. A line that comes more often, such as a bracket, starts no run but can be in one."""
_SHORTEST_LINE: Final = 4
"""Characters; a shorter line means nothing by itself."""
_MEANS_SOMETHING: Final = -1 << 63
"""The bit that tells the hash of a line from the number of one that is too short: hashes are below 0."""
_CHARACTER: Final = 21
"""Bits that tell any character: three of them, which a line that is too short may have, fit beside that bit."""
_SHIFT: Final = 32
"""A place is a number: the text's number above, the line's below these bits."""
_NONE: Final = -1
_TOO_MANY: Final = -2
"""Where the chain of a line's places would begin: there is none, or it would be too long."""
ITSELF: Final = -1
"""In place of a text's number: the text that is looked at."""


class EqualRun(Struct, frozen=True):
    """`size` lines from `at` on stand in text `source` from `start` on, or (ITSELF) further up in the same text."""

    at: int
    size: int
    source: int
    start: int

    def part(self, first: int, last: int) -> EqualRun:
        return EqualRun(first, last - first, self.source, self.start + first - self.at)


class Hashed(Struct, frozen=True):
    """A text as hashes of its lines, eight bytes each, so that every text of a large transcript can be held.

    `keys` are compared between texts (a listing's without its numbers), `lines` within the text, where that
    is done (`own_runs`). Lines whose hashes agree are compared as text before anything is made of them.
    `sizes` are the characters of each line, `text` is the hash of the whole. All lines that are too short to mean
    anything have at most `short` characters, with their line breaks; `more` are bytes beyond one a character.
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
    # In one listing runs are not looked for: its lines have numbers, which differ.
    lines = _hashes(read.lines) if len(read.shape.listings) > 1 else keys
    more = 0 if text.isascii() else len(text.encode("utf-8", "surrogatepass")) - len(text)
    sizes = array("I", map(len, read.lines))
    key_sizes = sizes if read.keys is read.lines else map(len, read.keys)
    shorts = sum(size < _SHORTEST_LINE for size in key_sizes)
    longest_number = max((len(listing.last_prefix) for listing in read.shape.listings), default=0)
    short = shorts * (longest_number + _SHORTEST_LINE)
    return Hashed(keys, lines, read.shape, sizes, hash(text), short, more)


def _hashes(lines: list[str]) -> array[int]:
    """Hashes of lines, all below 0; for those that are too short to mean anything numbers that are not.

    Runs are looked for by these alone. Short lines have too many neighbours for a hash of a few bits: some would share
    one, and others in another process.
    """
    return array(
        "q", [hash(line) | _MEANS_SOMETHING if len(line) >= _SHORTEST_LINE else _number(line) for line in lines]
    )


def _number(line: str) -> int:
    """A number of its own for each line that is too short to mean anything."""
    number = 0
    for character in line:
        number = (number << _CHARACTER) + ord(character) + 1
    return number


class Repeated:
    """Which lines come more than once: a table of counts by hash, which errs on the side of yes."""

    def __init__(self, texts: Sequence[Hashed]) -> None:
        lines = sum(len(text.keys) for text in texts)
        self._mask = mask = (1 << max(10, (8 * lines).bit_length())) - 1
        self._seen = seen = bytearray(mask + 1)
        self._last: tuple[Hashed, list[int]] | None = None
        for text in texts:
            for key in text.keys:
                seen[key & mask] = 2 if seen[key & mask] else 1

    def lines(self, text: Hashed) -> list[int]:
        """The lines of a text that come more than once and are long enough to mean something."""
        if self._last is None or self._last[0] is not text:  # Mostly asked for several times in a row.
            self._last = (text, self._lines(text))
        return self._last[1]

    def _lines(self, text: Hashed) -> list[int]:
        seen, mask = self._seen, self._mask
        return [line for line, key in enumerate(text.keys) if key < 0 and seen[key & mask] == 2]


class Index:
    """The lines of texts that stay, by their hashes.

    Places of one line are a chain from the newest to the oldest: `_newest` says where it begins and `_before`
    where it goes on, `_number` how many there are so far. Lists of them would take several times the memory.
    """

    def __init__(self, repeated: Repeated) -> None:
        self._repeated = repeated
        self._newest: dict[int, int] = {}
        self._places, self._before, self._number = array("q"), array("q"), array("B")
        self._texts: dict[int, Hashed] = {}
        self._gone: dict[int, bytearray] = {}
        self._whole: dict[int, int] = {}

    def add(self, number: int, text: Hashed, gone: bytearray | None = None) -> None:
        """Add a text by its number; lines marked in `gone` do not stand in it any more."""
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
        """More lines of a text do not stand in it any more."""
        self._gone[number] = gone

    def runs(self, text: Hashed, allows: Callable[[int], bool]) -> Iterator[EqualRun]:
        """Every longest run of the text that stands in another text that is allowed, in the order it is found."""
        newest, places, before, mask = self._newest, self._places, self._before, (1 << _SHIFT) - 1
        # A text that stands elsewhere as a whole may have no line that is rare enough to start a run.
        whole = self._whole.get(text.text)
        if whole is not None and whole not in self._gone and allows(whole):
            yield EqualRun(0, len(text.keys), whole, 0)
            return
        keys = text.keys
        # By the place that line 0 would agree with: lines on one diagonal of one text have the same.
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
        """How many bytes of a text can at most stand in runs, or more than `enough` where that is easy to see."""
        if text.short + text.more > enough or text.text in self._whole:
            return enough + 1
        newest, own = self._newest, text.lines
        found = bytes(key in newest for key in text.keys)
        if text.shape.listing is None and len(set(own)) < len(own):
            often = {key for key, number in Counter(own).items() if number > 1}
            found = bytes(is_found or key in often for is_found, key in zip(found, own, strict=True))
        # The characters of the lines that are found, and the break behind each.
        return sum(compress(text.sizes, found)) + sum(found) + text.short + text.more

    def _grow(self, text: Hashed, line: int, source: int, there: int) -> tuple[int, int]:
        """First and last (not included) line of the run around a line that agrees."""
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
        """Runs that stand further up in the text itself. They are counted, so one listing with numbers has none."""
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
                # Text that repeats itself at once refers to its first round only.
                size = min(end - start, shift)
                yield EqualRun(start, size, ITSELF, start - shift)


def _agreement(text: Hashed, line: int, other: Hashed, there: int) -> Callable[[int], bool]:
    """Whether lines are numbered alike: in both texts or in neither, or as where the run was found."""
    shift = there - line
    here, over_there = text.shape.is_numbered, other.shape.is_numbered
    found = (here(line), over_there(there))
    is_alike = found[0] == found[1]

    def agree(line: int) -> bool:
        both = (here(line), over_there(line + shift))
        return both[0] == both[1] if is_alike else both == found

    return agree


def disjoint(runs: Iterable[EqualRun], sizes: Sequence[int], fixed: bytearray, shortest: int) -> Iterator[EqualRun]:
    """Runs that do not overlap, the longest (in characters, by the sizes of lines) first; what others take is cut off.

    Lines marked in `fixed` belong to no run; the caller marks what it takes, and what it refers to, before it
    asks for the next. Runs of fewer than `shortest` characters are left out.
    """
    found = list(runs)
    if not found:
        return
    offsets = list(accumulate(sizes, initial=0))

    def characters(run: EqualRun) -> int:
        return offsets[run.at + run.size] - offsets[run.at] + run.size

    # Two parts of one run may be equally long: where they begin tells which is first, as runs have no order.
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
    """The stretches of `[start, end)` where nothing is marked."""
    while start < end:
        if fixed[start]:
            start += 1
            continue
        stop = fixed.find(1, start, end)
        stop = end if stop < 0 else stop
        yield start, stop
        start = stop


_REMEMBERED: Final = 1_000_000
"""So many characters of text are remembered as lines. They take many times that, and more of them save no time."""


class Reader:
    """Reads texts, each once: all hashes are remembered, and lines of the texts last asked for.

    `names` are those of calls, for `Addresses`.
    """

    def __init__(self) -> None:
        self.names: Names = {}
        self._hashed: dict[Text, Hashed] = {}
        self._lines: OrderedDict[Text, tuple[Lines, int]] = OrderedDict()
        self._size = 0
        self._plain: set[Text] = set()

    def may_refer(self, text: Text) -> bool:
        """Whether a text has the beginning of a reference in it."""
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
        """Forget the hashes of all texts `but` some, and the lines of all."""
        known = self._hashed.get
        self._hashed = {text: hashed for text in but if (hashed := known(text)) is not None}
        self._lines.clear()
        self._size = 0

    def remembers(self, text: Text) -> bool:
        """Whether the lines of a text need not be read again."""
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
