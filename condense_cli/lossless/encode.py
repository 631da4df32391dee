"""Replace lines that another text repeats by references, and prove them by decoding.

Foreign text in the form of a reference may come to count when messages between go or a text is cut. So the output is
decoded as a reader will: new references that decode to anything else are not written, and foreign text that would be
resolved gets an escape, which reading removes.

Texts are processed from newest to oldest. The rest of each is available to older ones, so no reference leads to another
reference, and a text that is referred to stays as it is.

Two further targets are close and cheap to name: for a result the arguments of its own call (clients show edits), and
lines further up in the same text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, Protocol, assert_never

from msgspec import Struct
from msgspec.structs import replace

from ..core.markers import REFERENCE_PREFIX, short_hash, with_escape, without_escapes
from ..core.transcript import Block, BlockPlace, JsonPath, Message
from ..core.values import BlockKind, Text, compact
from ..tokens.counting import Counter
from ..toolcalls.outcomes import Endings
from ..toolcalls.tools import arguments_of, list_in, string_values, with_values
from .decode import WRITTEN_TIMES, decode, texts_of
from .lines import Lines, Shape, above, describe_numbering, describe_place
from .matching import ITSELF, EqualRun, Hashed, Index, Reader, Repeated, disjoint
from .pieces import Category, Finders, Piece, find_pieces
from .references import ABOVE, SHORTEST, Address, Addresses, Reference, TextPlace, field_of, list_of, parse_reference

MIN_SAVING: Final = 12
"""Tokens that a reference has to save. With less, short references split runs that older texts could use. On real
transcripts 10 to 12 saves most (benchmarks/prelude.py), and fewer references are easier to read.
"""
_NEAR: Final = 3
"""Counting further than this is hard for a reader, so each further step has to save one more token."""
_LONG: Final = 2_000
"""Characters of a run whose words are counted first; mostly that is enough."""


class NumberedTexts(Protocol):
    """Texts that runs refer to by number."""

    def lines_of(self, number: int) -> Lines: ...

    def shape_of(self, number: int) -> Shape: ...


class WrittenText:
    """A text while references are inserted. `gone` marks replaced lines, `fixed` lines that must stay.

    `text` is the result, once anything was taken.
    """

    def __init__(
        self, lines: Lines, sizes: Sequence[int], count: Counter, sources: NumberedTexts, head: int = 0, tail: int = 0
    ):
        self.lines, self._sizes, self._sources = lines, sizes, sources
        length = len(lines.lines)
        self.gone, self.fixed = bytearray(length), bytearray(length)
        self._count = count.anew
        self._taken: dict[int, tuple[EqualRun, Reference]] = {}
        mark(self.fixed, 0, min(head, length))
        mark(self.fixed, max(0, length - tail), length)
        self.text = ""

    @property
    def is_changed(self) -> bool:
        return bool(self._taken)

    @property
    def named(self) -> Iterator[EqualRun]:
        """Runs in other texts that references name."""
        return (run for run, _ in self._taken.values() if run.source != ITSELF)

    def take(self, runs: Iterable[EqualRun], address_of: Callable[[int], Address]) -> list[EqualRun]:
        """Replace worthwhile runs, longest first, and return them."""
        taken: list[EqualRun] = []
        for run in disjoint(runs, self._sizes, self.fixed, SHORTEST):
            if run.source == ITSELF and 1 in self.gone[run.start : run.start + run.size]:
                continue
            reference = self._reference(run, address_of)
            if reference is None:
                continue
            self._taken[run.at] = (run, reference)
            mark(self.fixed, run.at, run.at + run.size)
            mark(self.gone, run.at, run.at + run.size)
            if run.source == ITSELF:
                mark(self.fixed, run.start, run.start + run.size)
            taken.append(run)
        if taken:
            self._write()
        return [run for run in taken if run.at in self._taken]

    def _reference(self, run: EqualRun, address_of: Callable[[int], Address]) -> Reference | None:
        """Build the reference for a run. None if it cannot be worded or saves too little."""
        text = self.lines.text(run.at, run.size)
        if run.source == ITSELF:
            reference = Reference(above(run.start, run.size), ABOVE, short_hash(text))
        else:
            where = describe_place(self._sources.shape_of(run.source), run.start, run.size)
            if where is None:
                return None
            reference = Reference(where, address_of(run.source), short_hash(text))
        return reference if self._is_worth_it(text, reference) else None

    def _is_worth_it(self, text: str, reference: Reference) -> bool:
        written, least = str(reference), MIN_SAVING + max(0, reference.address.ordinal - _NEAR)
        # A word has at least one token and a token at least one byte, so most long runs need no counting.
        words = len(text[:_LONG].split())
        if words >= len(written.encode("utf-8", "surrogatepass")) + least:
            return True
        tokens = self._count(written) + least
        return words >= tokens or self._count(text) >= tokens

    def _write(self) -> None:
        """Write the text, adding the numbering where no neighbouring line tells it. A run that then saves too little
        stays.
        """
        lines = self.lines.lines
        written: list[str] = []
        position = 0
        for at, (run, reference) in sorted(self._taken.items()):
            written += lines[position:at]
            position = at + run.size
            text = self.lines.text(at, run.size)
            numbering: str | None = ""
            if run.source != ITSELF:
                before = written[-1] if written else ""
                after = lines[position] if position < len(lines) else ""
                source = self._sources.lines_of(run.source)
                numbering = describe_numbering(text, source, run.start, run.size, before, after)
            if numbering:
                reference = replace(reference, numbering=numbering)
            if numbering is None or (numbering and not self._is_worth_it(text, reference)):
                written += lines[at:position]
                del self._taken[at]
                mark(self.gone, at, position, 0)
            else:
                written.append(str(reference))
        self.text = "\n".join([*written, *lines[position:]])


def mark(marks: bytearray, start: int, end: int, value: int = 1) -> None:
    marks[start:end] = bytes((value,)) * (end - start)


_ROUNDS: Final = 12
"""Maximum rounds: an escape or a dropped reference may change whether other lines count."""


def with_blocks(messages: Sequence[Message], blocks: Mapping[BlockPlace, Block]) -> list[Message]:
    """Replace some blocks in messages."""
    changed = list(messages)
    numbers: dict[int, list[int]] = {}
    for position, number in blocks:
        numbers.setdefault(position, []).append(number)
    for position, inner in numbers.items():
        new = list(messages[position].blocks)
        for number in inner:
            new[number] = blocks[position, number]
        changed[position] = replace(messages[position], blocks=tuple(new))
    return changed


def verified(
    messages: Sequence[Message], blocks: dict[BlockPlace, Block], meant: Mapping[BlockPlace, Text], reader: Reader
) -> dict[BlockPlace, Block]:
    """Return the blocks that decode to their original, and blocks of the messages that need escapes.

    Text that imitates references can spoil some blocks. `meant` maps blocks to their intended text if it is not that of
    the messages.
    """
    escaped: dict[BlockPlace, Block] = {}
    for _ in range(_ROUNDS):
        written = with_blocks(messages, escaped | blocks)
        expected = {place: messages[place[0]].blocks[place[1]].content for place in blocks} | dict(meant)
        decoded = decode(written, reader, expected, WRITTEN_TIMES)

        def is_wrong(place: BlockPlace) -> bool:
            said = decoded.messages[place[0]].blocks[place[1]]  # noqa: B023 - asked in this round only
            return not _is_same(said, messages[place[0]].blocks[place[1]], meant.get(place))

        wrong = [place for place in blocks if is_wrong(place)]
        if wrong:
            blocks = {place: block for place, block in blocks.items() if place not in wrong}
            continue
        others = [place for place in {*escaped, *decoded.counted} if place not in blocks and is_wrong(place)]
        if not others:
            break
        for place in others:
            lines = decoded.counted.get(place)
            block = written[place[0]].blocks[place[1]]
            if lines:
                escaped[place] = _with_escapes(block, lines)
            else:  # Its escapes have no effect any more, since others went.
                escaped.pop(place, None)
    return escaped | blocks


def has_imitations(messages: Iterable[Message], reader: Reader) -> bool:
    """Return whether messages without references hold a line in the form of one, escaped or not."""
    blocks = (block for message in messages for block in message.blocks if reader.may_refer(block.content))
    lines = (line for block in blocks for text in texts_of(block) for line in text.split("\n"))
    return any(line.startswith(REFERENCE_PREFIX) and parse_reference(without_escapes(line)) for line in lines)


def with_escapes(messages: Sequence[Message], before: Sequence[Message]) -> tuple[Message, ...]:
    """Add escapes to messages without references. Blocks that read as `before` are reused."""
    reader = Reader()
    if not has_imitations(messages, reader):
        return tuple(messages)
    escaped = verified(messages, {}, {}, reader)
    same = {
        (position, number): before[position].blocks[number]
        for (position, number), block in escaped.items()
        if block.reads_as(before[position].blocks[number])
    }
    return tuple(with_blocks(messages, escaped | same))


def _with_escapes(block: Block, lines: Iterable[tuple[str, int]]) -> Block:
    """Add an escape to some lines, given by a call's field and the line number."""
    numbers: dict[str, set[int]] = {}
    for field, number in lines:
        numbers.setdefault(field, set()).add(number)
    if block.kind is not BlockKind.TOOL_CALL:
        return block.with_text(_escaped(block.text, numbers.get("", set())))
    values = [(path, value) for path, value in string_values(arguments_of(block)) if field_of(path) in numbers]
    return with_values(block, {path: _escaped(value, numbers[field_of(path)]) for path, value in values})


