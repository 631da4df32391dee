"""Say how full the context is, and what a run means in money.

How full: the API's last count and what follows it, or else our own count. Money: which tokens stay cached, which are
written anew, and when that pays.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from datetime import datetime
from decimal import Decimal
from itertools import pairwise
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ..core.factor import Factor, Known, factor_of, family_of, typical_of
from ..core.markers import is_marked, parse_summary
from ..core.tokens import Counter, encoding_for
from ..core.transcript import FirstRequest, Message, Transcript
from ..core.values import STANDING_ROLES, Role, Usage
from ..core.wording import plural
from ..formats import format_named
from ..money import prices
from ..money.economics import NEVER, Economics, PrefixRewrite, Rates, weigh
from ..money.prices import LARGEST_BESIDE, Price, context_window, most_sent, signs_of
from ..passes.condensation import Condensation
from ..passes.prefix import shared_prefix

_SMALLEST: Final = Decimal("0.0001")
_LONG: Final = 1_000
"""Turns beyond which a digit after the point says nothing."""


_IN_JSON: Final = {"one_off": "one_time", "breakeven_turns": "pays_after_turns", "assumed": "assumptions"}


class Cost(Struct, frozen=True, rename=_IN_JSON):
    """Money in `currency`; null if a price is unknown or was not asked for.

    `spent` is the known cost of the calls for summaries (or would be, in a dry run). A turn is one request to the
    model. `one_off` comes on top of the first, with `spent` in it; `pays` is false for never.
    """

    currency: str = "USD"
    spent: Decimal = Decimal(0)
    one_off: Decimal | None = None
    next_turn_before: Decimal | None = None
    next_turn_after: Decimal | None = None
    breakeven_turns: float | None = None
    pays: bool | None = None
    prices: str | None = None
    assumed: list[str] = []


def digits(amount: Decimal) -> Decimal:
    """Return an amount of money for programs: without trailing zeros or an exponent, and without loss."""
    return Decimal(format(amount.normalize(), "f"))


def dollars(amount: Decimal | None) -> str:
    """Return an amount of dollars for people: with cents from a dollar on, with four digits below."""
    if amount is None:
        return "unknown"
    if not amount:
        return "$0"
    if amount < _SMALLEST:
        return f"<${_SMALLEST}"
    return f"${amount:,.2f}" if amount >= 1 else f"${amount:.4f}"


def pays_after(cost: Cost) -> str:
    """Say after how many turns a run has paid for its one-time cost."""
    if cost.pays is None:
        return "unknown"
    turns = cost.breakeven_turns
    if not cost.pays or turns is None:
        return "never"
    if turns <= 1:
        return "next turn"
    return f"{turns:,.0f} turns" if turns >= _LONG else f"{turns:,.1f} turns"


def cost_figures(cost: Cost, model: str | None, *, is_changed: bool) -> str:
    """Say the costs of one run in a line; empty if nobody asked for them."""
    if cost.prices is None:
        return ""
    if cost.next_turn_before is None:
        return unknown_price(model, cost.prices)
    if not is_changed:
        return f"Next turn: {dollars(cost.next_turn_before)}."
    pays = {
        "never": "never pays for itself",
        "unknown": "when it pays for itself is unknown",
        "next turn": "pays for itself next turn",
    }
    after = pays_after(cost)
    whole = plural(math.ceil(cost.breakeven_turns or 0), "turn")  # Nobody takes a part of one.
    when = pays.get(after, f"pays for itself after {whole}")
    return (
        f"Next turn: {dollars(cost.next_turn_before)} → {dollars(cost.next_turn_after)}; "
        f"one-time {dollars(cost.one_off)}, {when}."
    )


def unknown_price(model: str | None, table: str = "") -> str:
    """Say why there are no costs, and how to name a model with a known price."""
    if model is None:
        return "The model is unknown, so its price is too. Name it with --model."
    return f"The price of {model} is not known ({table}). --model NAME counts and prices the session as another one's."


_NOTHING: Final = Decimal(0)

PriceFor = Callable[[int], Price | None]
"""The price for requests of a number of tokens."""


class PriceSource(Struct, frozen=True):
    """The prices of one model at one time; `table` says where they are from."""

    price_for: PriceFor
    table: str

    @classmethod
    def of(cls, model: str | None, when: datetime, *, lives_hour: bool = False) -> PriceSource:
        """`lives_hour`: what is written to the cache lives for an hour."""
        return cls(
            lambda tokens: prices.price_of(model, when, tokens, lives_hour=lives_hour), str(prices.table(when.date()))
        )


def rewrite_of(result: Condensation, count: Counter, overhead: int) -> PrefixRewrite:
    """Return the model's tokens before the first changed block, overhead included, and the rest.

    They are what is billed, also where plain counts are shown.
    """
    is_bare = result.factor.known is Known.BARE
    shown = (factor_of(result.before, count) if is_bare else result.factor).shown
    kept = shown(shared_prefix(result.before.messages, result.transcript.messages, count))
    return PrefixRewrite(overhead + kept, shown(result.tokens_before) - kept, shown(result.tokens_after) - kept)


def weigh_run(
    result: Condensation, count: Counter, overhead: int, source: PriceSource, summaries: Decimal = _NOTHING
) -> Economics | None:
    """Return the costs and break-even of a run and its `summaries` in dollars; None if the price is unknown."""
    rewrite = rewrite_of(result, count, overhead)
    before, after = source.price_for(rewrite.before), source.price_for(rewrite.after)
    if before is None or after is None:
        return None
    return weigh(rewrite, Rates.of(before), Rates.of(after), summaries)


def cost_of(
    result: Condensation, count: Counter, overhead: int, source: PriceSource, summaries: Decimal = _NOTHING
) -> Cost:
    """Return the facts of `weigh_run` for the report."""
    return in_report(weigh_run(result, count, overhead, source, summaries), source, summaries)


def in_report(economics: Economics | None, source: PriceSource, summaries: Decimal = _NOTHING) -> Cost:
    """Return the cost and saving of a rewrite for the report; `summaries` are the dollars of its calls."""
    spent = digits(summaries)
    if economics is None:
        return Cost(spent=spent, prices=source.table)
    warm = economics.warm
    return Cost(
        spent=spent,
        one_off=as_money(economics.one_off),
        next_turn_before=as_money(economics.next_turn_before),
        next_turn_after=as_money(economics.next_turn_after),
        breakeven_turns=None if warm is None or warm == NEVER else round(float(warm), 2),
        pays=None if warm is None else warm != NEVER,
        prices=source.table,
        assumed=assumptions(source.price_for(0)),
    )


def as_money(amount: Decimal | None) -> Decimal | None:
    """Return dollars as `digits` has them; None if they are unknown."""
    return None if amount is None else digits(amount)


def assumptions(price: Price | None) -> list[str]:
    """List the assumptions of a model's costs in sentences."""
    if price is None:
        return []
    if price.cache_read is None:
        return ["No price for cached input is known, so each turn is charged at the full input price."]
    life = "an hour, as the file records" if price.lives_hour and price.cache_write_1h is not None else "5 minutes"
    sentences = [f"Assumes a warm cache ({life}); with a cold one, condensing pays at once."]
    if price.cache_write is None:
        sentences.append("No price for cache writes is known, so the one-time cost is unknown.")
    return [
        *sentences,
        "One-time cost: re-caching everything after the first change.",
        "New messages and answers cost the same either way and are left out.",
        *price.assumed,
    ]


