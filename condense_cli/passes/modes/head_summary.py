"""The oldest messages of what an extraction may touch, as one summary with lines of theirs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ...config.models import SummarizationConfig
from ...core.exchanges import cut_before
from ...core.tokens import MESSAGE_TOKENS
from ...core.transcript import Message
from ..draft import Draft
from ..receipts import Receipt
from ..step import Step
from ..summaries import OFFLINE, Written
from .batch import put_summary
from .chosen import choose
from .stretch import FRAME, SummarizedStretch, SummaryLimits, said_by_summary

_ALL: Final = SummarizationConfig(keep_first=0, keep_last=0)


class HeadSummary(Struct, frozen=True):
    """The messages of an extraction that may be summarized, up to any end before the newest turn, which asks for more.

    What the user said is all in a summary, unless it `gives_up_words`. Where it `renews`, an earlier summary may be
    written anew, and shorter, with no new message.
    """

    step: Step
    gives_up_words: bool = False
    renews: bool = False

    def positions(self, draft: Draft, end: int) -> list[int]:
        """The messages before `end` that a summary would stand for."""
        newest = cut_before(draft.messages, len(draft.messages) - 1)
        selected = replace(self.step.selected, end=min(end, newest, self.step.selected.end))
        chosen = choose(draft, _ALL, selected).positions
        return chosen if self.renews or any(not draft.messages[position].is_summary for position in chosen) else []

    def frame(self, draft: Draft, positions: Sequence[int], room: int) -> int:
        """Tokens of a summary of these messages besides its lines, where it has so much room."""
        stretch = SummarizedStretch.of([draft.messages[position] for position in positions], draft.count)
        return MESSAGE_TOKENS + FRAME + draft.count(stretch.listed(self._limits(room), draft.count))

    def write(self, draft: Draft, end: int, room: int, text: str) -> list[Receipt]:
        """Put the text, with the ledger, in place of the messages before `end`; receipts of what changed."""
        positions = self.positions(draft, end)
        if not positions:
            return []
        stretch = SummarizedStretch.of([draft.messages[position] for position in positions], draft.count)
        listed = stretch.listed(self._limits(room), draft.count)
        draft.forget(set(positions), self.step.before)
        return put_summary(draft, self.step, positions, stretch, Written(text, OFFLINE), listed)

    def read(self, messages: Sequence[Message]) -> list[Message]:
        """The conversation with what earlier summaries say in place of their messages, without marks and ledgers."""
        return [said_by_summary(message) if message.is_summary else message for message in messages]

    def _limits(self, room: int) -> SummaryLimits:
        return SummaryLimits(room=room, gives_up_words=self.gives_up_words)
