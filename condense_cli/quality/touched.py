"""Files that were touched in a conversation, and what became of each, as a reader of it can tell.

Told by the calls that stand in the conversation, and by ledgers in its texts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from ..core.transcript import Message
from ..core.values import BlockKind
from ..ledger.collect import collect, merge_all
from ..ledger.entries import FileEntry, Ledger
from ..ledger.written import OPENING, parse

Deed = Literal["read", "changed", "failed", "denied", "deleted", "moved"]
"""What happened to a file: the last change decides, and reading alone is no change."""


def touched(messages: Sequence[Message]) -> dict[str, Deed]:
    """What happened to each file by its path."""
    # A summary stands for what was before the calls that are left.
    ledger = merge_all([*ledgers_in(messages), collect(messages)])
    return {entry.path: _deed(entry) for entry in (*ledger.read, *ledger.changed)}


def ledgers_in(messages: Sequence[Message]) -> list[Ledger]:
    """The ledgers that stand in texts, in order."""
    found = []
    for message in messages:
        for block in message.blocks:
            if block.kind is BlockKind.TEXT and OPENING in block.content:
                ledger = parse(block.text)
                if ledger is not None:
                    found.append(ledger)
    return found


def still_told(before: Mapping[str, Deed], after: Mapping[str, Deed]) -> int:
    """Of how many files the second still tells what the first tells."""
    return sum(after.get(path) == deed for path, deed in before.items())


def _deed(entry: FileEntry) -> Deed:
    return entry.state or ("changed" if entry.created or entry.written or entry.edited else "read")