RECORDED: Final = "recorded usage"
ESTIMATED: Final = "estimated"
GIVEN: Final = "option"
SNAPSHOT: Final = "snapshot"
REQUEST: Final = "request"
UNKNOWN: Final = "unknown"

_SMALLER: Final = 0.9
"""A request that takes less than this part of the one before it was sent after something had gone. Old thinking, which
the API leaves out by itself, makes less of a difference."""

_OVER_WINDOW: Final = 1.1
"""A client may name what it fills of a window as the window."""

_MOST_BESIDE: Final = 60_000
"""The same beside a summary, which may be all that is left of much more."""
_LEAST: Final = 0.5
"""Of what is counted: a request that is said to have taken less took something else."""


class InUse(Struct, frozen=True):
    """Tokens of the next request, as far as it is known, and how they are."""

    tokens: int
    source: str


def in_use(transcript: Transcript, count: Counter, factor: Factor, given: int | None = None) -> InUse:
    """Return the model's tokens that a transcript takes up. An overhead `given` by the user overrides usage."""
    usage = _converted(_standing(transcript), transcript) if given is None else None
    if usage is None or not _is_believable(usage, transcript, count, factor):
        tokens = factor.shown(count.transcript(transcript))
        return InUse(tokens + overhead_of(transcript, count, factor, given)[0], ESTIMATED)
    said = sum(count.message(message) for message in transcript.messages if message.index == usage.message)
    # What is recorded while an answer streams counts only its beginning.
    answered = max(usage.output_tokens, factor.shown(said))
    following = sum(count.message(message) for message in transcript.messages if message.index > usage.message)
    return InUse(usage.input_tokens + answered + factor.shown(following), RECORDED)


