"""A pass in batch mode: one summary in place of the selected messages.

Protected messages, and the other half of every exchange that is not selected as a whole, stay where they are, behind
the summary. A summary that is there already is part of the next one and goes with it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from functools import partial
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ..config.models import PassConfig, SummarizationConfig
from ..formats import format_named
from ..formats.own_summaries import request_before
from ..ledger.bounded import fit
from ..ledger.collect import collect, merge_all
from ..ledger.entries import Ledger, merge
from ..ledger.written import OPENING, render
from ..ledger.written import parse as parse_ledger
from ..markers import GO_ON, SummaryMark, parse_summary, stretch_hash
from ..tokens import Counter
from ..transcript import STANDING_ROLES, Block, BlockKind, Message, Place, Role
from .draft import Draft
from .receipts import Kept, Receipt, changed, kept
from .selection import Protection, Selected
from .summaries import SUMMARIZE, BatchTask, Refused, Summarizer, Written

_LONGEST_LEDGER: Final = 3_000
_LEDGER_SHARE: Final = 10
_ROOM_SHARE: Final = 3
"""Tokens of a ledger: at most so many, at most a tenth of what is summarized, at most half of what is allowed. What the
user said may be more, and leaves half of these to the rest; of a target's room the rest takes at most a third."""

_RENEWED: Final = 16
"""Tokens that a summary of an earlier one alone has to save: that its figures are shorter is no reason for another."""

_FRAME: Final = 36
"""Tokens of the mark, and of what stands between summary and ledger."""


class _Chosen(Struct):
    """Positions of the messages to summarize, and why the others stay."""

    positions: list[int]
    stay: dict[int, Kept]


