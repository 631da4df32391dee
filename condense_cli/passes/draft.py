"""The one mutable thing: messages on their way through the passes, with their token total kept up to date."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from ..tokens import MESSAGE_TOKENS, Counter
from ..transcript import Block, Family, Message, Transcript
from .receipts import Receipt


class Draft:
    """A transcript's messages, to be changed block by block. The transcript itself stays as it is."""

    def __init__(self, transcript: Transcript, count: Counter) -> None:
        self.count = count
        self.messages = list(transcript.messages)
        self.removed: list[Block] = []
        self._exchanged: dict[int, dict[int, Block]] = {}
        self.tokens = count.transcript(transcript)
        self._joins_roles = transcript.family is Family.ANTHROPIC

    def put(self, position: int, number: int, block: Block) -> None:
        """Exchange one block; `settle` brings it into the messages, so that many in one message cost no more."""
        self.tokens += self.count.block(block) - self.count.block(self.messages[position].blocks[number])
        self._exchanged.setdefault(position, {})[number] = block

    def settle(self) -> None:
        for position, exchanged in self._exchanged.items():
            message = self.messages[position]
            blocks = tuple(exchanged.get(number, block) for number, block in enumerate(message.blocks))
            self.messages[position] = replace(message, blocks=blocks)
        self._exchanged = {}

    def remove(self, places: Iterable[tuple[int, int]]) -> None:
        """Take blocks (message position, block position) out. Messages left empty stay until `tidy`."""
        gone: dict[int, set[int]] = {}
        for position, number in places:
            gone.setdefault(position, set()).add(number)
        for position, numbers in gone.items():
            message = self.messages[position]
            lost = [message.blocks[number] for number in sorted(numbers)]
            self.removed += lost
            self.tokens -= sum(map(self.count.block, lost))
            stay = tuple(block for number, block in enumerate(message.blocks) if number not in numbers)
            self.messages[position] = replace(message, blocks=stay)

    def tidy(self, pass_id: str, had_blocks: set[int]) -> list[Receipt]:
        """Drop messages that lost all their blocks, and join neighbours of one role as the API does.

        `had_blocks` are the indices of messages that were not empty before.
        """
        receipts: list[Receipt] = []
        messages: list[Message] = []
        for message in self.messages:
            if not message.blocks and message.index in had_blocks:
                receipts.append(_constant(pass_id, message, "remove", "nothing was left in the message"))
            elif self._joins_roles and receipts and messages and messages[-1].role is message.role:
                receipts.append(_constant(pass_id, message, "merge", "follows one of the same role"))
                messages[-1] = replace(messages[-1], blocks=messages[-1].blocks + message.blocks)
            else:
                messages.append(message)
        self.messages = messages
        self.tokens -= MESSAGE_TOKENS * len(receipts)
        return receipts

    def finish(self, transcript: Transcript) -> Transcript:
        return replace(transcript, messages=tuple(self.messages), removed=transcript.removed + tuple(self.removed))


def _constant(pass_id: str, message: Message, operation: str, reason: str) -> Receipt:
    """Receipt for the constant that a message costs besides its blocks."""
    return Receipt(pass_id, message.index, -1, None, None, None, operation, MESSAGE_TOKENS, 0, reason=reason)
