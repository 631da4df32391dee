"""What is left of messages whose blocks went: empty ones go, and neighbours that are one turn are joined."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ..core.tokens import MESSAGE_TOKENS
from ..core.transcript import Message, Transcript
from ..core.values import Family, Role
from ..formats import format_named
from .receipts import Receipt

_JOINED: Final = {
    Family.ANTHROPIC: frozenset(Role),
    Family.OPENAI_RESPONSES: frozenset({Role.ASSISTANT, Role.TOOL}),
}
"""Roles whose neighbouring messages are one turn: the API combines them, or takes a list of items without turns."""


class Joined(Struct, frozen=True):
    """The messages that stay, and receipts for what the others cost besides blocks."""

    messages: list[Message]
    receipts: list[Receipt]


class Joining(Struct, frozen=True):
    """Which messages of a transcript are one turn: neighbours of such `roles`.

    A client that answers open calls itself (`answers_calls`) does so between them.
    """

    roles: frozenset[Role]
    answers_calls: bool

    @classmethod
    def of(cls, transcript: Transcript) -> Joining:
        """As the API and the client of a transcript have it."""
        roles = _JOINED.get(transcript.family, frozenset())
        return cls(roles, format_named(transcript.format).answers_calls)

    def joined(self, messages: Sequence[Message], had_blocks: Collection[int], pass_id: str) -> Joined:
        """The messages without those that lost all their blocks: `had_blocks` are the indices of those that had any."""
        stay: list[Message] = []
        receipts: list[Receipt] = []
        for message in messages:
            if not message.blocks and message.index in had_blocks:
                receipts.append(_constant(pass_id, message, "remove", "the message became empty"))
            elif receipts and stay and self._are_one(stay[-1], message):
                receipts.append(_constant(pass_id, message, "merge", "follows one of the same role"))
                stay[-1] = replace(stay[-1], blocks=stay[-1].blocks + message.blocks)
            else:
                stay.append(message)
        return Joined(stay, receipts)

    def _are_one(self, first: Message, second: Message) -> bool:
        if first.role is not second.role or first.role not in self.roles or first.stands_apart or second.stands_apart:
            return False
        return not (self.answers_calls and first.has_calls)


def _constant(pass_id: str, message: Message, operation: str, reason: str) -> Receipt:
    """Receipt for the constant that a message costs besides its blocks."""
    return Receipt(pass_id, message.index, -1, None, None, None, operation, MESSAGE_TOKENS, 0, reason=reason)
