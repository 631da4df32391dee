"""Writing references: lines of a text that stand again in a newer one (or an older one) give way to a reference.

Texts are taken from the newest to the oldest. What stays of each is what older ones may refer to, so no
reference leads to another one, and a text that is referred to always stands as it is.

Two more places may be referred to, because they stand beside the text and cost few words: for a result the
arguments of its own call (a client shows what an edit changed), and lines further up in the very text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, assert_never

from msgspec import Struct

from ..core.tokens import Counter
from ..core.transcript import Block, JsonPath, Message
from ..core.values import BlockKind, Text, compact
from ..toolcalls.outcomes import Endings
from ..toolcalls.tools import list_in, with_values
from .addresses import Addresses, TextPlace
from .finders import Category, Finders
from .lines import Lines, Shape
from .listed import list_of
from .matching import EqualRun, Hashed, Index, Repeated
from .pieces import Piece, find_pieces
from .proof import Positions, verified
from .reader import Reader
from .references import Address
from .written import WrittenText, mark

Keep = Literal["latest", "earliest"]

_HEAD_OF_ERROR: Final = 5
_TAIL_OF_ERROR: Final = 1
"""Lines of a failed call's result that stay: how clients say that it failed, and how programs sum up their output."""


class Encoded(Struct, frozen=True):
    """Blocks as they are written; those in `restored` say the whole of what a pass had cut."""

    blocks: dict[Positions, Block]
    restored: frozenset[Positions] = frozenset()


def encode(
    messages: Sequence[Message],
    finders: Finders,
    count: Counter,
    may_change: Callable[[Message, Block], bool],
    *,
    keep: Keep = "latest",
    originals: Mapping[Positions, Text] | None = None,
    reader: Reader | None = None,
    proves: bool = True,
    takes_part: Callable[[Block], bool] = lambda _: True,
    endings: Endings | None = None,
) -> Encoded:
    """The blocks that become smaller by references, as they are then written.

    `messages` hold no references. `originals` are texts of results that were cut: where references can
    express one for fewer tokens than what is left of it, they do. Every block is decoded and compared
    before it is given back, unless it is only counted (`proves` is false). A block that does not
    take part neither refers to others nor do they refer to it. `endings` tell how calls ended before anything was
    cut, which counts for `originals` alone: in a later run only what is left can tell.
    """
    reader = reader or Reader()
    encoder = _Encoder(messages, finders, count, may_change, keep, originals or {}, reader, takes_part, endings)
    blocks = encoder.blocks()
    meant = {place: encoder.originals[place] for place in encoder.restored}
    del encoder  # Its index takes as much memory as the check that follows.
    if proves:
        blocks = verified(messages, blocks, meant, reader)
    return Encoded(blocks, frozenset(meant.keys() & blocks.keys()))


