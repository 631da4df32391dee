"""Calls with their results, and where a conversation may be cut without separating them."""

from __future__ import annotations

from collections.abc import Sequence

from .transcript import Block, BlockKind, Message


def calls_by_id(messages: Sequence[Message]) -> dict[str, Block]:
    """Every tool call by its id; of calls that share an id the first counts."""
    calls: dict[str, Block] = {}
    for message in messages:
        for block in message.blocks:
            if block.kind is BlockKind.TOOL_CALL and block.call_id:
                calls.setdefault(block.call_id, block)
    return calls


def cut_before(messages: Sequence[Message], position: int) -> int:
    """The nearest position at or before `position` where a cut separates no call from its result.

    Positions are indices into `messages`; a cut at p puts messages[:p] on one side.
    """
    position = max(0, min(position, len(messages)))
    calls = _positions_of_calls(messages)
    earliest = min(calls[position:], default=position)
    while 0 < position < len(messages) and (earliest < position or messages[position].answers_calls):
        position -= 1
        earliest = min(earliest, calls[position])
    return position


def _positions_of_calls(messages: Sequence[Message]) -> list[int]:
    """For each message the position of the first whose calls it answers: its own where it answers none.

    Where results need not follow at once, words of the assistant may stand between two results of one message.
    """
    callers: dict[str | None, int] = {}
    on_server: dict[str, int] = {}
    found: list[int] = []
    for position, message in enumerate(messages):
        first = position
        for block in message.blocks:
            if block.kind is BlockKind.TOOL_CALL:
                callers[block.call_id] = position
            elif block.answers:
                first = min(first, callers.get(block.answers, position))
            elif block.server_call:
                first = min(first, on_server.setdefault(block.server_call, position))
        found.append(first)
    return found


def stretches(messages: Sequence[Message]) -> list[range]:
    """The smallest stretches of messages that can go without separating a call from its result, as positions."""
    last_answer = {
        block.answers: position for position, m in enumerate(messages) for block in m.blocks if block.answers
    }
    last_answer |= {b.server_call: position for position, m in enumerate(messages) for b in m.blocks if b.server_call}
    found: list[range] = []
    start = reach = 0
    for position, message in enumerate(messages):
        reach = max([reach, *(last_answer.get(block.call_id or block.server_call, 0) for block in message.blocks)])
        is_followed = position + 1 < len(messages) and messages[position + 1].answers_calls
        if reach <= position and not is_followed:
            found.append(range(start, position + 1))
            start = position + 1
    return [*found, range(start, len(messages))] if start < len(messages) else found
