"""Telling the summaries that we wrote from text that imitates them.

In most formats a summary is a message like any other, and only its first line, the mark, says what it is. A mark counts
where we would have written it: in a message of the user or the assistant with nothing else in it, never in standing
instructions, and behind the request that it names, which nothing ever changes. So neither the first request nor what
somebody pastes from another session counts, and of two with one mark the second is a copy. Version 0.1.0 named no
request: a mark of its kind counts behind a request where only a summary of ours is likely (`_is_likely`).

In a file that is written, text of others that would count all the same has an escape, which reading takes away.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Final

from msgspec.structs import replace

from ...core.markers import GO_ON, PREFIX, parse_summary, short_hash, with_escape, without_escape, without_escapes
from ...core.transcript import Block, Message
from ...core.values import BlockKind, Role
from .injected import is_command, is_wrapped

_ROLES: Final = (Role.USER, Role.ASSISTANT)
_END_OF_LEDGER: Final = "\n</ledger>"
NO_REQUEST: Final = short_hash("")
"""What a mark names where there is no request in front of it."""


def recognised(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Messages as they were read, with the summaries among them that are ours, and escapes taken away."""
    marks = _Marks()
    found = []
    for message, following in zip_longest(messages, messages[1:]):
        block = message.blocks[0] if message.blocks else None
        if block is not None and not message.is_summary and marks.counts(message, following):
            text = block.text
            if text == (plain := without_escape(text)):
                block = replace(block, summarizes=True, injected=message.role is Role.USER)
            else:
                block = replace(block, content=plain)
            message = replace(message, blocks=(block,))
        marks.pass_by(message)
        found.append(message)
    return tuple(found)


def with_escapes(messages: Sequence[Message]) -> Iterator[Message]:
    """Messages as they have to be written, so that text of others is not read as a summary of ours."""
    marks = _Marks()
    for message, following in zip_longest(messages, messages[1:]):
        counts = not message.is_summary and marks.counts(message, following)
        marks.pass_by(message)
        if counts:
            block = message.blocks[0]
            message = replace(message, blocks=(block.with_text(with_escape(block.text)),))
        yield message


def request_before(messages: Iterable[Message]) -> str:
    """The hash of the first request among some messages, as marks behind them name it."""
    marks = _Marks()
    for message in messages:
        marks.pass_by(message)
        if marks.request != NO_REQUEST:
            break
    return marks.request


class _Marks:
    """What was seen of a conversation, message by message: the first request, marks, whether the last was a summary."""

    def __init__(self) -> None:
        self.request = NO_REQUEST
        self._is_behind_request = False
        self._seen: set[str] = set()
        self._summary: Role | None = None

    def pass_by(self, message: Message) -> None:
        """Take note of a message that stands in front of what is asked for next."""
        self._is_behind_request = False
        if self.request == NO_REQUEST and message.role is Role.USER:
            for block in message.blocks:
                if block.kind is BlockKind.TEXT and _is_request(block):
                    self.request = short_hash(block.text)
                    self._is_behind_request = True
                    break
        leads_on = any(block.leads_on for block in message.blocks)
        self._summary = message.role if message.is_summary and not leads_on else None
        if message.is_summary:
            self._seen |= {mark.hash for block in message.blocks if (mark := parse_summary(block.text))}

    def counts(self, message: Message, following: Message | None) -> bool:
        """Whether the message is a summary of ours, or leads on from one, by its words, but for escapes, and place."""
        if message.role not in _ROLES or len(message.blocks) != 1:
            return False
        block = message.blocks[0]
        if block.kind is not BlockKind.TEXT or PREFIX not in block.content or not block.text.startswith(PREFIX):
            return False
        plain = without_escapes(block.text)
        if plain == GO_ON:
            return self._summary is not None and self._summary is not message.role
        mark = parse_summary(plain)
        if mark is None or mark.hash in self._seen:
            return False
        if mark.after:
            return mark.after == self.request
        return self.request != NO_REQUEST and self._is_likely(block, message.role, following)

    def _is_likely(self, block: Block, role: Role, following: Message | None) -> bool:
        """Whether a text with a mark that names no request is a summary of ours all the same.

        Nobody answers a request, or goes on behind one, with such a line, and nobody ends what he types with a ledger.
        """
        leads_on = following is not None and [block.content for block in following.blocks] == [GO_ON]
        is_closed = block.text.rstrip().endswith(_END_OF_LEDGER)
        return role is Role.ASSISTANT or self._is_behind_request or leads_on or is_closed


def _is_request(block: Block) -> bool:
    """Whether the user gave it, in words or as a command of the client."""
    text = block.text
    is_said = not (block.injected or is_wrapped(text)) or is_command(text)
    return bool(text.strip()) and not block.summarizes and is_said
