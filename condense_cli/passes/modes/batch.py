"""A pass in batch mode: one summary in place of the selected messages.

Protected messages, and the other half of every exchange that is not selected as a whole, stay where they are, behind
the summary. A summary that is there already is part of the next one and goes with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from msgspec.structs import replace

from ...config.models import SummarizationConfig
from ...core.markers import GO_ON, SummaryMark, stretch_hash
from ...core.transcript import STANDING_ROLES, Block, BlockKind, Message, Place, Role
from ...formats import format_named
from ...formats.engine.own_summaries import request_before
from ..draft import Draft
from ..limits import is_offline
from ..receipts import Kept, Receipt, all_kept, changed, tokens_in
from ..step import Bench, Step
from ..summaries import SUMMARIZE, BatchTask, Refused, Written, written_by
from .approach import fitted
from .chosen import Chosen, choose
from .stretch import FRAME, SummarizedStretch, SummaryLimits

_RENEWED: Final = 16
"""Tokens that a summary of an earlier one alone has to save: that its figures are shorter is no reason for another."""


def run_batch(bench: Bench, step: Step) -> list[Receipt]:
    """Summarize what the pass selects, and give a receipt for every block.

    A summary that costs nothing is tried in several lengths, until the target is met as closely as can be.
    """
    if step.target is None or not is_offline(step.config, bench.summarizer):
        return _summarize(bench, step)
    return fitted(bench, step.target, partial(_summarize, bench, step))


def _summarize(bench: Bench, step: Step, room: int | None = None) -> list[Receipt]:
    """One summary, which may have so much `room`, or what is left of the target where nobody says it."""
    draft = bench.draft
    wanted = (step.config.batch_config and step.config.batch_config.summarization_config) or SummarizationConfig()
    chosen = choose(draft, wanted, step.selected)
    old = [draft.messages[position] for position in chosen.positions]
    if all(message.is_summary for message in old):
        return _stayed(draft, step, chosen, Kept.NOTHING_NEW)
    stretch = SummarizedStretch.of(old, draft.count)
    if room is None and step.target is not None:
        # What references save is mostly saved on what is summarized.
        room = step.target - (draft.plain_tokens - stretch.costs)
    limits = SummaryLimits(wanted.max_tokens, room)
    listed = stretch.listed(limits, draft.count)
    task = _task(stretch, wanted, limits, listed, draft.count(listed) + FRAME)
    draft.forget(set(chosen.positions), step.before)  # What chooses lines takes memory itself.
    (outcome,) = bench.summarizer.summarize([task], draft.messages)
    if isinstance(outcome, Refused):
        return _stayed(draft, step, chosen, Kept.NO_SUMMARY, outcome.reason)
    if outcome.lacks:
        listed = stretch.listed(limits, draft.count, outcome.lacks)
    stay = all_kept(step.config.id, draft.messages, chosen.stay, draft.count)
    receipts = put_summary(draft, step, chosen.positions, stretch, outcome, listed)
    return stay + receipts if receipts else _stayed(draft, step, chosen, Kept.NOT_SMALLER)


def _task(
    stretch: SummarizedStretch, wanted: SummarizationConfig, limits: SummaryLimits, listed: str, beside: int
) -> BatchTask:
    """What is asked of who writes the summary; `beside` are tokens of what stands besides its words."""
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
    )


def _stayed(draft: Draft, step: Step, chosen: Chosen, why: Kept, reason: str = "") -> list[Receipt]:
    """Receipts where no summary is written: all messages stay."""
    stay = chosen.stay | dict.fromkeys(chosen.positions, why)
    receipts = all_kept(step.config.id, draft.messages, stay, draft.count)
    return [replace(receipt, reason=reason) if receipt.kept is Kept.NO_SUMMARY else receipt for receipt in receipts]


def put_summary(
    draft: Draft, step: Step, positions: Sequence[int], stretch: SummarizedStretch, written: Written, listed: str
) -> list[Receipt]:
    """Put a summary, with what is `listed` behind it, in place of the messages at some positions.

    Gives the receipts of what changed: none where the summary is no smaller.
    """
    count, pass_id = draft.count, step.config.id
    text = f"{written.text}\n\n{listed}" if listed else written.text
    first, last = draft.as_read(positions[0], 0), draft.as_read(positions[-1], -1)
    new = _messages(text, draft, positions, stretch_hash(first.hash, last.hash))
    if sum(map(count.message, new)) + (0 if stretch.new else _RENEWED) >= stretch.costs:
        return []
    tokens = tokens_in(step.before, count)
    receipts = [
        changed(pass_id, message, number, SUMMARIZE, tokens[message.index, number], 0, step.why())
        for message in stretch.messages
        for number in range(len(message.blocks))
    ]
    receipts += [
        Receipt(
            pass_id, message.index, -1, None, None, None, SUMMARIZE, 0, count.block(message.blocks[0]),
            reason=written_by(written.by),
        )
        for message in new
    ]  # fmt: skip
    return receipts + draft.summarize(positions, new, pass_id)


def _messages(text: str, draft: Draft, positions: Sequence[int], digest: str) -> list[Message]:
    """The summary as a message and, where roles would not alternate otherwise, a line that leads on."""
    messages, gone = draft.messages, set(positions)
    old = [messages[position] for position in positions]
    before = [message for message in messages[: positions[0]] if message.role not in STANDING_ROLES]
    after = next((m for p, m in enumerate(messages) if p > positions[0] and p not in gone), None)
    role = format_named(draft.format).summary_role
    needs_bridge = False
    if role is None:
        role = Role.ASSISTANT if before and before[-1].role is Role.USER else Role.USER
        needs_bridge = after is not None and after.role is role and len(positions) > 1
    following = len(messages) - len(positions) - positions[0] + needs_bridge
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
    place = Place(message.blocks[0].place.record, ())
    return Block(BlockKind.TEXT, place, (), content=text, injected=role is Role.USER, changed=True, summarizes=True)
