"""Thinking that is old, that a change made invalid, that a client no longer sends, or that the user wants gone.

Models that bind thinking to its prefix refuse every later thinking block once anything before it
changed. Older models refuse only changes to the thinking of the open tool loop, which they need to
continue: it stays. A client that sends no reply of thinking alone may still send one where more of it
follows later under the same id; what went may have been that, and copies have other ids.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, assert_never

from ..core.transcript import Block, Message, Transcript
from ..core.values import BlockKind, Role
from ..formats import format_named
from ..formats.engine.base import Habit
from ..rules.validity import thinking_behind_changes
from ..tokens.counting import MESSAGE_TOKENS, Counter
from ..tokens.models import binds_thinking

Mode = Literal["auto", "drop", "keep"]

OLD = "old thinking: its results are in the messages, and every request pays for it"
OLD_IMAGE = "old image of a result: the newest three stay"
BOUND = "invalid because something before it changed"
WANTED = "thinking: drop"
LONE = "the client sends no reply of thinking alone"


def to_drop(
    messages: Sequence[Message], mode: Mode, transcript: Transcript, removed: Sequence[Block] = ()
) -> tuple[list[tuple[int, int]], str]:
    """Positions (message, block) of the thinking that has to go, and why.

    `removed` are the blocks of the transcript that went.
    """
    found, reason = _by_mode(messages, mode, binds_thinking(transcript.model), removed)
    if not removed or Habit.DROPS_LONE_THINKING not in format_named(transcript.format).habits:
        return found, reason
    lone = {block.place for message in transcript.messages if message.is_only_thinking for block in message.blocks}
    going = {(position, n) for position, n in _thinking_in(messages) if messages[position].blocks[n].place in lone}
    return sorted(going.union(found)), reason or LONE


def _by_mode(
    messages: Sequence[Message], mode: Mode, is_bound: bool, removed: Sequence[Block]
) -> tuple[list[tuple[int, int]], str]:
    match mode:
        case "drop":
            return _thinking_in(messages[: len(messages) if is_bound else _open_loop(messages)]), WANTED
        case "auto" | "keep":
            return (_behind_changes(messages, removed), BOUND) if is_bound else ([], "")
        case other:
            assert_never(other)


def old(
    messages: Sequence[Message], newest: int, mode: Mode, model: str | None, stop: int = 0
) -> list[tuple[int, int]]:
    """Return positions (message, block) of thinking that is billed with every request and that nothing needs any more.

    It is before the `newest` turns and the open tool loop; a tool loop ends at `stop`. None is old with a model that
    binds thinking to what comes before it: all later thinking would become invalid.
    """
    if mode != "auto" or binds_thinking(model):
        return []
    return _thinking_in(messages[: min(newest, max(_open_loop(messages), stop))])


def _thinking_in(messages: Sequence[Message]) -> list[tuple[int, int]]:
    return [
        (position, number)
        for position, message in enumerate(messages)
        for number, block in enumerate(message.blocks)
        if block.kind is BlockKind.THINKING
    ]


def _behind_changes(messages: Sequence[Message], removed: Sequence[Block]) -> list[tuple[int, int]]:
    """Thinking that what changed or went made invalid, and what its own going takes with it.

    That is nothing as a rule. A line that was written again is in the file behind lines that follow it.
    """
    found: list[tuple[int, int]] = []
    while True:
        going = [messages[position].blocks[number] for position, number in found]
        more = list(thinking_behind_changes(messages, [*removed, *going]))
        if len(more) == len(found):
            return found
        found = more


def tokens_to_drop(messages: Sequence[Message], mode: Mode, transcript: Transcript, count: Counter) -> int:
    """Tokens of the thinking that has to go, and of the messages that it would leave empty."""
    gone: dict[int, list[int]] = {}
    for position, number in to_drop(messages, mode, transcript)[0]:
        gone.setdefault(position, []).append(number)
    tokens = 0
    for position, numbers in gone.items():
        blocks = messages[position].blocks
        tokens += sum(count.block(blocks[number]) for number in numbers)
        tokens += MESSAGE_TOKENS * (len(numbers) == len(blocks))
    return tokens


def _open_loop(messages: Sequence[Message]) -> int:
    """Where the tool loop begins that the transcript ends in; its length when it ends in none."""
    position = len(messages)
    while position and _is_in_loop(messages[position - 1]):
        position -= 1
    return position


def _is_in_loop(message: Message) -> bool:
    if message.role is Role.ASSISTANT:
        return message.has_calls
    has_request = any(block.kind is BlockKind.TEXT and not block.injected for block in message.blocks)
    return message.answers_calls and not has_request
