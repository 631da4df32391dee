"""The oldest messages of what an extraction may touch, as a summary with lines of theirs; one for each run of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ...config.models import SummarizationConfig
from ...core.transcript import Message, cut_before
from ...extractive.summary import NOTHING
from ...ledger.text import FRAME, SummarizedStretch, SummaryLimits, said_by_summary
from ...tokens.counting import MESSAGE_TOKENS
from ..receipts import Receipt
from ..sheet import Sheet, Step
from ..summaries import OFFLINE, Written
from .batch import RunSummary, put_summaries
from .chosen import choose

_ALL: Final = SummarizationConfig(keep_first=0, keep_last=0)


class HeadSummary(Struct, frozen=True):
    """The messages of an extraction that may be summarized, up to any end before the newest turn, which asks for more.

    What the user said is all in a summary, unless it `gives_up_words`. Where it `renews`, an earlier summary may be
    written anew, and shorter, with no new message.
    """

    step: Step
    gives_up_words: bool = False
    renews: bool = False

    def runs(self, sheet: Sheet, end: int) -> list[list[int]]:
        """The messages before `end` that summaries would take the place of, by summary."""
        newest = cut_before(sheet.messages, len(sheet.messages) - 1)
        selected = replace(self.step.selected, end=min(end, newest, self.step.selected.end))
        runs = choose(sheet, _ALL, selected).runs
        return [run for run in runs if self.renews or any(not sheet.messages[position].is_summary for position in run)]

    def frame(self, sheet: Sheet, runs: Sequence[Sequence[int]], room: int) -> int:
        """Tokens of summaries of these runs besides their lines, where they have so much room."""
        return sum(MESSAGE_TOKENS + FRAME + sheet.count(listed) for _, listed in self._stretches(sheet, runs, room))

    def write(self, sheet: Sheet, end: int, room: int, texts: Sequence[str]) -> list[Receipt]:
        """Put texts, with their ledgers, in place of the runs before `end`; receipts of what changed."""
        runs = self.runs(sheet, end)
        sheet.forget({position for run in runs for position in run})
        stretches = self._stretches(sheet, runs, room)
        summaries = [
            # A ledger that is alone says so by itself.
            RunSummary(stretch, Written("" if listed and text.startswith(NOTHING) else text, OFFLINE), listed)
            for (stretch, listed), text in zip(stretches, texts, strict=True)
        ]
        return put_summaries(sheet, self.step, summaries)

    def _stretches(self, sheet: Sheet, runs: Sequence[Sequence[int]], room: int) -> list[tuple[SummarizedStretch, str]]:
        """Return each run with what of its ledger is listed."""
        count, messages = sheet.count, sheet.messages
        stretches = [SummarizedStretch.of([messages[position] for position in run], count, run) for run in runs]
        limits, costs = (
            SummaryLimits(room=room, gives_up_words=self.gives_up_words),
            sum(each.costs for each in stretches),
        )
        return [(each, each.listed(limits.share(each.costs, costs), count)) for each in stretches]

    def read(self, messages: Sequence[Message]) -> list[Message]:
        """The conversation with what earlier summaries say in place of their messages, without marks and ledgers."""
        return [
            said_by_summary(message) if message.is_summary and not message.is_note else message for message in messages
        ]
