"""The one mutable thing: messages on their way through the passes, with their token total kept up to date."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property
from itertools import chain
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ..formats import format_named
from ..lossless.encode import Encoded
from ..lossless.proof import Positions, with_blocks
from ..tokens import MESSAGE_TOKENS, Counter
from ..transcript import Block, Family, Message, Role, Text, Transcript
from .prelude import BlockKey, Writer, key_of
from .receipts import Receipt
from .reconcile import places
from .selection import Protection
from .state import State, States, states_of

_JOINED: Final = {
    Family.ANTHROPIC: frozenset(Role),
    Family.OPENAI_RESPONSES: frozenset({Role.ASSISTANT, Role.TOOL}),
}
"""Roles whose neighbouring messages are one turn: the API combines them, or takes a list of items without turns."""


class Saved(Struct, frozen=True):
    """A draft at one moment: its messages, what went, what they cost without references, and what they said before."""

    messages: list[Message]
    removed: list[Block]
    plain: int
    originals: dict[BlockKey, Text]


class Draft:
    """A transcript's messages, to be changed block by block. The transcript itself stays as it is.

    `messages` are what passes see, without references; `tokens` is what they cost as they are written.
    Between two calls of `write` that is an estimate: a block costs what its reference cost, or what a pass
    has made of it, whichever is less. `has_moved`: some block may have another place than in the input.
    """

    def __init__(self, transcript: Transcript, count: Counter, writer: Writer, protection: Protection) -> None:
        self.count = count
        self.messages = list(writer.messages)
        self.removed: list[Block] = []
        self.has_moved = False
        self._writer, self._protection = writer, protection
        self._before = transcript.messages
        self._exchanged: dict[int, dict[int, Block]] = {}
        self._originals: dict[BlockKey, Text] = {}
        self._written = Encoded({})
        self._saved: dict[Positions, int] = {}
        self._all_saved = 0
        self._plain = sum(map(count.message, self.messages))
        self._joined = _JOINED.get(transcript.family, frozenset())
        self._answers_calls = format_named(transcript.format).answers_calls

    @property
    def tokens(self) -> int:
        return self._plain - self._all_saved

    @property
    def plain_tokens(self) -> int:
        """What the messages cost without references."""
        return self._plain

    def state_of(self, block: Block) -> State | None:
        """The list of todos that a call held in the input."""
        return self._states.get(key_of(block))

    @cached_property
    def _states(self) -> States:
        return states_of(self._writer.messages)

    def as_read(self, position: int, number: int) -> Message:
        """The message of the input, without references, that a block stands in; a summary of this run is its own."""
        message = self.messages[position]
        key = key_of(message.blocks[number])
        found = (old for old in self._writer.messages if any(key_of(block) == key for block in old.blocks))
        return next(found, message)

    def put(self, position: int, number: int, block: Block) -> None:
        """Exchange one block; `settle` brings it into the messages, so that many in one message cost no more."""
        old = self.messages[position].blocks[number]
        before, after = self.count.block(old), self.count.block(block)
        if self._writer.is_active:
            self._originals.setdefault(key_of(old), old.content)
            self._save(position, number, self._saved.get((position, number), 0) - (before - after))
        self._plain += after - before
        self._exchanged.setdefault(position, {})[number] = block

    def settle(self) -> None:
        for position, exchanged in self._exchanged.items():
            message = self.messages[position]
            blocks = tuple(exchanged.get(number, block) for number, block in enumerate(message.blocks))
            self.messages[position] = replace(message, blocks=blocks)
        self._exchanged = {}

    def saved(self) -> Saved:
        """What `restore` brings back."""
        return Saved(self.messages.copy(), self.removed.copy(), self._plain, self._originals.copy())

    def restore(self, saved: Saved) -> None:
        """The messages as they were when they were saved; what is written is worked out by the next `write`."""
        self.messages, self.removed = saved.messages.copy(), saved.removed.copy()
        self._originals, self._plain = saved.originals.copy(), saved.plain
        self._written, self._saved, self._all_saved = Encoded({}), {}, 0

    def write(self) -> None:
        """Work out anew which blocks are written with references."""
        if not self._writer.is_active:
            return
        self._written = self._writer.write(self.messages, self._protection, self._originals)
        self._saved, self._all_saved = {}, 0
        for (position, number), block in self._written.blocks.items():
            # An escape takes a token.
            self._saved[position, number] = self._less(self.messages[position].blocks[number], block)
            self._all_saved += self._saved[position, number]

    def _save(self, position: int, number: int, tokens: int) -> None:
        """Note how many tokens a reference saves, where it saves any."""
        self._all_saved += max(0, tokens) - self._saved.get((position, number), 0)
        self._saved[position, number] = max(0, tokens)

    @property
    def is_proven(self) -> bool:
        """Whether the messages as they are written decode to what they were made from."""
        return self._writer.is_proven(self.messages, self._written, self._originals)

    def written(self) -> list[Message]:
        """The messages as they are written."""
        if not self._writer.is_active:
            return self.messages
        return with_blocks(self.messages, self._written.blocks)

    def is_short_by_references(self, position: int, number: int, tokens: int) -> bool:
        """Whether references of the input say the block in at most so many tokens, as it is written now."""
        block = self.messages[position].blocks[number]
        if not self._writer.is_said_by_references(block):
            return False
        return self.count.block(self._written.blocks.get((position, number), block)) <= tokens

    @property
    def has_restored(self) -> bool:
        """Whether references say all of a block that was cut: they are smaller than what was left of it."""
        return bool(self._written.restored)

    def is_reference(self, position: int, number: int) -> bool:
        """Whether the block is written with references and says all that it said before the passes."""
        place = (position, number)
        if place not in self._written.blocks:
            return False
        key = key_of(self.messages[position].blocks[number])
        return place in self._written.restored or key not in self._originals

    def tokens_in(self, messages: Iterable[Message]) -> dict[tuple[int, int], int]:
        """Tokens of every block of some messages, by the message's index and the block's position in it."""
        return {
            (message.index, number): self.count.block(block)
            for message in messages
            for number, block in enumerate(message.blocks)
        }

    def forget(self, going: Collection[int], written: Iterable[Message]) -> None:
        """Forget what was read of messages at the positions of those that go, and counts of texts that went already.

        `written` are the messages as they were written last.
        """
        stay = [
            block for position, message in enumerate(self.messages) if position not in going for block in message.blocks
        ]
        originals = (self._originals.get(key_of(block)) for block in stay)
        self._writer.forget(chain((block.content for block in stay), filter(None, originals)))
        standing = chain(self._before, self.messages, written)
        self.count.forget(block.content for message in standing for block in message.blocks)

    def references(self) -> dict[tuple[int, int], int]:
        """Tokens that references save on each block of the input, less those that they saved there before."""
        in_input = {key_of(block): block for message in self._writer.messages for block in message.blocks}
        saved = Tally({key: -self._less(in_input[key], block) for key, block in self._writer.read_with_references})
        for (position, number), block in self._written.blocks.items():
            plain = self.messages[position].blocks[number]
            if plain.is_inserted:
                continue
            if (position, number) in self._written.restored:
                plain = in_input[key_of(plain)]
            saved[key_of(plain)] += self._less(plain, block)
        where, now = places(self._before), places(self.messages)
        # That an escape went with its block saved nothing by references.
        return {where[key]: tokens for key, tokens in saved.items() if tokens < 0 or (tokens and key in now)}

    def _less(self, block: Block, smaller: Block) -> int:
        return self.count.block(block) - self.count.block(smaller)

    def remove(self, places: Iterable[tuple[int, int]]) -> None:
        """Take blocks (message position, block position) out. Messages left empty stay until `tidy`."""
        gone: dict[int, set[int]] = {}
        for position, number in places:
            gone.setdefault(position, set()).add(number)
        for position, numbers in gone.items():
            message = self.messages[position]
            lost = [message.blocks[number] for number in sorted(numbers)]
            self.removed += lost
            self._plain -= sum(map(self.count.block, lost))
            stay = tuple(block for number, block in enumerate(message.blocks) if number not in numbers)
            self.has_moved |= bool(stay)
            self.messages[position] = replace(message, blocks=stay)
        # Positions moved: what is written is worked out again when it is known what stays.
        self._written, self._saved, self._all_saved = Encoded({}), {}, 0

    def summarize(self, positions: Sequence[int], summaries: Sequence[Message]) -> None:
        """Take the messages at some positions out, and put summaries in the places of the first of them."""
        self.remove(
            (position, number) for position in positions for number in range(len(self.messages[position].blocks))
        )
        for position, summary in zip(positions, summaries, strict=False):
            self.messages[position] = summary
            self._plain += sum(map(self.count.block, summary.blocks))

    def tidy(self, pass_id: str, had_blocks: set[int]) -> list[Receipt]:
        """Drop messages that lost all their blocks, and join neighbours of one role that are one turn.

        `had_blocks` are the indices of messages that were not empty before.
        """
        receipts: list[Receipt] = []
        messages: list[Message] = []
        for message in self.messages:
            if not message.blocks and message.index in had_blocks:
                receipts.append(_constant(pass_id, message, "remove", "nothing was left in the message"))
            elif receipts and messages and self._are_joined(messages[-1], message):
                receipts.append(_constant(pass_id, message, "merge", "follows one of the same role"))
                messages[-1] = replace(messages[-1], blocks=messages[-1].blocks + message.blocks)
                self.has_moved = True
            else:
                messages.append(message)
        self.messages = messages
        self._plain -= MESSAGE_TOKENS * len(receipts)
        return receipts

    def _are_joined(self, first: Message, second: Message) -> bool:
        """Whether two neighbours are one turn. A client that answers open calls itself does so between them."""
        if first.role is not second.role or first.role not in self._joined or first.stands_apart or second.stands_apart:
            return False
        return not (self._answers_calls and first.has_calls)

    def finish(self, transcript: Transcript) -> Transcript:
        return replace(transcript, messages=tuple(self.written()), removed=transcript.removed + tuple(self.removed))


def _constant(pass_id: str, message: Message, operation: str, reason: str) -> Receipt:
    """Receipt for the constant that a message costs besides its blocks."""
    return Receipt(pass_id, message.index, -1, None, None, None, operation, MESSAGE_TOKENS, 0, reason=reason)
