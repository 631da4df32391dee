"""The lossless prelude as a step of a run: what is written for the messages that the passes see.

Passes see texts without references. References are written last and, to count, after every pass: to what
survived. References that the input holds already are read at the start and written again at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Final

from ..config.models import Configuration
from ..core.transcript import Block, BlockKey, BlockPlace, Message, Transcript
from ..core.values import BlockKind, Text
from ..formats import format_named
from ..formats.engine.base import Habit
from ..formats.engine.rereading import ComingBack
from ..lossless.decode import decode
from ..lossless.encode import Encoded, encode, has_imitations, most_saved, proven, verified, with_blocks
from ..lossless.matching import Hashes, Reader
from ..lossless.pieces import Finders, find_pieces
from ..lossless.references import TAGS
from ..tokens.counting import Counter
from ..tokens.models import binds_thinking
from ..toolcalls.outcomes import Endings
from .receipts import Kept
from .selection import Protection

NEWEST: Final = 6
"""So many turns at the end get no references: they are at work, and nobody counts from them to the 6th next edit."""


class ReferenceWriter:
    """Writes references for one run. `messages` are those of the input without its references."""

    def __init__(self, transcript: Transcript, configuration: Configuration, count: Counter) -> None:
        self._reader = Reader(count.shared(Hashes))
        decoded = decode(transcript.messages, self._reader)
        self.messages = decoded.messages
        self._endings = Endings(self.messages)
        self.count = count
        self._prelude = configuration.lossless_prelude
        self.is_enabled = self._prelude.enabled
        self._finders = finders_of(configuration)
        self._comes_back = ComingBack(
            transcript.source, only_even=Habit.REPEATS_RESULTS in format_named(transcript.format).habits
        )
        self._first_free = _first_free(transcript, configuration)
        self._as_read: dict[BlockKey, Block] = {}
        self._texts: dict[BlockKey, Text] = {}
        self._last: tuple[Sequence[Message], Mapping[BlockPlace, Text], Encoded] | None = None
        self._imitates = has_imitations(self.messages, self._reader)
        if decoded.counted:
            for raw, message in zip(transcript.messages, decoded.messages, strict=True):
                for old, new in zip(raw.blocks, message.blocks, strict=True):
                    if old is not new:
                        self._as_read[old.key] = old
                        self._texts[old.key] = new.content

    @property
    def is_active(self) -> bool:
        """Whether there may be anything to write: new references, those of the input, or escapes."""
        return self.is_enabled or self.has_read_references or self._imitates

    @property
    def has_read_references(self) -> bool:
        return bool(self._as_read)

    @property
    def read_with_references(self) -> Iterable[tuple[BlockKey, Block]]:
        """Blocks of the input in which references resolved, as the file has them."""
        return self._as_read.items()

    @property
    def warnings(self) -> list[str]:
        """Return what keeps the prelude from working, if anything does."""
        if not self._first_free or not self.is_enabled:
            return []
        return [
            "Nothing before the last thinking was changed, because the model refuses thinking when anything before it "
            "has changed (--drop-thinking removes it)."
        ]

    def switch_off(self) -> None:
        """Write no new references."""
        self.is_enabled = False

    def forget(self, but: Iterable[Text]) -> None:
        """Forget what was read, but for some texts."""
        self._reader.forget(but)

    def recent(self, messages: Sequence[Message]) -> frozenset[int]:
        """Indices of the newest turns, which the prelude leaves alone. Thinking that may go alone is none."""
        turns = [message.index for message in messages if not message.is_only_thinking]
        return frozenset(turns[max(0, len(turns) - max(NEWEST, self._prelude.keep_recent)) :])

    @property
    def why_recent(self) -> Kept:
        """Why the prelude leaves those alone: fewer of them can be preserved only where somebody asked for more."""
        return Kept.RECENT if self._prelude.keep_recent > NEWEST else Kept.NEWEST

    def as_read(self, block: Block) -> Block:
        """The block as the file has it, where it says the same with references; the block itself otherwise."""
        read = self._as_read.get(block.key)
        return read if read is not None and read.reads_as(block) else block

    def write(
        self, messages: Sequence[Message], protection: Protection, originals: Mapping[BlockKey, Text], *, proves: bool
    ) -> Encoded:
        """The blocks that are written with references, by their positions in `messages`.

        `originals` are the texts of results that passes cut. What is written only to be counted is not proven, but
        where some text might spoil it.
        """
        encoded = Encoded({})
        recent = self.recent(messages)

        def may_change(message: Message, block: Block) -> bool:
            is_free = protection.of(message, block) in (None, Kept.BEFORE_REQUEST)
            return is_free and message.index >= self._first_free and message.index not in recent

        if self.is_enabled:
            cut = {
                (position, number): originals[block.key]
                for position, message in enumerate(messages)
                for number, block in enumerate(message.blocks)
                if originals and block.kind is BlockKind.TOOL_RESULT and block.key in originals
            }
            encoded = self._encoded(messages, cut, may_change)
            if proves or self.has_read_references or self._has_imitations(messages, cut.values()):
                encoded = proven(encoded, messages, cut, self._reader)
        elif self._imitates:
            encoded = Encoded(verified(messages, {}, {}, self._reader))
        meant = {place: originals[encoded.blocks[place].key] for place in encoded.restored}
        blocks = self._still_spelled(messages, encoded.blocks, meant)
        restored = encoded.restored & blocks.keys()
        if self._as_read:
            meant = {place: text for place, text in meant.items() if place in restored}
            read = self._read(messages)
            beside = verified(messages, self._beside_read(messages, blocks, read), meant, self._reader)
            may_go = all(may_change(messages[place[0]], block) for place, block in read.items() if place not in blocks)
            if not (self.is_enabled and may_go and self._saved(messages, blocks) > self._saved(messages, beside)):
                blocks = beside
            restored &= blocks.keys()
        return Encoded({place: self.as_read(block) for place, block in blocks.items()}, restored)

    def most_saved(self, messages: Sequence[Message]) -> int | None:
        """Return the tokens that references save at most in messages of which nothing was cut; None if unknown."""
        if self.has_read_references or self._imitates or not self.is_enabled:
            return None
        texts = [piece.content for piece in find_pieces(messages, self._finders)]
        return most_saved(texts, self.count, self._reader)

    def _encoded(
        self, messages: Sequence[Message], cut: Mapping[BlockPlace, Text], may_change: Callable[[Message, Block], bool]
    ) -> Encoded:
        """Write references, unproven. What was only counted before is not worked out again."""
        known = self._last
        if known is not None and known[0] == messages and known[1] == cut:
            return known[2]
        self._last = None  # It takes memory that the next may need.
        encoded = encode(
            messages,
            self._finders,
            self.count,
            may_change,
            keep=self._prelude.keep,
            originals=cut,
            reader=self._reader,
            takes_part=self._comes_back,
            endings=self._endings,
            proves=False,
        )
        self._last = messages, cut, encoded
        return encoded

    def _still_spelled(
        self, messages: Sequence[Message], blocks: dict[BlockPlace, Block], meant: Mapping[BlockPlace, Text]
    ) -> dict[BlockPlace, Block]:
        """The blocks but for one, where none would be left that shows how the file spells what is not ASCII.

        What it refers to does not do for that: a listing's arrows need not be in it.
        """
        showing = (
            (position, number)
            for position in reversed(range(len(messages) if blocks else 0))
            for number, block in enumerate(messages[position].blocks)
            if self._comes_back.shows_spelling(block)
        )
        newest = next(showing, None)
        if newest is None or newest not in blocks or any(place not in blocks for place in showing):
            return blocks
        left = {place: block for place, block in blocks.items() if place != newest}
        return verified(messages, left, meant, self._reader)

    def _has_imitations(self, messages: Sequence[Message], cut: Iterable[Text]) -> bool:
        """Whether any text may look like a reference without being one, which nothing but a proof tells."""
        texts = (block.content for message in messages for block in message.blocks)
        return any(map(self._reader.may_refer, chain(texts, cut)))

    def _saved(self, messages: Sequence[Message], blocks: Mapping[BlockPlace, Block]) -> int:
        return sum(
            self.count.block(messages[position].blocks[number]) - self.count.block(block)
            for (position, number), block in blocks.items()
        )

    def _read(self, messages: Sequence[Message]) -> dict[BlockPlace, Block]:
        """Blocks as the input has them, with references that still say what is meant."""
        read = {
            (position, number): self._as_read[block.key]
            for position, message in enumerate(messages)
            for number, block in enumerate(message.blocks)
            if block.key in self._texts and str(self._texts[block.key]) == block.text
        }
        # What they name may have been cut since; nothing gives way to those.
        stay = verified(messages, read, {}, self._reader)
        return {place: block for place, block in stay.items() if place in read}

    def _beside_read(
        self, messages: Sequence[Message], blocks: Mapping[BlockPlace, Block], read: Mapping[BlockPlace, Block]
    ) -> dict[BlockPlace, Block]:
        """The blocks, and those of the input with references that no finder wrote again: while they resolve, they stay.

        Where one of these and a new one lead to each other, the input's references stay and the new ones go: another
        configuration (the other direction, fewer finders) may have written them. Where writing all anew saves more,
        that is done instead.
        """
        new = {place: block for place, block in blocks.items() if self.as_read(block) is block}
        while True:
            kept = {place: block for place, block in read.items() if place not in new}
            named = decode(with_blocks(messages, kept | new), self._reader).named
            by_kept = {other for place in kept for other in named.get(place, ())}
            stay = {
                place: block
                for place, block in new.items()
                if place not in by_kept and not named.get(place, frozenset()) & kept.keys()
            }
            if len(stay) == len(new):
                return kept | new
            new = stay


def finders_of(configuration: Configuration) -> Finders:
    """The finders as the configuration wants them."""
    prelude = configuration.lossless_prelude
    operations = prelude.operations
    return Finders(
        file_reads=operations.deduplicate_file_reads,
        tool_results=operations.consolidate_tool_results,
        state_tags=(*TAGS, *prelude.state_tags) if operations.remove_obsolete_state else (),
        tool_parameters=prelude.tool_parameters,
        file_tools=prelude.file_tools,
    )


def _first_free(transcript: Transcript, configuration: Configuration) -> int:
    """The first message that may change where nothing may change in front of bound thinking; 0 for all.

    With passes, thinking that an edit makes invalid goes anyway; a run that is only lossless loses none.
    """
    if configuration.passes or configuration.thinking != "auto" or not binds_thinking(transcript.model):
        return 0
    thinking = [
        message.index
        for message in transcript.messages
        if any(block.kind is BlockKind.THINKING for block in message.blocks)
    ]
    return thinking[-1] + 1 if thinking else 0