def run_batch(
    draft: Draft,
    config: PassConfig,
    selected: Selected,
    protection: Protection,
    target: int | None,
    summarizer: Summarizer,
    format: str,
    before: Sequence[Message],
    room: int | None = None,
    *,
    gives_up_words: bool = False,
) -> list[Receipt]:
    """Summarize what the pass selects, and give a receipt for every block.

    `before` are the messages as they are written before the pass; the summary may have `room` tokens, ledger included,
    or where none are given what is left of the target. Where they are given an earlier summary may be renewed alone.
    There may be more for what the user said, unless it `gives_up_words`.
    """
    summarization = (config.batch_config and config.batch_config.summarization_config) or SummarizationConfig()
    chosen = _choose(draft.messages, summarization, selected, protection, format)
    old = [draft.messages[position] for position in chosen.positions]
    has_new = any(not message.is_summary for message in old)
    why: Kept | Refused | None = None if has_new or (old and room is not None) else Kept.NOTHING_NEW
    if why is None:
        costs = sum(map(draft.count.message, old))
        if room is None and target is not None:
            # What references save is mostly saved on what is summarized.
            room = target - (draft.plain_tokens - costs)
        earlier = _earlier(old)
        new = [message for message in old if not message.is_summary]
        done = merge(earlier.ledger, collect(new))
        ledger = partial(_listed, done, new, costs, summarization.max_tokens, room, draft.count, gives_up_words)
        listed = ledger()
        spare = draft.count(listed) + _FRAME
        task = BatchTask(
            tuple(new),
            earlier.body,
            # The user's words come on top where they take more than half.
            None if (most := summarization.max_tokens) is None else max(1, most - spare, most // 2),
            None if room is None else max(0, room - spare),
            summarization.api_profile,
            summarization.custom_prompt,
            summarization.validate.min_facts,
            done,
            listed,
        )
        draft.forget(set(chosen.positions), before)  # What chooses lines takes memory itself.
        (outcome,) = summarizer.summarize([task], draft.messages)
        if isinstance(outcome, Written):
            listed = ledger(outcome.lacks) if outcome.lacks else listed
            text = f"{outcome.text}\n\n{listed}" if listed else outcome.text
            first, last = draft.as_read(chosen.positions[0], 0), draft.as_read(chosen.positions[-1], -1)
            hash = stretch_hash(first.hash, last.hash)
            messages = _messages(text, draft.messages, chosen.positions, format, hash)
            if sum(map(draft.count.message, messages)) + (0 if has_new else _RENEWED) < costs:
                return _exchange(draft, config, selected, chosen, messages, outcome.by, before)
            why = Kept.NOT_SMALLER
        else:
            why = outcome
    for position in chosen.positions:
        chosen.stay[position] = why if isinstance(why, Kept) else Kept.NO_SUMMARY
    reason = why.reason if isinstance(why, Refused) else ""
    return [
        replace(receipt, reason=reason) if receipt.kept is Kept.NO_SUMMARY else receipt
        for receipt in _kept(draft, config, chosen)
    ]


class _Earlier(Struct, frozen=True):
    """What an earlier summary says in words, and what its ledger lists."""

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


def _listed(
    ledger: Ledger,
    new: Sequence[Message],
    costs: int,
    max_tokens: int | None,
    room: int | None,
    count: Counter,
    gives_up_words: bool,
    wanted: Collection[str] = (),
) -> str:
    """The ledger up to now as text, short enough that the summary stays the larger part.

    What the user said is all in it, unless it is given up where there is no room; what is `wanted` goes after other
    entries. Where no message is new it may be as long as it was.
    """
    share = costs // _LEDGER_SHARE if new else count(render(ledger))
    allowed = min(_LONGEST_LEDGER, share, (max_tokens or costs) // 2)
    said = count(render(Ledger(requests=ledger.requests)))
    room = costs if room is None else max(0, room - _FRAME)
    others = min(max(allowed - said, allowed // 2), max(0, room - said) // _ROOM_SHARE)
    fitted = replace(fit(replace(ledger, requests=()), others, count, wanted), requests=ledger.requests)
    return render(fit(fitted, room, count) if gives_up_words else fitted)


def frame_tokens(messages: Sequence[Message], room: int, count: Counter, *, gives_up_words: bool) -> int:
    """Tokens of what a summary of messages holds besides its words: mark and ledger."""
    costs = sum(map(count.message, messages))
    new = [message for message in messages if not message.is_summary]
    ledger = merge(_earlier(messages).ledger, collect(new))
    return _FRAME + count(_listed(ledger, new, costs, None, room, count, gives_up_words))


def said_by_summaries(messages: Sequence[Message]) -> str:
    """What earlier summaries say in words."""
    return _earlier(messages).body


def said_by_summary(message: Message) -> Message:
    """What an earlier summary says in words, as a message of the assistant."""
    block = replace(message.blocks[0].with_text(said_by_summaries([message])), summarizes=True)
    return replace(message, role=Role.ASSISTANT, blocks=(block,))


def to_summarize(
    messages: Sequence[Message], config: SummarizationConfig, selected: Selected, protection: Protection, format: str
) -> list[int]:
    """Positions of the messages that a pass would summarize, earlier summaries too."""
    return _choose(messages, config, selected, protection, format).positions


def _choose(
    messages: Sequence[Message], config: SummarizationConfig, selected: Selected, protection: Protection, format: str
) -> _Chosen:
    # Each position by whether there is a summary at it.
    window = {
        position: message.is_summary
        for position, message in enumerate(messages[: selected.end])
        if any((selected.takes_in if message.is_summary else selected.test)(message, block) for block in message.blocks)
    }
    said = [position for position, is_summary in window.items() if not is_summary]
    at_ends = {*said[: config.keep_first], *said[max(0, len(said) - config.keep_last) :]}
    # A summary of what was before the first request and after it would stand before it, as if nothing were done yet.
    request = next((p for p, m in enumerate(messages) if protection.messages.get(m.index) is Kept.FIRST_REQUEST), 0)
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
    answers_calls = format_named(format).answers_calls
    while parts := _with_halves(messages, chosen) or (_behind_open_call(messages, chosen) if answers_calls else set()):
        chosen -= parts
        stay |= dict.fromkeys(parts, Kept.EXCHANGE)
    return _Chosen(sorted(chosen), stay)


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
    stay = {
        position
        for position in chosen
        for call in calls_in[position]
        if not exchanges[call] <= chosen or (position == newest and call not in answered)
    }
    waiting = list(stay)
    while waiting:
        for call in calls_in[waiting.pop()]:
            for other in exchanges[call] & chosen - stay:
                stay.add(other)
                waiting.append(other)
    return stay


def _behind_open_call(messages: Sequence[Message], chosen: set[int]) -> set[int]:
    """Chosen messages behind a call without a result that stays.

    To a client a summary is the user's next word, behind which it no longer answers the call but leaves it out.
    """
    answered = {block.answers for message in messages for block in message.blocks}
    for position, message in enumerate(messages):
        calls = {block.call_id for block in message.blocks if block.kind is BlockKind.TOOL_CALL}
        if position not in chosen and not calls <= answered:
            return {other for other in chosen if other > position}
    return set()


def _messages(
    text: str, messages: Sequence[Message], positions: Sequence[int], format: str, hash: str
) -> list[Message]:
    """The summary as a message and, where roles would not alternate otherwise, a line that leads on."""
    gone = set(positions)
    old = [messages[position] for position in positions]
    before = [message for message in messages[: positions[0]] if message.role not in STANDING_ROLES]
    after = next((m for p, m in enumerate(messages) if p > positions[0] and p not in gone), None)
    role = format_named(format).summary_role
    needs_bridge = False
    if role is None:
        role = Role.ASSISTANT if before and before[-1].role is Role.USER else Role.USER
        needs_bridge = after is not None and after.role is role and len(positions) > 1
    following = len(messages) - len(positions) - positions[0] + needs_bridge
    request = request_before(messages[: positions[0]])
    mark = SummaryMark(sum(message.turns for message in old), following, hash, request)
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


def _exchange(
    draft: Draft,
    config: PassConfig,
    selected: Selected,
    chosen: _Chosen,
    new: list[Message],
    by: str,
    before: Sequence[Message],
) -> list[Receipt]:
    tokens = draft.tokens_in(before)
    receipts = _kept(draft, config, chosen)
    for position in chosen.positions:
        message = draft.messages[position]
        receipts += [
            changed(config.id, message, number, SUMMARIZE, tokens[message.index, number], 0, selected.reason)
            for number in range(len(message.blocks))
        ]
    filled = {message.index for message in draft.messages if message.blocks}
    draft.summarize(chosen.positions, new)
    receipts += [
        Receipt(
            config.id, message.index, -1, None, None, None, SUMMARIZE, 0,
            draft.count.block(message.blocks[0]), reason=f"written by {by}",
        )
        for message in new
    ]  # fmt: skip
    return receipts + draft.tidy(config.id, filled)


def _kept(draft: Draft, config: PassConfig, chosen: _Chosen) -> list[Receipt]:
    return [
        kept(config.id, draft.messages[position], number, draft.count.block(block), why)
        for position, why in chosen.stay.items()
        for number, block in enumerate(draft.messages[position].blocks)
    ]