def _escaped(text: str, numbers: set[int]) -> str:
    lines = text.split("\n")
    return "\n".join(with_escape(line) if number in numbers else line for number, line in enumerate(lines))


def _is_same(decoded: Block, original: Block, meant: Text | None) -> bool:
    """Return whether a block says the same as before.

    JSON spelling matters only for arguments that are JSON in a string, since it is part of that string.
    """
    expected = original.content if meant is None else meant
    if decoded.content is expected or decoded.text == str(expected):
        return True
    return original.is_object and arguments_of(decoded) == arguments_of(original)


Keep = Literal["latest", "earliest"]

_HEAD_OF_ERROR: Final = 5
_TAIL_OF_ERROR: Final = 1
"""Lines of a failed call's result that stay: the client's failure message, and a program's final summary."""


class Encoded(Struct, frozen=True):
    """Written blocks; those in `restored` hold the whole of a text that a pass had cut."""

    blocks: dict[BlockPlace, Block]
    restored: frozenset[BlockPlace] = frozenset()


def encode(
    messages: Sequence[Message],
    finders: Finders,
    count: Counter,
    may_change: Callable[[Message, Block], bool],
    *,
    keep: Keep = "latest",
    originals: Mapping[BlockPlace, Text] | None = None,
    reader: Reader | None = None,
    proves: bool = True,
    takes_part: Callable[[Block], bool] = lambda _: True,
    endings: Endings | None = None,
) -> Encoded:
    """Return the blocks that references make smaller, as written.

    `messages` hold no references. `originals` are texts of results that were cut; if references express one in fewer
    tokens than the cut version, they do. Every block is decoded and compared unless `proves` is false (for counting
    only). A block that does not take part neither refers nor is referred to. `endings` tell how calls ended before
    cuts. They apply to `originals` alone: a later run only has the rest.
    """
    reader = reader or Reader()
    encoder = _Encoder(messages, finders, count, may_change, keep, originals or {}, reader, takes_part, endings)
    blocks = encoder.blocks()
    meant = {place: encoder.originals[place] for place in encoder.restored}
    del encoder  # Its index takes as much memory as the following check.
    encoded = Encoded(blocks, frozenset(meant.keys() & blocks.keys()))
    return proven(encoded, messages, meant, reader) if proves else encoded


