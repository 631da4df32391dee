"""Which messages summaries take the place of: those that a pass selects, as far as whole exchanges may go.

A message that stays ends a summary: one of what was said before and after it would change places with it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from msgspec import Struct

from ...config.models import SummarizationConfig
from ...core.transcript import Message
from ...core.values import BlockKind
from ...formats import format_named
from ...formats.engine.base import Habit
from ..receipts import REQUEST, Kept
from ..selection import Selected
from ..sheet import Sheet


class Chosen(Struct, frozen=True):
    """Runs of positions, each to become one summary, earlier summaries in them too, and why the others stay."""

    runs: list[list[int]]
    stay: dict[int, Kept]

    @property
    def positions(self) -> list[int]:
        return [position for run in self.runs for position in run]


def choose(sheet: Sheet, config: SummarizationConfig, selected: Selected) -> Chosen:
    """The messages of a sheet that a pass would summarize, and those that stay."""
    messages, protection = sheet.messages, sheet.protection
    # Each position by whether there is a summary at it.
    window = {
        position: message.is_summary
        for position, message in enumerate(messages[: selected.end])
        if any((selected.takes_in if message.is_summary else selected.test)(message, block) for block in message.blocks)
    }
    said = [position for position, is_summary in window.items() if not is_summary]
    at_ends = {*said[: config.keep_first], *said[max(0, len(said) - config.keep_last) :]}
    # A new summary in front of the first request would be taken for the request itself as soon as it is answered.
    request = next((p for p, m in enumerate(messages) if protection.messages.get(m.index) in REQUEST), 0)
    stay: dict[int, Kept] = {}
    chosen = set()
    for position, message in enumerate(messages):
        reasons = [protection.of(message, block) for block in message.blocks]
        reason: Kept | None = next((reason for reason in reasons if reason not in (None, Kept.SUMMARY)), None)
        if reason is None and position >= selected.end:
            reason = Kept.RECENT
        elif reason is None and position not in window:
            reason = Kept.NOT_SELECTED
        elif reason is None and position in at_ends:
            reason = Kept.AT_END
        elif reason is None and position < request and not message.is_summary:
            reason = Kept.BEFORE_REQUEST
        elif reason is None and position and any(block.leads_on for block in message.blocks):
            reason = stay.get(position - 1)  # It leads on from a summary, and goes only with that.
        if reason is None:
            chosen.add(position)
        else:
            stay[position] = reason
    answers_calls = Habit.ANSWERS_CALLS in format_named(sheet.format).habits
    while parts := _with_halves(messages, chosen) or (_behind_open_call(messages, chosen) if answers_calls else set()):
        chosen -= parts
        stay |= dict.fromkeys(parts, Kept.EXCHANGE)
    return Chosen(_runs(messages, chosen), stay)


def _runs(messages: Sequence[Message], chosen: set[int]) -> list[list[int]]:
    """Chosen positions in order, with those in one list that no message with any content divides."""
    runs: list[list[int]] = []
    goes_on = False
    for position, message in enumerate(messages):
        if position in chosen:
            if not goes_on:
                runs.append([])
            runs[-1].append(position)
            goes_on = True
        elif message.blocks:
            goes_on = False
    return runs


def _with_halves(messages: Sequence[Message], chosen: set[int]) -> set[int]:
    """Chosen messages whose calls or results are in messages that stay, or are still to come."""
    exchanges: dict[str, set[int]] = defaultdict(set)
    answered: set[str] = set()
    calls_in: dict[int, set[str]] = defaultdict(set)
    for position, message in enumerate(messages):
        for block in message.blocks:
            call = block.call_id or block.server_call
            if call:
                exchanges[call].add(position)
                calls_in[position].add(call)
            if block.answers:
                answered.add(block.answers)
    newest = len(messages) - 1
    # Thousands of calls may share an id: each is looked at once.
    parted = {call for call, positions in exchanges.items() if not positions <= chosen}
    stay = {
        position
        for position in chosen
        for call in calls_in[position]
        if call in parted or (position == newest and call not in answered)
    }
    waiting, known = list(stay), set[str]()
    while waiting:
        for call in calls_in[waiting.pop()] - known:
            known.add(call)
            others = (exchanges[call] & chosen) - stay
            stay |= others
            waiting += others
    return stay


def _behind_open_call(messages: Sequence[Message], chosen: set[int]) -> set[int]:
    """All that is chosen, where a call without a result stays in front of it.

    To a client the summary is the user's next word, behind which it no longer answers the call but leaves it out.
    """
    answered = {block.answers for message in messages for block in message.blocks}
    for message in messages[: min(chosen, default=0)]:
        calls = {block.call_id for block in message.blocks if block.kind is BlockKind.TOOL_CALL}
        if not calls <= answered:
            return {*chosen}
    return set()