def remarks_on_usage(transcript: Transcript, count: Counter, factor: Factor, given: int | None = None) -> list[str]:
    """Remarks on recorded usage: that it is another model's, or that it cannot be true."""
    told = _standing(transcript) if given is None else None
    usage = _converted(told, transcript)
    if told is None or usage is None:
        return []
    if not _is_believable(usage, transcript, count, factor):
        counted = factor.shown(count.transcript(transcript))
        return [
            f"The recorded usage ({told.input_tokens:,} tokens) cannot be right for what the file holds "
            f"({counted:,} tokens). It was ignored."
        ]
    if usage is told:
        return []
    return [f"The recorded usage is in tokens of {told.model}; it was converted to those of {transcript.model}."]


def _converted(usage: Usage | None, transcript: Transcript) -> Usage | None:
    """Usage in tokens of the model that goes on, where another one with another tokenizer was asked before."""
    share = _tokens_for_one(usage.model, transcript.model) if usage else 1.0
    if usage is None or share == 1:
        return usage
    tokens = (round(share * usage.input_tokens), round(share * usage.output_tokens))
    return replace(usage, input_tokens=tokens[0], output_tokens=tokens[1])


def _tokens_for_one(recorded: str | None, model: str | None) -> float:
    """Tokens of a model for one of another that was recorded, as far as both are known."""
    if recorded == model or not all(
        each and (family_of(each) or encoding_for(each).exact) for each in (recorded, model)
    ):
        return 1.0
    return typical_of(model) / typical_of(recorded)


def _is_believable(usage: Usage, transcript: Transcript, count: Counter, factor: Factor) -> bool:
    """Whether that many tokens may have been sent: about the messages before, with system prompt and tools.

    A format may still hold the usage of a text that a summary of ours replaced.
    """
    sent = [message for message in transcript.messages if message.index < usage.message]
    counted = factor.shown(sum(map(count.message, sent)))
    most = 2 * counted + _MOST_BESIDE if any(map(_has_our_summary, sent)) else None
    is_enough = counted * _LEAST <= usage.input_tokens
    return is_enough and (most is None or usage.input_tokens <= most) and _may_be_sent(usage, transcript, counted)


def _may_be_sent(usage: Usage, transcript: Transcript, counted: int) -> bool:
    """Whether the recorded usage fits the model's window and the size of the file."""
    sent = usage.input_tokens
    if sent <= 2 * counted + LARGEST_BESIDE:  # Looking the window up takes a fifth of a second.
        return True
    signs = signs_of(transcript)
    window = signs.named or (None if transcript.begins_in_middle else context_window(transcript.model))
    is_too_small = window is not None and sent > _OVER_WINDOW * window
    return not is_too_small and sent <= most_sent(transcript)