class _Encoder:
    def __init__(
        self,
        messages: Sequence[Message],
        finders: Finders,
        count: Counter,
        may_change: Callable[[Message, Block], bool],
        keep: Keep,
        originals: Mapping[Positions, Text],
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
        """Categories that those of each category may refer to."""
        self.named = frozenset[Category]().union(*self.sources.values())
        """Categories that any may refer to."""
        self.addresses = Addresses(messages, reader.names)
        pieces = find_pieces(messages, finders)
        self.pieces = [each for each in pieces if takes_part(messages[each.place.message].blocks[each.place.block])]
        """In the order in which they are written. A piece is called by its number here."""
        match keep:
            case "latest":
                self.pieces.reverse()
            case "earliest":
                pass
            case other:
                assert_never(other)
        self.hashed = [reader.hashed(piece.content) for piece in self.pieces]
        """Each piece as it is looked for."""
        self.cut = {place: reader.hashed(text) for place, text in originals.items()}
        """The originals as they are looked for."""
        self.repeated = Repeated([*self.hashed, *self.cut.values()])
        self.index = Index(self.repeated)
        self.texts: dict[int, Text] = {}
        """Pieces that have references, as they are written."""
        self.whole: dict[int, Text] = {}
        """What pieces say in the end, where that is not what they said at first."""
        self.restored: set[Positions] = set()
        """Results that say the whole of what was cut."""
        self.used: dict[int, bytearray] = {}
        """Lines of pieces that are referred to, marked; they have to stay."""
        self.values: dict[Positions, list[int]] = {}
        """Pieces that are values in the arguments of a call, by the call's block."""
        self.unfinished: dict[int, WrittenText] = {}
        """Results with references that may get others, to their own call."""
        self.call_values: dict[int, Hashed] = {}
        """Values of the call that a result refers to right now, as they are written, by numbers of their own."""

    def blocks(self) -> dict[Positions, Block]:
        """Every block that has references, as it is written."""
        waiting: list[int] = []
        allowed: dict[Positions, bool] = {}
        for number, piece in enumerate(self.pieces):
            # Results refer to their calls once those are written, and before anything older looks at either.
            while waiting and piece.place.message < self._call_of(waiting[0]).message:
                self._refer_to_call(waiting.pop(0))
            if piece.path and piece.category is not Category.TODOS:
                self.values.setdefault(piece.place[:2], []).append(number)
            place, written = piece.place[:2], None
            if place not in allowed:  # Asked once for each block, as a text may have thousands of pieces.
                message = self.messages[place[0]]
                allowed[place] = self.may_change(message, message.blocks[place[1]])
            if self.sources[piece.category] and allowed[place]:
                written = self._encode(number, piece)
                if not piece.path and self.finders.file_reads and self.addresses.call_of(piece.place):
                    waiting.append(number)
                    if written:
                        self.unfinished[number] = written
            # What a call that failed was to write is nowhere: no text is to be looked up there.
            if not (piece.path and piece.category in self.named and self._ending(piece, self.left)):
                self.index.add(number, self.hashed[number], written.gone if written else None)
        for number in waiting:
            self._refer_to_call(number)
        parts: dict[Positions, list[tuple[Piece, Text]]] = {}
        for number, text in self.texts.items():
            if text != self.pieces[number].content:
                parts.setdefault(self.pieces[number].place[:2], []).append((self.pieces[number], text))
        blocks = {place: self._block(place, texts) for place, texts in parts.items()}
        return {place: block for place, block in blocks.items() if block is not None}

    def lines_of(self, number: int) -> Lines:
        """The lines of a piece, by its number."""
        return self.read(self.whole.get(number) or self.pieces[number].content)

    def shape_of(self, number: int) -> Shape:
        """The shape of a piece, by its number."""
        return (self.call_values.get(number) or self.hashed[number]).shape

    def _call_of(self, number: int) -> TextPlace:
        place = self.pieces[number].place
        return self.addresses.call_of(place) or place

    def _encode(self, number: int, piece: Piece) -> WrittenText | None:
        """The text with references, if it has any."""
        place = piece.place[:2]
        written = self._take(piece, self.hashed[number], lambda: self.lines_of(number), self.left)
        if place in self.cut and not piece.path and self._may_be_shorter(place, piece):
            original = self.originals[place]
            whole = self._take(piece, self.cut[place], lambda: self.read(original), self.endings)
            if whole and self.count.anew(whole.text) < self.count.anew(written.text if written else piece.text):
                written = whole
                self.restored.add(place)
                self.whole[number] = original
                self.hashed[number] = self.cut[place]
        if written:
            self._use(written.named)
            self.texts[number] = compact(written.text)
        return written

    def _may_be_shorter(self, place: Positions, piece: Piece) -> bool:
        """Whether references can possibly say the whole of a cut text in fewer tokens than what is left of it has.

        No token is shorter than a byte: lines that are found nowhere cost what the text costs without all others.
        """
        free = self.count(self.originals[place]) - self.count(piece.content)
        return free < 0 or self.index.most_bytes(self.cut[place], free) > free

    def _take(self, piece: Piece, text: Hashed, lines: Callable[[], Lines], endings: Endings) -> WrittenText | None:
        """The text with references to newer texts, and then, in what is left, to its own lines."""
        runs = list(self.index.runs(text, lambda source: self._allows(piece, source)))
        own = list(self.index.own_runs(text))
        if piece.category is Category.TODOS:  # A reference takes the place of a todo, and has its shape.
            runs, own = ([run for run in found if run.size > 1] for found in (runs, own))
        if not (runs or own):
            return None
        written = self._begun(piece, text, lines, endings)
        written.take(runs, lambda source: self._address(piece, source))
        written.take(own, lambda source: self._address(piece, source))
        return written if written.is_changed else None

    def _begun(self, piece: Piece, text: Hashed, lines: Callable[[], Lines], endings: Endings) -> WrittenText:
        """The text without references yet. A refusal gets none, and an error keeps the lines that say what it is."""
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
        other = self.pieces[source]
        if other.category not in self.sources[piece.category] or other.tag != piece.tag:
            return False
        if piece.category is Category.STATE:
            # Elements of one text are not told apart while that text is decoded.
            return other.place[:2] != piece.place[:2]
        # Between a call and its own listing it is the listing that refers: it saves its line numbers as well.
        is_own = bool(piece.path) and self.addresses.call_of(other.place) == piece.place
        return not (is_own and self.hashed[source].shape.numbered)

    def _address(self, piece: Piece, source: int) -> Address:
        other = self.pieces[source]
        return self.addresses.address(piece.place, other.place, field=other.field, tag=other.tag)

    def _use(self, runs: Iterable[EqualRun]) -> None:
        """Remember the lines that are referred to: they have to stay."""
        for run in runs:
            used = self.used.get(run.source)
            if used is None:
                used = self.used[run.source] = bytearray(len(self.hashed[run.source].keys))
            mark(used, run.start, run.start + run.size)

    def _refer_to_call(self, number: int) -> None:
        """Let what is left of a result refer to the arguments of its own call, as they are written."""
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
            written = written or self._begun(piece, text, lambda: self.lines_of(number), endings)
            for line in _marked(self.used.get(number)):
                written.fixed[line] = 1
            if written.take(runs, lambda source: self._address(piece, source - first)):
                self.texts[number] = compact(written.text)
                self.index.remove(number, written.gone)
        for value in values:
            del self.whole[first + value], self.call_values[first + value]

    def _block(self, place: Positions, parts: list[tuple[Piece, Text]]) -> Block | None:
        """The block with its pieces exchanged, if that makes it smaller."""
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
            said: list[str] = []  # Put together once: a text may have thousands of states.
            for piece, written in sorted(parts, key=lambda part: part[0].span or (0, 0)):
                start, end = piece.span or (0, 0)
                said += text[behind:start], str(written)
                behind = end
            new = block.with_text("".join([*said, text[behind:]]))
        return new if self.count.block(new) < self.count.block(block) else None


def _marked(marks: bytearray | None) -> Iterator[int]:
    return (line for line, marked in enumerate(marks or b"") if marked)
