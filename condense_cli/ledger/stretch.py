"""The source of one summary: a stretch of messages, the words of earlier summaries, and the ledger of all of it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ..core.markers import GO_ON, parse_summary
from ..core.tokens import Counter
from ..core.transcript import Message
from ..core.values import Role
from .bounded import fit
from .collect import collect, merge_all
from .entries import Ledger, merge
from .written import OPENING, render
from .written import parse as parse_ledger

_LONGEST_LEDGER: Final = 3_000
_LEDGER_SHARE: Final = 10
_ROOM_SHARE: Final = 3
"""Limits of a ledger, in tokens: the first number, a tenth of what is summarized, half of what is allowed. The user's
words may exceed that, and leave half of it to the rest. Of a target's room the rest takes at most a third."""

FRAME: Final = 36
"""Tokens of the mark, and of the text between summary and ledger."""


class SummaryLimits(Struct, frozen=True):
    """Tokens that a summary may have: `most` by the configuration, and the `room` that a target leaves.

    The user's words may exceed that, unless it `gives_up_words`.
    """

    most: int | None = None
    room: int | None = None
    gives_up_words: bool = False

    def share(self, part: int, whole: int) -> SummaryLimits:
        """Return the limits of one summary among several, by its part of all that is summarized."""
        most, room = (None if limit is None else limit * part // whole for limit in (self.most, self.room))
        return SummaryLimits(most, room, self.gives_up_words)


class SummarizedStretch(Struct, frozen=True):
    """Messages and their tokens; `new` are those that no summary covers yet.

    `said_before` are the words of earlier summaries, `listed_before` is their ledger; `ledger` covers everything up
    to now. `positions` are those of the messages, if needed.
    """

    messages: Sequence[Message]
    new: Sequence[Message]
    said_before: str
    listed_before: Ledger
    ledger: Ledger
    costs: int
    positions: Sequence[int] = ()

    @classmethod
    def of(cls, messages: Sequence[Message], count: Counter, positions: Sequence[int] = ()) -> SummarizedStretch:
        earlier = _earlier(messages)
        new = [message for message in messages if not message.is_summary]
        ledger = merge(earlier.ledger, collect(new))
        costs = sum(map(count.message, messages))
        return cls(messages, new, earlier.body, earlier.ledger, ledger, costs, positions)

    def listed(self, limits: SummaryLimits, count: Counter, wanted: Collection[str] = ()) -> str:
        """Write the ledger, short enough that the summary stays the larger part.

        It holds all of the user's words, unless they are given up for lack of room; `wanted` entries go after
        others. Entries of earlier ledgers have as much room as they had there.
        """
        ledger = self.ledger
        longest = _LONGEST_LEDGER if limits.most is None else min(_LONGEST_LEDGER, limits.most // 2)
        allowed = min(longest, sum(map(count.message, self.new)) // _LEDGER_SHARE)
        said, quoted = (count(render(Ledger(requests=each.requests))) for each in (ledger, self.listed_before))
        room = self.costs if limits.room is None else max(0, limits.room - FRAME)
        before = count(render(replace(self.listed_before, requests=())))
        others = min(longest, before + max(allowed - (said - quoted), allowed // 2))
        # Without a target, no earlier entry makes room for new ones.
        others = min(others, max(0, room - said) // _ROOM_SHARE + (before if limits.room is None else 0))
        fitted = replace(fit(replace(ledger, requests=()), others, count, wanted), requests=ledger.requests)
        return render(fit(fitted, room, count) if limits.gives_up_words else fitted)


class _Earlier(Struct, frozen=True):
    """Words of earlier summaries, and the entries of their ledgers."""

    body: str
    ledger: Ledger


def _earlier(messages: Sequence[Message]) -> _Earlier:
    texts = [block.text for message in messages for block in message.blocks if block.summarizes and block.text != GO_ON]
    bodies = [text.partition("\n")[2] if parse_summary(text) else text for text in texts]
    ledgers = [parse_ledger(body) for body in bodies]
    said = [
        body.rpartition(OPENING)[0].rstrip("\n") if ledger else body
        for body, ledger in zip(bodies, ledgers, strict=True)
    ]
    return _Earlier("\n\n".join(said), merge_all([ledger for ledger in ledgers if ledger]))


def said_by_summaries(messages: Sequence[Message]) -> str:
    """Return the words of earlier summaries, without their ledgers."""
    return _earlier(messages).body


def said_by_summary(message: Message) -> Message:
    """Return the words of an earlier summary as an assistant message."""
    block = replace(message.blocks[0].with_text(said_by_summaries([message])), summarizes=True)
    return replace(message, role=Role.ASSISTANT, blocks=(block,))
