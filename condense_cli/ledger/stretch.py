"""What one summary stands for: a stretch of messages, what was said of earlier ones, and the ledger of all of it."""

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
"""Tokens of a ledger: at most so many, at most a tenth of what is summarized, at most half of what is allowed. What the
user said may be more, and leaves half of these to the rest; of a target's room the rest takes at most a third."""

FRAME: Final = 36
"""Tokens of the mark, and of what stands between summary and ledger."""


class SummaryLimits(Struct, frozen=True):
    """How many tokens a summary may have: `most` by the configuration, and what `room` a target leaves.

    There may be more for what the user said, unless it `gives_up_words`.
    """

    most: int | None = None
    room: int | None = None
    gives_up_words: bool = False

    def share(self, part: int, whole: int) -> SummaryLimits:
        """Those of one of several summaries, which stands for such a part of all that is summarized."""
        most, room = (None if limit is None else limit * part // whole for limit in (self.most, self.room))
        return SummaryLimits(most, room, self.gives_up_words)


class SummarizedStretch(Struct, frozen=True):
    """Messages that cost so many tokens, those of them that are `new`, which no summary stands for yet.

    `said_before` are the words of earlier summaries, and `listed_before` is their ledger; the `ledger` is that of
    everything up to now. `positions` are those of the messages, where anybody asks for them.
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
        """The ledger as text, short enough that the summary stays the larger part.

        What the user said is all in it, unless it is given up where there is no room; what is `wanted` goes after other
        entries. What earlier ledgers listed has as much room as it had there.
        """
        ledger = self.ledger
        longest = _LONGEST_LEDGER if limits.most is None else min(_LONGEST_LEDGER, limits.most // 2)
        allowed = min(longest, sum(map(count.message, self.new)) // _LEDGER_SHARE)
        said, quoted = (count(render(Ledger(requests=each.requests))) for each in (ledger, self.listed_before))
        room = self.costs if limits.room is None else max(0, limits.room - FRAME)
        before = count(render(replace(self.listed_before, requests=())))
        others = min(longest, before + max(allowed - (said - quoted), allowed // 2))
        # Where no target asks for it, nothing that was listed goes for what is new.
        others = min(others, max(0, room - said) // _ROOM_SHARE + (before if limits.room is None else 0))
        fitted = replace(fit(replace(ledger, requests=()), others, count, wanted), requests=ledger.requests)
        return render(fit(fitted, room, count) if limits.gives_up_words else fitted)


class _Earlier(Struct, frozen=True):
    """What earlier summaries say in words, and what their ledgers list."""

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
    """What earlier summaries say in words."""
    return _earlier(messages).body


def said_by_summary(message: Message) -> Message:
    """What an earlier summary says in words, as a message of the assistant."""
    block = replace(message.blocks[0].with_text(said_by_summaries([message])), summarizes=True)
    return replace(message, role=Role.ASSISTANT, blocks=(block,))
