"""A pass in batch mode: a summary in place of the selected messages.

Protected messages, and the other half of every exchange that is not selected as a whole, stay where they are: each run
of messages between them becomes a summary of its own. A summary that is there already is part of the next one and goes
with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ...config.models import SummarizationConfig
from ...core.markers import GO_ON, SummaryMark, stretch_hash
from ...core.transcript import Block, Message, Place
from ...core.values import STANDING_ROLES, BlockKind, Role
from ...formats import format_named
from ...formats.engine.client_text import request_before
from ...ledger.text import FRAME, SummarizedStretch, SummaryLimits
from ...tokens.counting import MESSAGE_TOKENS
from ..limits import is_offline
from ..receipts import IN_SUMMARY, SUMMARIZE, Kept, Receipt, all_kept, changed, tokens_in
from ..sheet import Sheet, Step
from ..summaries import BatchTask, Refused, Written, written_by
from .approach import fitted
from .chosen import choose

_RENEWED: Final = 16
"""Tokens that a summary of an earlier one alone has to save: that its figures are shorter is no reason for another."""


def run_batch(step: Step) -> list[Receipt]:
    """Summarize what the pass selects, and give a receipt for every block.

    A summary that costs nothing is tried in several lengths, until the target is met as closely as can be.
    """
    if step.target is None or not is_offline(step.config, step.summarizer):
        return _summarize(step)
    return fitted(step, step.target, partial(_summarize, step))


def _summarize(step: Step, room: int | None = None) -> list[Receipt]:
    """Summaries that may have so much `room`, or what is left of the target where nobody says it."""
    sheet, count = step.sheet, step.sheet.count
    messages = sheet.messages
    wanted = (step.config.batch_config and step.config.batch_config.summarization_config) or SummarizationConfig()
    chosen = choose(sheet, wanted, step.selected)
    kept = all_kept(step.config.id, messages, chosen.stay, count)
    stretches = [SummarizedStretch.of([messages[position] for position in run], count, run) for run in chosen.runs]
    worth_it = [stretch for stretch in stretches if stretch.new and stretch.costs > FRAME + MESSAGE_TOKENS]
    costs = sum(stretch.costs for stretch in worth_it)
    if room is None and step.target is not None:
        # What references save is mostly saved on what is summarized.
        room = step.target - (sheet.plain_tokens - costs)
    limits = [SummaryLimits(wanted.max_tokens, room).share(stretch.costs, costs) for stretch in worth_it]
    listed = [stretch.listed(limit, count) for stretch, limit in zip(worth_it, limits, strict=True)]
    tasks = [
        _task(stretch, wanted, limit, text, count(text) + FRAME)
        for stretch, limit, text in zip(worth_it, limits, listed, strict=True)
    ]
    sheet.forget({position for stretch in worth_it for position in stretch.positions})
    outcomes = step.summarizer.summarize(tasks, messages) if tasks else ()
    summaries: list[RunSummary] = []
    reasons = {stretch.positions[0]: (Kept.NOTHING_NEW, "") for stretch in stretches if not stretch.new}
    for stretch, limit, text, outcome in zip(worth_it, limits, listed, outcomes, strict=True):
        if isinstance(outcome, Refused):
            reasons[stretch.positions[0]] = (Kept.NO_SUMMARY, outcome.reason)
            continue
        if outcome.lacks:
            text = stretch.listed(limit, count, outcome.lacks)
        summaries.append(RunSummary(stretch, outcome, text))
    receipts = put_summaries(sheet, step, summaries)
    changed_messages = {receipt.message for receipt in receipts}
    for stretch in stretches:
        if stretch.messages[0].index not in changed_messages:
            why, reason = reasons.get(stretch.positions[0], (Kept.NOT_SMALLER, ""))
            stayed = all_kept(step.config.id, messages, dict.fromkeys(stretch.positions, why), count)
            kept += [replace(receipt, reason=reason) for receipt in stayed]
    return kept + receipts


def _task(
    stretch: SummarizedStretch, wanted: SummarizationConfig, limits: SummaryLimits, listed: str, beside: int
) -> BatchTask:
    """Return the task for the writer of the summary; `beside` are tokens of what is there besides its words."""
    return BatchTask(
        tuple(stretch.new),
        stretch.said_before,
        # The user's words come on top where they take more than half.
        None if limits.most is None else max(1, limits.most - beside, limits.most // 2),
        None if limits.room is None else max(0, limits.room - beside),
        wanted.api_profile,
        wanted.custom_prompt,
        wanted.validate.min_facts,
        stretch.ledger,
        listed,
        tuple(stretch.positions),
    )


class RunSummary(Struct, frozen=True):
    """A summary of a stretch, and what of its ledger is `listed` behind it."""

    stretch: SummarizedStretch
    written: Written
    listed: str

    @property
    def text(self) -> str:
        return "\n\n".join(filter(None, (self.written.text, self.listed)))


def put_summaries(sheet: Sheet, step: Step, summaries: Sequence[RunSummary]) -> list[Receipt]:
    """Put summaries, in order, in place of what they summarize, each unless it is no smaller.

    Gives the receipts of what changed.
    """
    count, pass_id, tokens = sheet.count, step.config.id, tokens_in(sheet.messages, sheet.count)
    receipts: list[Receipt] = []
    gone: list[int] = []
    placed: dict[int, Message] = {}
    for summary in reversed(summaries):
        stretch = summary.stretch
        behind = len(sheet.messages) - len(gone) + len(placed)
        new = _messages(summary.text, sheet, stretch.positions, behind)
        if sum(map(count.message, new)) + (0 if stretch.new else _RENEWED) >= stretch.costs:
            continue
        gone += stretch.positions
        placed |= zip(stretch.positions, new, strict=False)
        own = [
            changed(pass_id, message, number, SUMMARIZE, tokens[message.index, number], 0, step.why(block, IN_SUMMARY))
            for message in stretch.messages
            for number, block in enumerate(message.blocks)
        ]
        own += [
            Receipt(
                pass_id, message.index, -1, None, None, None, SUMMARIZE, 0, count.block(message.blocks[0]),
                reason=written_by(summary.written.by),
            )
            for message in new
        ]  # fmt: skip
        receipts[:0] = own
    return receipts + sheet.summarize(gone, placed, pass_id) if gone else []


def _messages(text: str, sheet: Sheet, positions: Sequence[int], behind: int) -> list[Message]:
    """The summary as a message and, where roles would not alternate otherwise, a line that leads on.

    `behind` are all messages of the conversation to be, with those that the summary replaces.
    """
    messages, gone = sheet.messages, set(positions)
    old = [messages[position] for position in positions]
    earlier = (messages[position] for position in range(positions[0] - 1, -1, -1))
    before = next((message for message in earlier if message.role not in STANDING_ROLES), None)
    after = next((messages[p] for p in range(positions[0] + 1, len(messages)) if p not in gone), None)
    role = format_named(sheet.format).summary_role
    needs_bridge = False
    if role is None:
        role = Role.ASSISTANT if before and before.role is Role.USER else Role.USER
        needs_bridge = after is not None and after.role is role and len(positions) > 1
    following = behind - len(positions) - positions[0] + needs_bridge
    digest = stretch_hash(sheet.as_read(positions[0], 0).hash, sheet.as_read(positions[-1], -1).hash)
    request = request_before(messages[: positions[0]])
    mark = SummaryMark(sum(message.turns for message in old), following, digest, request)
    texts = [(role, f"{mark}\n{text}")]
    if needs_bridge:
        texts.append((Role.ASSISTANT if role is Role.USER else Role.USER, GO_ON))
    return [
        Message(message.index, role, (_block(message, text, role),))
        for message, (role, text) in zip(old, texts, strict=False)
    ]


def _block(message: Message, text: str, role: Role) -> Block:
    old = message.blocks[0]
    block = Block(BlockKind.TEXT, Place(old.place.record, ()), old.owner, content=text, changed=True, summarizes=True)
    return replace(block, injected=role is Role.USER)