def beside_messages(
    transcript: Transcript, count: Counter, factor: Factor, given: int | None = None
) -> tuple[int, str]:
    """Return the model's tokens in use besides the counted messages, and their source.

    It makes up for miscounting.
    """
    found = in_use(transcript, count, factor, given)
    return found.tokens - factor.shown(count.transcript(transcript)), found.source


def overhead_of(transcript: Transcript, count: Counter, factor: Factor, given: int | None = None) -> tuple[int, str]:
    """Return the model's tokens that every request carries besides the messages, and their source.

    The user's word goes before a snapshot of system prompt and tools, then come recorded usage, which counts the tools
    too, and the rest of what the file holds of a request.
    """
    if given is not None:
        return given, GIVEN
    if transcript.is_envelope_whole:
        return factor.shown(count(transcript.envelope)), SNAPSHOT
    recorded = _recorded_overhead(transcript, count, factor)
    if recorded is not None:
        return recorded, RECORDED
    if transcript.envelope:
        return factor.shown(count(transcript.envelope)), REQUEST
    return 0, UNKNOWN


def _recorded_overhead(transcript: Transcript, count: Counter, factor: Factor) -> int | None:
    """Return the overhead of the first recorded request; None if its messages are not all in the file."""
    usage, first = transcript.first_usage, transcript.first_request
    if usage is not None:
        sent = tuple(message for message in transcript.messages if message.index < usage.message)
        # If a summary of ours is there now, the usage counted the messages that it replaced.
        if not any(map(_has_our_summary, sent)):
            first = None if transcript.begins_in_middle else FirstRequest(sent, usage.input_tokens, usage.model)
    if first is None or not _is_beginning(first.messages):
        return None
    counted = factor.shown(sum(map(count.message, first.messages)))
    took = round(_tokens_for_one(first.model, transcript.model) * first.input_tokens)
    if took < counted * _LEAST or took > most_sent(transcript):
        return None
    found = max(0, took - counted)
    return None if _fills_window(found, transcript.model) else found


def _is_beginning(messages: Sequence[Message]) -> bool:
    """Whether these messages can begin a conversation: no answer first, no result without its call."""
    first = next((message for message in messages if message.role not in STANDING_ROLES), None)
    if first is None or first.is_summary:
        return first is not None
    return first.role is not Role.ASSISTANT and not first.answers_calls


def _fills_window(tokens: int, model: str | None) -> bool:
    """Whether the tokens leave nothing of the listed window: then parts of the conversation are missing in the file."""
    if tokens <= LARGEST_BESIDE:  # Looking the window up takes a fifth of a second.
        return False
    window = context_window(model)
    return window is not None and tokens >= window


def _standing(transcript: Transcript) -> Usage | None:
    """Return the newest usage, unless content before it has changed since.

    Every cut leaves a mark. If a client recorded usage after the mark, its request took less than the one before.
    """
    usages = transcript.usages
    if not usages or usages[-1].is_older:
        return None
    newest = usages[-1]
    before = [message for message in transcript.messages if message.index < newest.message]
    if any(message.is_summary for message in transcript.messages[len(before) :]):
        return None
    knows_older = format_named(transcript.format).compaction is not None
    marked = [message.index for message in before if _is_marked(message, besides_summary=knows_older)]
    if not marked:
        return newest
    anew = [
        after.message
        for earlier, after in pairwise(usages)
        if earlier.is_older or after.input_tokens < _SMALLER * earlier.input_tokens
    ]
    return newest if anew and marked[-1] < anew[-1] else None


def _is_marked(message: Message, *, besides_summary: bool) -> bool:
    """Whether part of a message was cut, or it holds a reference.

    A summary is such a mark too, unless the format tells which usage is older than it.
    """
    if besides_summary and _has_our_summary(message):
        return False
    return any(is_marked(block.content) for block in message.blocks)


def _has_our_summary(message: Message) -> bool:
    return any(block.summarizes and parse_summary(block.text) for block in message.blocks)
