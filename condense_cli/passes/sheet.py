"""The sheet: the one mutable thing of a run, messages on their way through the passes; and a step of a pass on it."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ..config.models import PassConfig
from ..core.transcript import Block, BlockKey, BlockPlace, Message, Transcript
from ..core.values import BlockKind, Family, Role, Text
from ..formats import format_named
from ..formats.engine.base import Habit
from ..lossless.encode import Encoded, with_blocks
from ..tokens.counting import MESSAGE_TOKENS, Counter
from . import listings, thinking
from .blocks.state import States, TodoList, states_of
from .prelude import ReferenceWriter
from .receipts import Receipt, places
from .selection import Protection, Selected
from .summaries import Summarizer, is_up_to_date
from .thinking import Mode

_JOINED: Final = {
    Family.ANTHROPIC: frozenset(Role),
    Family.OPENAI_RESPONSES: frozenset({Role.ASSISTANT, Role.TOOL}),
}
"""Roles whose neighbouring messages are one turn: the API combines them, or takes a list of items without turns."""


_NEWEST_IMAGES: Final = 3


class Saved(Struct, frozen=True):
    """A sheet at one moment: its messages, what went, their tokens without references, and what they said before."""

    messages: list[Message]
    removed: list[Block]
    plain: int
    originals: dict[BlockKey, Text]


class Sheet:
    """A transcript's messages without references, to be changed block by block. The transcript itself stays as it is.

    `tokens` is what they cost as written, which is exact after a `write`. Until then a block that was put is taken to
    cost what its reference cost, or what was put, whichever is less; after messages went, or came back, no reference
    counts.
    """

    def __init__(
        self, transcript: Transcript, count: Counter, writer: ReferenceWriter, protection: Protection, mode: Mode
    ) -> None:
        self.count = count
        self.protection = protection
        self.format = transcript.format
        self.removed: list[Block] = []
        self.read = writer.messages
        """The messages of the input without references."""
        self._writer = writer
        self._mode: Mode = mode
        self._before = transcript.messages
        self._messages = list(writer.messages)
        self._put: dict[int, dict[int, Block]] = {}
        self._originals: dict[BlockKey, Text] = {}
        self._written = Encoded({})
        self._saved: dict[BlockPlace, int] = {}
        self._all_saved = 0
        self._plain = sum(map(count.message, self._messages))
        self._is_measured = False
        self._known_to_take: tuple[int, int] | None = None
        """The plain tokens and at least those as written, without thinking that has to go, when asked for last."""
        self._transcript = transcript

    @property
    def messages(self) -> list[Message]:
        """The messages as they are, in a list of its own until the next change."""
        if self._put:
            self._messages = [
                replace(message, blocks=tuple(put.get(number, block) for number, block in enumerate(message.blocks)))
                if (put := self._put.get(position))
                else message
                for position, message in enumerate(self._messages)
            ]
            self._put = {}
        return self._messages

    @property
    def tokens(self) -> int:
        return self._plain - self._all_saved

    @property
    def plain_tokens(self) -> int:
        """Return the tokens of the messages without references."""
        return self._plain

    def measured(self) -> int:
        """Return the tokens of the messages as written; if anything changed, references are written to be counted."""
        if not self._is_measured:
            self.write()
        return self.tokens

    def free(self, target: int) -> int:
        """Tokens that the sheet as written, without thinking that became invalid, leaves free; below 0 if it misses."""
        tokens = self.measured()
        tokens -= thinking.tokens_to_drop(self.written(), self._mode, self._transcript, self.count)
        self._known_to_take = self._plain, tokens
        return target - tokens

    def is_within(self, target: int) -> bool:
        return self._plain <= target or (self._may_be_within(target) and self.free(target) >= 0)

    def _may_be_within(self, target: int) -> bool:
        """Whether references are worth writing to see: not where far too little can be saved, or went since."""
        if self._is_measured:
            return True
        if self._known_to_take is None:
            most = None if self._originals else self._writer.most_saved(self.messages)
            if most is None:
                return True
            self._known_to_take = self._plain, self._plain - most
        plain, tokens = self._known_to_take
        # What goes saves its tokens, and those of what only referred to it; and maybe thinking becomes invalid.
        blocks = (block for message in self.messages for block in message.blocks)
        may_go = sum(self.count.block(block) for block in blocks if block.kind is BlockKind.THINKING)
        return self._plain > plain or tokens - 2 * (plain - self._plain) - may_go <= target

    @cached_property
    def is_up_to_date(self) -> bool:
        """Whether the conversation did not go on since its last summary."""
        return is_up_to_date(self.read)

    @property
    def _newest(self) -> int:
        """The position where the newest turns begin, which are at work."""
        recent = self._writer.recent(self.messages)
        return next((position for position, message in enumerate(self.messages) if message.index in recent), 0)

    def old_thinking(self, stop: int = 0, newest: int = 0) -> list[BlockPlace]:
        """Thinking that the mode lets go because it is old and costs tokens; a tool loop ends at `stop`.

        It is old before the newest turns that are at work, or before position `newest` if that is later.
        """
        messages, model = self.messages, self._transcript.model
        found = thinking.old(messages, max(newest, self._newest), self._mode, model, stop)
        return [place for place in found if self._is_free(place) and self.count.block(self._block(*place))]

    def old_images(self) -> list[BlockPlace]:
        """Images that calls returned, but for the newest ones and those in the newest turns."""
        found = [
            (position, number)
            for position, message in enumerate(self.messages)
            for number, block in enumerate(message.blocks)
            if block.kind is BlockKind.IMAGE and block.answers is not None
        ]
        older, newest = found[: max(0, len(found) - _NEWEST_IMAGES)], self._newest
        return [place for place in older if place[0] < newest and self._is_free(place)]

    def listings(self, target: int | None) -> tuple[list[BlockPlace], list[BlockPlace]]:
        """Lists of what the client offers that go: those that newer ones repeat, and those for which is no room.

        There is little beside a `target`: the oldest go until the others take little of it.
        """
        messages = self.messages
        found = [
            (position, number)
            for position, message in enumerate(messages)
            for number, block in enumerate(message.blocks)
            if block.is_listing and self._is_free((position, number))
        ]
        if not found:
            return [], []
        newest = self._newest
        old = [place for place in listings.renewed(messages, found) if place[0] < newest]
        gone: list[BlockPlace] = []
        if target is not None:
            left = [place for place in found if place not in old]
            tokens = sum(self.count.block(self._block(*place)) for place in left)
            for place in left:
                if tokens <= listings.MOST * target:
                    break
                gone.append(place)
                tokens -= self.count.block(self._block(*place))
        return old, gone

    def _is_free(self, place: BlockPlace) -> bool:
        return self.protection.of(self.messages[place[0]], self._block(*place)) is None

    def state_of(self, block: Block) -> TodoList | None:
        """The list of todos that a call held in the input."""
        return self._states.get(block.key)

    @cached_property
    def _states(self) -> States:
        return states_of(self.read)

    def as_read(self, position: int, number: int) -> Message:
        """The message of the input, without references, that holds a block; a summary of this run is its own."""
        message = self.messages[position]
        return self._read.get(message.blocks[number].key, message)

    @cached_property
    def _read(self) -> dict[BlockKey, Message]:
        """The messages of the input, without references, by their blocks."""
        return {block.key: message for message in self.read for block in message.blocks}

    def put(self, position: int, number: int, block: Block) -> None:
        """Exchange one block. It is in the messages when they are asked for: many in one message cost no more."""
        old = self._block(position, number)
        before, after = self.count.block(old), self.count.block(block)
        if self._writer.is_active:
            self._originals.setdefault(old.key, old.content)
            self._save(position, number, self._saved.get((position, number), 0) - (before - after))
        self._plain += after - before
        self._is_measured = False
        self._put.setdefault(position, {})[number] = block

    def _block(self, position: int, number: int) -> Block:
        put = self._put.get(position, {}).get(number)
        return put or self._messages[position].blocks[number]

    def saved(self) -> Saved:
        """Return the state that `restore` brings back."""
        return Saved(self.messages, self.removed.copy(), self._plain, self._originals.copy())

    def restore(self, saved: Saved) -> None:
        """The messages as they were when they were saved; what is written is worked out by the next `write`."""
        self._messages, self._put, self.removed = saved.messages, {}, saved.removed.copy()
        self._originals, self._plain = saved.originals.copy(), saved.plain
        self._forget_written()
        self._known_to_take = None

    def _forget_written(self) -> None:
        self._written, self._saved, self._all_saved, self._is_measured = Encoded({}), {}, 0, False

    def write(self, *, proves: bool = False) -> None:
        """Work out anew which blocks are written with references; only to count them, unless it `proves` them."""
        self._is_measured = True
        if not self._writer.is_active:
            return
        self._written = self._writer.write(self.messages, self.protection, self._originals, proves=proves)
        self._saved, self._all_saved = {}, 0
        for (position, number), block in self._written.blocks.items():
            # An escape takes a token.
            self._saved[position, number] = self._less(self.messages[position].blocks[number], block)
            self._all_saved += self._saved[position, number]

    def _save(self, position: int, number: int, tokens: int) -> None:
        """Note how many tokens a reference saves, where it saves any."""
        self._all_saved += max(0, tokens) - self._saved.get((position, number), 0)
        self._saved[position, number] = max(0, tokens)

    def written(self) -> list[Message]:
        """The messages as they are written."""
        if not self._writer.is_active:
            return self.messages
        return with_blocks(self.messages, self._written.blocks)

    def is_reference(self, position: int, number: int) -> bool:
        """Whether the block is written with references and says all that it said before the passes."""
        place = (position, number)
        if place not in self._written.blocks:
            return False
        key = self.messages[position].blocks[number].key
        return place in self._written.restored or key not in self._originals

    def forget(self, going: Collection[int]) -> None:
        """Forget what was read of messages at the positions of those that go, and counts of texts that went already."""
        stay = [
            block for position, message in enumerate(self.messages) if position not in going for block in message.blocks
        ]
        originals = (self._originals.get(block.key) for block in stay)
        self._writer.forget(chain((block.content for block in stay), filter(None, originals)))
        standing = chain(self._before, self.messages, self.written())
        self.count.forget(block.content for message in standing for block in message.blocks)

    def references(self) -> dict[tuple[int, int], int]:
        """Tokens that references save on each block of the input, less those that they saved there before."""
        in_input = {block.key: block for message in self.read for block in message.blocks}
        saved = Tally({key: -self._less(in_input[key], block) for key, block in self._writer.read_with_references})
        for (position, number), block in self._written.blocks.items():
            plain = self.messages[position].blocks[number]
            if plain.is_inserted:
                continue
            if (position, number) in self._written.restored:
                plain = in_input[plain.key]
            saved[plain.key] += self._less(plain, block)
        where, now = places(self._before), places(self.messages)
        # That an escape went with its block saved nothing by references.
        return {where[key]: tokens for key, tokens in saved.items() if tokens < 0 or (tokens and key in now)}

    def _less(self, block: Block, smaller: Block) -> int:
        return self.count.block(block) - self.count.block(smaller)

    def remove(self, places: Iterable[BlockPlace], pass_id: str) -> list[Receipt]:
        """Take blocks out, and messages that lose all of theirs; receipts of what these cost besides."""
        return self.exchange(places, {}, pass_id)

    def summarize(self, positions: Iterable[int], new: Mapping[int, Message], pass_id: str) -> list[Receipt]:
        """Put `new` messages in place of those at some positions; receipts of what these cost besides blocks."""
        places = [(position, number) for position in positions for number in range(len(self.messages[position].blocks))]
        return self.exchange(places, new, pass_id)

    def exchange(self, places: Iterable[BlockPlace], new: Mapping[int, Message], pass_id: str) -> list[Receipt]:
        """Take blocks out and put new messages at positions; then empty messages go, and others may be joined.

        Return receipts of what those cost besides blocks.
        """
        messages = self.messages.copy()
        had_blocks = {message.index for message in messages if message.blocks}
        gone: dict[int, set[int]] = {}
        for position, number in places:
            gone.setdefault(position, set()).add(number)
        for position, numbers in gone.items():
            message = messages[position]
            lost = [message.blocks[number] for number in sorted(numbers)]
            self.removed += lost
            self._plain -= sum(map(self.count.block, lost))
            stay = tuple(block for number, block in enumerate(message.blocks) if number not in numbers)
            messages[position] = replace(message, blocks=stay)
        if new:
            self._known_to_take = None
        for position, message in new.items():
            messages[position] = message
            self._plain += sum(map(self.count.block, message.blocks))
        self._messages, receipts = _without_empty(messages, had_blocks, self._transcript, pass_id)
        self._plain -= MESSAGE_TOKENS * len(receipts)
        # Positions moved: what is written is worked out again when it is known what stays.
        self._forget_written()
        return receipts

    def finish(self, transcript: Transcript) -> Transcript:
        return replace(transcript, messages=tuple(self.written()), removed=transcript.removed + tuple(self.removed))


class Step(Struct, frozen=True):
    """One round of a pass on a sheet: what the `config` says, to what is `selected`, until the `target` is reached.

    Without a target it works through all that is selected. `strictness` below 1 scales its limits down. What `settles`
    is tried again until nothing more is found.
    """

    sheet: Sheet
    summarizer: Summarizer
    config: PassConfig
    selected: Selected
    target: int | None
    strictness: float = 1.0
    settles: bool = True

    def why(self, block: Block, stays: str) -> str:
        """Say what a block was, and why it could go: what of it `stays`, or where it is told."""
        name = _NAMES.get(block.kind, block.kind.value.replace("_", " "))
        aim = ", to reach the target" if self.target is not None else ""
        return f"{self.selected.age} {name}: {stays}{aim}"


_NAMES: Final = {BlockKind.TOOL_CALL: "call", BlockKind.OPAQUE: "data"}


def _without_empty(
    messages: Sequence[Message], had_blocks: Collection[int], transcript: Transcript, pass_id: str
) -> tuple[list[Message], list[Receipt]]:
    """Drop messages that lost all their blocks and join neighbours that are one turn now.

    `had_blocks` are the indices of messages that had any. Also return receipts for what those cost besides blocks.
    A client that answers open calls itself does so between two messages of one role, which then stay apart.
    """
    roles, answers_calls = (
        _JOINED.get(transcript.family, frozenset()),
        Habit.ANSWERS_CALLS in format_named(transcript.format).habits,
    )
    stay: list[Message] = []
    receipts: list[Receipt] = []

    def note(message: Message, operation: str, reason: str) -> None:
        frame = Receipt(pass_id, message.index, -1, None, None, None, operation, MESSAGE_TOKENS, 0, reason=reason)
        receipts.append(frame)

    for message in messages:
        last = stay[-1] if stay else None
        if not message.blocks and message.index in had_blocks:
            note(message, "remove", "the message became empty")
        elif (
            receipts
            and last
            and last.role is message.role
            and message.role in roles
            and not (last.stays_separate or message.stays_separate or (answers_calls and last.has_calls))
        ):
            note(message, "merge", "follows one of the same role")
            stay[-1] = replace(last, blocks=last.blocks + message.blocks)
        else:
            stay.append(message)
    return stay, receipts
