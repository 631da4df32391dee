"""The oldest messages of what an extraction may touch, as one summary with lines of theirs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ..config.models import BatchConfig, PassConfig, SummarizationConfig
from ..exchanges import cut_before
from ..tokens import MESSAGE_TOKENS
from ..transcript import Message
from .batch import frame_tokens, run_batch, said_by_summary, to_summarize
from .draft import Draft
from .offline import NAME
from .receipts import Receipt
from .selection import Protection, Selected
from .summaries import Outcome, Task, Written

_ALL: Final = SummarizationConfig(keep_first=0, keep_last=0)


class Older(Struct, frozen=True):
    """The messages of an extraction that may be summarized, up to any end before the newest turn, which asks for more.

    `before` are the messages as they were written before the pass. What the user said is all in a summary, unless it
    `gives_up_words`. Where it `renews`, an earlier summary may be written anew, and shorter, with no new message.
    """

    config: PassConfig
    selected: Selected
    protection: Protection
    format: str
    before: Sequence[Message]
    gives_up_words: bool = False
    renews: bool = False

    def positions(self, draft: Draft, end: int) -> list[int]:
        """The messages before `end` that a summary would stand for."""
        chosen = to_summarize(draft.messages, _ALL, self._up_to(end, draft), self.protection, self.format)
        return chosen if self.renews or any(not draft.messages[position].is_summary for position in chosen) else []

    def frame(self, draft: Draft, positions: Sequence[int], room: int) -> int:
        """Tokens of a summary of these messages besides its lines, where it has so much room."""
        old = [draft.messages[position] for position in positions]
        return MESSAGE_TOKENS + frame_tokens(old, room, draft.count, gives_up_words=self.gives_up_words)

    def write(self, draft: Draft, end: int, room: int, text: str) -> list[Receipt]:
        """Put the text, with the ledger, in place of the messages before `end`; receipts of what changed."""
        config = replace(
            self.config, mode="batch", batch_config=BatchConfig(operation="summarize", summarization_config=_ALL)
        )
        receipts = run_batch(
            draft, config, self._up_to(end, draft), self.protection, None, _Given(text), self.format, self.before, room,
            gives_up_words=self.gives_up_words,
        )  # fmt: skip
        return [receipt for receipt in receipts if receipt.is_change]

    def read(self, messages: Sequence[Message]) -> list[Message]:
        """The conversation with what earlier summaries say in place of their messages, without marks and ledgers."""
        return [said_by_summary(message) if message.is_summary else message for message in messages]

    def _up_to(self, end: int, draft: Draft) -> Selected:
        newest = cut_before(draft.messages, len(draft.messages) - 1)
        return replace(self.selected, end=min(end, newest, self.selected.end))


class _Given(Struct, frozen=True):
    """A summarizer that was told what to say."""

    text: str

    def summarize(self, tasks: Sequence[Task], messages: Sequence[Message]) -> list[Outcome]:
        return [Written(self.text, NAME) for _ in tasks]