def most_saved(texts: Sequence[Text], count: Counter, reader: Reader) -> int:
    """Return the tokens that references save at most in some texts: those of lines that come again in any.

    Two more for each line: where texts meet, other tokens may spell them. It takes a fraction of `encode`.
    """
    hashed = [reader.hashed(text) for text in texts]
    repeated = Repeated(hashed)
    tokens: dict[int, int] = {}
    most = 0
    for text, found in zip(texts, hashed, strict=True):
        again = repeated.lines(found)
        lines = reader.lines(text).keys if again else []
        for line in again:
            if found.keys[line] not in tokens:
                tokens[found.keys[line]] = count.anew(f"{lines[line]}\n") + 2
        if again:
            most += min(count(text), found.short + sum(tokens[found.keys[line]] for line in again))
    return most


def proven(
    encoded: Encoded, messages: Sequence[Message], originals: Mapping[BlockPlace, Text], reader: Reader
) -> Encoded:
    """Return what is left of what was encoded once every block is decoded and compared."""
    meant = {place: originals[place] for place in encoded.restored}
    blocks = verified(messages, encoded.blocks, meant, reader)
    return Encoded(blocks, frozenset(meant.keys() & blocks.keys()))


class _Encoder:
    def __init__(
        self,
        messages: Sequence[Message],
        finders: Finders,
        count: Counter,
        may_change: Callable[[Message, Block], bool],
        keep: Keep,
        originals: Mapping[BlockPlace, Text],
        reader: Reader,
        takes_part: Callable[[Block], bool],
        endings: Endings | None,
    ) -> None:
        self.messages, self.finders, self.count = messages, finders, count
        self.may_change, self.originals = may_change, originals
        self.left = Endings(messages)
        self.endings = endings or self.left
        self.reader, self.read = reader, reader.lines
        self.sources = {category: finders.sources(category) for category in Category}
        """Categories that each category may refer to."""
        self.named = frozenset[Category]().union(*self.sources.values())
        """Categories that any category may refer to."""
        self.addresses = Addresses(messages, reader.names)
        pieces = find_pieces(messages, finders)
        self.pieces = [each for each in pieces if takes_part(messages[each.place.message].blocks[each.place.block])]
        """Pieces in writing order; everything else identifies a piece by its index here."""
        match keep:
            case "latest":
                self.pieces.reverse()
            case "earliest":
                pass
            case other:
                assert_never(other)
        numbers: dict[tuple[Category, str | None], int] = {}
        self.kinds = [numbers.setdefault((piece.category, piece.tag), len(numbers)) for piece in self.pieces]
        """A number for each piece by its category and tag, which is compared in no time."""
        self.allowed = [
            frozenset(
                other for (named, also), other in numbers.items() if named in self.sources[category] and also == tag
            )
            for category, tag in numbers
        ]
        """The kinds that pieces of each kind may refer to."""
        self.hashed = [reader.hashed(piece.content) for piece in self.pieces]
        """Each piece, hashed."""
        self.cut = {place: reader.hashed(text) for place, text in originals.items()}
        """The originals, hashed."""
        self.repeated = Repeated([*self.hashed, *self.cut.values()])
        self.index = Index(self.repeated)
        self.texts: dict[int, Text] = {}
        """Pieces with references, as written."""
        self.whole: dict[int, Text] = {}
        """Text of pieces where it is no longer the original one."""
        self.restored: set[BlockPlace] = set()
        """Results that hold the whole of a cut text."""
        self.used: dict[int, bytearray] = {}
        """Marks for lines of pieces that are referred to and must stay."""
        self.values: dict[BlockPlace, list[int]] = {}
        """Pieces that are values in a call's arguments, by the call's block."""
        self.unfinished: dict[int, WrittenText] = {}
        """Results with references that may get more, to their own call."""
        self.call_values: dict[int, Hashed] = {}
        """Values of the call that a result is being compared with, as written, by temporary numbers."""

    def blocks(self) -> dict[BlockPlace, Block]:
        """Return every block that has references, as written."""
        waiting: list[int] = []
        allowed: dict[BlockPlace, bool] = {}
        for number, piece in enumerate(self.pieces):
            # Results refer to their calls after those are written and before older texts are compared with either.
            while waiting and piece.place.message < self._call_of(waiting[0]).message:
                self._refer_to_call(waiting.pop(0))
            if piece.path and piece.category is not Category.TODOS:
                self.values.setdefault(piece.place[:2], []).append(number)
            place, written = piece.place[:2], None
            if place not in allowed:  # Once per block: a text may have thousands of pieces.
                message = self.messages[place[0]]
                allowed[place] = self.may_change(message, message.blocks[place[1]])
            if self.sources[piece.category] and allowed[place]:
                written = self._encode(number, piece)
                if not piece.path and self.finders.file_reads and self.addresses.call_of(piece.place):
                    waiting.append(number)
                    if written:
                        self.unfinished[number] = written
            # Nothing refers to text that a failed call was to write, because it is not in any file.
            if not (piece.path and piece.category in self.named and self._ending(piece, self.left)):
                self.index.add(number, self.hashed[number], written.gone if written else None)
        for number in waiting:
            self._refer_to_call(number)
        parts: dict[BlockPlace, list[tuple[Piece, Text]]] = {}
        for number, text in self.texts.items():
            if text != self.pieces[number].content:
                parts.setdefault(self.pieces[number].place[:2], []).append((self.pieces[number], text))
        blocks = {place: self._block(place, texts) for place, texts in parts.items()}
        return {place: block for place, block in blocks.items() if block is not None}

    def lines_of(self, number: int) -> Lines:
        """Return a piece's lines, by its number."""
        return self.read(self.whole.get(number) or self.pieces[number].content)

    def shape_of(self, number: int) -> Shape:
        """Return a piece's shape, by its number."""
        return (self.call_values.get(number) or self.hashed[number]).shape

    def _call_of(self, number: int) -> TextPlace:
        place = self.pieces[number].place
        return self.addresses.call_of(place) or place

    def _encode(self, number: int, piece: Piece) -> WrittenText | None:
        """Return the text with references, or None."""
        place = piece.place[:2]
        written = self._take(number, self.hashed[number], lambda: self.lines_of(number), self.left)
        if place in self.cut and not piece.path and self._may_be_shorter(place, piece):
            original = self.originals[place]
            whole = self._take(number, self.cut[place], lambda: self.read(original), self.endings)
            if whole and self.count.anew(whole.text) < self.count.anew(written.text if written else piece.text):
                written = whole
                self.restored.add(place)
                self.whole[number] = original
                self.hashed[number] = self.cut[place]
        if written:
            self._use(written.named)
            self.texts[number] = compact(written.text)
        return written

    def _may_be_shorter(self, place: BlockPlace, piece: Piece) -> bool:
        """Return whether references might express a cut text in fewer tokens than the cut version has.

        A token has at least one byte, so lines found nowhere cost at least what the text without all others costs.
        """
        free = self.count(self.originals[place]) - self.count(piece.content)
        return free < 0 or self.index.most_bytes(self.cut[place], free) > free

    def _take(self, number: int, text: Hashed, lines: Callable[[], Lines], endings: Endings) -> WrittenText | None:
        """Insert references to newer texts, then to the text's own lines. None if there are none."""
        piece, allowed, kinds = self.pieces[number], self.allowed[self.kinds[number]], self.kinds
        runs = list(self.index.runs(text, lambda source: kinds[source] in allowed and self._allows(piece, source)))
        own = list(self.index.own_runs(text))
        if piece.category is Category.TODOS:  # A reference is as long as the todo that it becomes.
            runs, own = ([run for run in found if run.size > 1] for found in (runs, own))
        if not (runs or own):
            return None
        written = self._prepare(piece, text, lines, endings)
        written.take(runs, lambda source: self._address(piece, source))
        written.take(own, lambda source: self._address(piece, source))
        return written if written.is_changed else None

    def _prepare(self, piece: Piece, text: Hashed, lines: Callable[[], Lines], endings: Endings) -> WrittenText:
        """Prepare a text without references. A refusal gets none; an error keeps the lines that explain it."""
        head, tail = piece.head, piece.tail
        if piece.category in (Category.FILE, Category.RESULT):
            match self._ending(piece, endings):
                case "denied":
                    head = text.shape.length
                case "failed":
                    head, tail = _HEAD_OF_ERROR, _TAIL_OF_ERROR
        return WrittenText(lines(), text.sizes, self.count, self, head, tail)

    def _ending(self, piece: Piece, endings: Endings) -> str:
        return endings(self.messages[piece.place.message].blocks[piece.place.block])

    def _allows(self, piece: Piece, source: int) -> bool:
        """Return whether a piece may refer to one of a kind that it may refer to."""
        other = self.pieces[source]
        if piece.category is Category.STATE:
            # While a text is decoded, its elements cannot be told apart.
            return other.place[:2] != piece.place[:2]
        # Of a call and its own listing, the listing refers, which also saves its line numbers.
        is_own = bool(piece.path) and self.addresses.call_of(other.place) == piece.place
        return not (is_own and self.hashed[source].shape.numbered)

    def _address(self, piece: Piece, source: int) -> Address:
        other = self.pieces[source]
        return self.addresses.address(piece.place, other.place, field=other.field, tag=other.tag)

    def _use(self, runs: Iterable[EqualRun]) -> None:
        """Mark lines that are referred to, because they must stay."""
        for run in runs:
            used = self.used.get(run.source)
            if used is None:
                used = self.used[run.source] = bytearray(len(self.hashed[run.source].keys))
            mark(used, run.start, run.start + run.size)

    def _refer_to_call(self, number: int) -> None:
        """Let the rest of a result refer to the arguments of its own call, as written."""
        piece, written = self.pieces[number], self.unfinished.pop(number, None)
        values = self.values.get(self._call_of(number)[:2])
        if not values:
            return
        index = Index(self.repeated)
        first = len(self.pieces)
        for value in values:
            if value in self.texts:
                self.whole[first + value] = self.texts[value]
                self.call_values[first + value] = self.reader.hashed(self.texts[value])
            else:
                self.whole[first + value] = self.whole.get(value) or self.pieces[value].content
                self.call_values[first + value] = self.hashed[value]
            index.add(first + value, self.call_values[first + value])
        text = self.hashed[number]
        runs = list(index.runs(text, lambda _: True))
        if runs:
            endings = self.endings if piece.place[:2] in self.restored else self.left
            written = written or self._prepare(piece, text, lambda: self.lines_of(number), endings)
            for line, is_used in enumerate(self.used.get(number, b"")):
                written.fixed[line] |= is_used
            if written.take(runs, lambda source: self._address(piece, source - first)):
                self.texts[number] = compact(written.text)
                self.index.remove(number, written.gone)
        for value in values:
            del self.whole[first + value], self.call_values[first + value]

    def _block(self, place: BlockPlace, parts: list[tuple[Piece, Text]]) -> Block | None:
        """Replace a block's pieces. None if that does not make it smaller."""
        block = self.messages[place[0]].blocks[place[1]]
        if block.kind is BlockKind.TOOL_CALL:
            listed = list_in(block)
            edits: dict[JsonPath, Any] = {piece.path: str(text) for piece, text in parts}
            if listed and listed[0] in edits:
                edits[listed[0]] = list_of(edits[listed[0]], listed[1])
            new = with_values(block, edits)
        elif parts[0][0].span is None:
            new = block.with_text(parts[0][1])
        else:
            text, behind = block.text, 0
            said: list[str] = []  # Joined once: a text may have thousands of states.
            for piece, written in sorted(parts, key=lambda part: part[0].span or (0, 0)):
                start, end = piece.span or (0, 0)
                said += text[behind:start], str(written)
                behind = end
            new = block.with_text("".join([*said, text[behind:]]))
        return new if self.count.block(new) < self.count.block(block) else None
