"""Notes: the kept lines of calls and results, at their place, where too little is kept for the frame of a call.

A note is a text of the user with a mark, in place of the results of one or more exchanges that follow each other. The
words of the assistant beside the calls stay in their message.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Callable, Collection, Sequence
from itertools import chain
from typing import Final

from msgspec import Struct

from ...core.markers import SummaryMark, stretch_hash
from ...core.transcript import Block, BlockPlace, Message, Place
from ...core.values import BlockKind, Role
from ...formats import format_named
from ...formats.engine.base import Habit
from ...formats.engine.client_text import request_before
from ...tokens.counting import MESSAGE_TOKENS, Counter
from ..receipts import IN_NOTE, LINES, NOTE, Kept, Receipt, changed
from ..sheet import Sheet, Step
from ..thinking import OLD

_MARK_TOKENS: Final = 22
"""Tokens of a mark and the line break behind it."""
_RENEWED: Final = 16
"""Tokens that writing earlier notes anew has to save: at another time they would be as they are."""
_LEAST: Final = 300
_PER_WORTH: Final = 700


def tokens_to_stay(worth: float) -> float:
    """Return how many tokens of an exchange have to stay, so that it stays as call and result.

    The frame of a call takes 50 tokens, which are worth the more, the more facts and lines 1,000 tokens have to hold
    (`worth`).
    """
    return _LEAST + _PER_WORTH * worth


class Exchange(Struct, frozen=True):
    """Calls of one message with their results; `blocks` are those that a note replaces.

    `results` are the positions of the messages that hold the results, and nothing that stays. A `caller` that
    `is_whole` holds nothing that stays either.
    """

    caller: int
    results: tuple[int, ...]
    blocks: tuple[BlockPlace, ...]
    is_whole: bool

    @property
    def positions(self) -> tuple[int, ...]:
        """Positions of the messages that go."""
        return (self.caller, *self.results) if self.is_whole else self.results


class NoteRun(Struct, frozen=True):
    """Exchanges and earlier notes that become one note: positions of messages that go, and all blocks that do."""

    positions: list[int]
    blocks: list[BlockPlace]


def exchanges_of(sheet: Sheet, end: int, is_held: Callable[[BlockPlace], bool]) -> list[Exchange]:
    """Find the exchanges before `end` that a note may replace.

    All their calls are answered in the messages that follow at once and nowhere else, and no block of theirs is held.
    A client that answers open calls itself does so until the user's next word, which to it a note is too: so none is
    behind one.
    """
    messages = sheet.messages
    if Habit.ANSWERS_CALLS in format_named(sheet.format).habits:
        end = min(end, _first_open_call(messages))
    calls = Tally(
        block.call_id for message in messages for block in message.blocks if block.kind is BlockKind.TOOL_CALL
    )
    answered: dict[str, set[int]] = {}
    for position, message in enumerate(messages):
        for block in message.blocks:
            if block.answers:
                answered.setdefault(block.answers, set()).add(position)
    found: list[Exchange] = []
    for position, message in enumerate(messages[:end]):
        ids = {block.call_id or "" for block in message.blocks if block.kind is BlockKind.TOOL_CALL}
        if not ids or any(calls[one] > 1 or not one for one in ids):
            continue
        results = _results(messages, position + 1, end, ids)
        if results is None or any(not answered[one] <= {*results} for one in ids):
            continue
        answers = [(place, number) for place in results for number in range(len(messages[place].blocks))]
        gone = _gone(message, {messages[place].blocks[number].place.record for place, number in answers})
        blocks = (*((position, number) for number in gone), *answers)
        if not any(map(is_held, blocks)):
            found.append(Exchange(position, tuple(results), blocks, is_whole=len(gone) == len(message.blocks)))
    return found


def _first_open_call(messages: Sequence[Message]) -> int:
    """The position of the first message with a call that has no result; their number if there is none."""
    answered = {block.answers for message in messages for block in message.blocks}
    for position, message in enumerate(messages):
        if any(block.kind is BlockKind.TOOL_CALL and block.call_id not in answered for block in message.blocks):
            return position
    return len(messages)


def _gone(message: Message, records: Collection[int]) -> list[int]:
    """Return the numbers of the blocks of a message that go with its calls, whose results are in some records.

    These are the calls alone where words stay that the file has in a place of their own. Otherwise all of them go, and
    the note holds lines of the words as well: thinking led to the calls, and a note takes the place of a whole record.
    """
    calls = [number for number, block in enumerate(message.blocks) if block.kind is BlockKind.TOOL_CALL]
    stay = [block for block in message.blocks if block.kind not in _OF_CALLS]
    of_words = {block.place.record for block in stay}
    if not (stay and of_words.isdisjoint(records)):
        return [*range(len(message.blocks))]
    if not all(_is_apart(message.blocks[number], of_words) for number in calls):
        return [*range(len(message.blocks))]
    # OpenAI refuses reasoning that nothing follows.
    last = max(number for number, block in enumerate(message.blocks) if block.kind not in _OF_CALLS)
    behind = range(last + 1, len(message.blocks))
    return sorted({*calls, *(number for number in behind if message.blocks[number].kind is BlockKind.THINKING)})


def _is_apart(call: Block, of_words: Collection[int]) -> bool:
    """Whether a call can go from a message whose words are in some records: it has its own, or is an item of a list."""
    is_item = bool(call.owner) and isinstance(call.owner[-1], int)
    return call.span is None and not call.server_call and (is_item or call.place.record not in of_words)


_OF_CALLS: Final = (BlockKind.TOOL_CALL, BlockKind.THINKING)


def _results(messages: Sequence[Message], start: int, end: int, ids: set[str]) -> list[int] | None:
    """Positions of the messages from `start` that answer these calls and hold nothing of a person; None if not all."""
    found: list[int] = []
    open_calls = set(ids)
    for position in range(start, end):
        message = messages[position]
        if not message.blocks:
            continue
        answered = {block.answers for block in message.blocks if block.answers}
        if not answered or not answered <= ids or message.role is Role.ASSISTANT or message.is_summary:
            break
        if any(block.answers is None and not _is_of_client(block) for block in message.blocks):
            break
        found.append(position)
        open_calls -= answered
    return found if found and not open_calls else None


def _is_of_client(block: Block) -> bool:
    """Whether the client put a text there by itself."""
    return block.injected and (block.kind is BlockKind.TEXT or (block.kind is BlockKind.OPAQUE and block.is_readable))


def runs_of(sheet: Sheet, exchanges: Sequence[Exchange], end: int) -> list[NoteRun]:
    """Return the notes that exchanges become with earlier notes that no pin holds: one for each undivided run."""
    messages = sheet.messages
    of_position = {position: exchange for exchange in exchanges for position in exchange.positions}
    runs: list[NoteRun] = []
    goes_on = False
    for position, message in enumerate(messages[:end]):
        exchange = of_position.get(position)
        is_earlier = exchange is None and message.is_note
        is_earlier = is_earlier and all(sheet.protection.of(message, each) is Kept.SUMMARY for each in message.blocks)
        if exchange is None and not is_earlier:
            goes_on = goes_on and not message.blocks
            continue
        if not goes_on:
            runs.append(NoteRun([], []))
        runs[-1].positions.append(position)
        if exchange is None:
            runs[-1].blocks.extend((position, number) for number in range(len(message.blocks)))
        elif position == exchange.positions[0]:
            runs[-1].blocks.extend(exchange.blocks)
        goes_on = True
    return runs


def frame(runs: Sequence[NoteRun]) -> int:
    """Tokens of the notes of these runs besides their lines."""
    return len(runs) * (MESSAGE_TOKENS + _MARK_TOKENS)


def put_notes(
    sheet: Sheet, step: Step, runs: Sequence[NoteRun], texts: Sequence[str], thinking: Sequence[BlockPlace] = ()
) -> list[Receipt]:
    """Put a note with its text in place of each run, and drop old thinking; return the receipts of what changed."""
    count, messages = sheet.count, sheet.messages
    receipts: list[Receipt] = []
    new: dict[int, Message] = {}
    put: list[NoteRun] = []
    for run, text in zip(runs, texts, strict=True):
        if all(messages[position].is_note for position in run.positions):
            before = sum(count.block(block) for position in run.positions for block in messages[position].blocks)
            if count(text) + _MARK_TOKENS + _RENEWED > before:
                continue
        put.append(run)
        first, last = run.blocks[0][0], run.positions[-1]
        digest = stretch_hash(sheet.as_read(first, 0).hash, sheet.as_read(last, -1).hash)
        turns = sum(messages[position].turns for position in run.positions)
        mark = SummaryMark(turns, None, digest, request_before(messages[: run.positions[0]]))
        old = messages[run.positions[0]]
        block = _note(old, f"{mark}\n{text}")
        new[run.positions[0]] = Message(old.index, Role.USER, (block,))
        receipts += [
            changed(
                step.config.id,
                messages[position],
                number,
                NOTE,
                _tokens(messages, (position, number), count),
                0,
                step.why(messages[position].blocks[number], IN_NOTE),
            )
            for position, number in run.blocks
        ]
        receipts.append(
            Receipt(step.config.id, old.index, -1, None, None, None, NOTE, 0, count.block(block), reason=LINES)
        )
    for position, number in thinking:
        tokens = _tokens(messages, (position, number), count)
        receipts.append(changed(step.config.id, messages[position], number, "drop", tokens, 0, OLD))
    gone = chain(thinking, chain.from_iterable(run.blocks for run in put))
    return receipts + sheet.exchange(gone, new, step.config.id)


def _tokens(messages: Sequence[Message], address: BlockPlace, count: Counter) -> int:
    position, number = address
    return count.block(messages[position].blocks[number])


def _note(message: Message, text: str) -> Block:
    old = message.blocks[0]
    place = Place(old.place.record, ())
    return Block(BlockKind.TEXT, place, old.owner, content=text, changed=True, summarizes=True, injected=True)
