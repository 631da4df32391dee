"""What of a conversation the model is still told after a compaction, and what not."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from ..core.transcript import Message
from ..ledger.entries import Ledger, UserRequest


def words_not_said(words: Sequence[UserRequest], since: Sequence[Message]) -> tuple[UserRequest, ...]:
    """The user's words of which a line is not in any text since."""
    said = _said(since)
    return tuple(
        request
        for request in words
        if any(line.strip() and line.strip() not in said for line in request.text.split("\n"))
    )


def without_named(ledger: Ledger, since: Sequence[Message]) -> Ledger:
    """The ledger without the entries that a text since names."""
    said = _said(since)
    return replace(
        ledger,
        changed=tuple(entry for entry in ledger.changed if entry.path not in said),
        read=tuple(entry for entry in ledger.read if entry.path not in said),
        commands=tuple(command for command in ledger.commands if command.text not in said),
        todos=tuple(todo for todo in ledger.todos if todo.text not in said),
    )


def _said(messages: Sequence[Message]) -> str:
    return "\n".join(block.text for message in messages for block in message.blocks)
