"""Measure how full the context is: by the API's last count and what follows it, or else by our own count.

`Sizing` is a transcript measured for the decision to condense it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from ..config.models import Configuration
from ..config.own import UserConfiguration
from ..core.markers import is_marked, parse_summary
from ..core.transcript import FirstRequest, Message, Transcript
from ..core.values import STANDING_ROLES, Role, Usage
from ..formats import format_named
from ..money.prices import context_window
from ..tokens.counting import Counter, encoding_for
from ..tokens.factor import Factor, family_of, typical_of
from .decision import (
    LARGEST_BESIDE,
    UNKNOWN,
    CheckDecision,
    Window,
    WindowFlags,
    decide,
    most_sent,
    signs_of,
    window_of,
)

RECORDED: Final = "recorded usage"
ESTIMATED: Final = "estimated"
GIVEN: Final = "option"
SNAPSHOT: Final = "snapshot"
REQUEST: Final = "request"

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


class Sizing(Struct, frozen=True):
    """Inputs of the decision to condense, each computed on demand because that takes time.

    `beside` returns the tokens in use besides the counted messages, and the source of that figure. `may_fall_back` is
    called if a provider has failed.
    """

    window: Callable[[], Window]
    beside: Callable[[], tuple[int, str]]
    only_if_needed: bool = False
    may_fall_back: Callable[[], bool] = lambda: True

    @classmethod
    def of(
        cls,
        transcript: Transcript,
        configuration: Configuration,
        count: Counter,
        factor: Factor,
        *,
        user: Callable[[], UserConfiguration] = UserConfiguration,
        asked: WindowFlags = WindowFlags(),  # noqa: B008
        overhead: int | None = None,
        only_if_needed: bool = False,
    ) -> Sizing:
        """Measure a transcript. `overhead` is the user's figure for the tokens besides the messages."""
        return cls(
            lambda: window_of(transcript.model, configuration, user(), asked, signs_of(transcript)),
            lambda: beside_messages(transcript, count, factor, overhead),
            only_if_needed,
        )

    def decide(self, tokens: int, configuration: Configuration) -> CheckDecision:
        """Decide whether to condense a conversation of `tokens` model tokens."""
        beside, source = self.beside()
        return decide(self.window().sizes(tokens, beside, configuration, source))
