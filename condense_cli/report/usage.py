"""How full the context is: what the API counted last and what follows it, or else an estimate."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

from msgspec import Struct

from ..formats import format_named
from ..markers import PREFIX, REFERENCE_PREFIX, parse_summary
from ..tokens import Counter
from ..transcript import Message, Transcript, Usage

RECORDED: Final = "recorded usage"
ESTIMATED: Final = "estimated"
GIVEN: Final = "option"
SNAPSHOT: Final = "snapshot"

_MARK: Final = re.compile(r"\[(?:condense:|see) [^\]\n]{1,300}#[0-9a-f]{6,8}\]")
"""A marker or a reference, wherever it stands: inside the parameters of a call it has no line of its own."""
_SMALLER: Final = 0.9
"""A request that takes less than this part of the one before it was sent after something had gone. Old thinking, which
the API leaves out by itself, makes less of a difference."""


class InUse(Struct, frozen=True):
    """Tokens of the next request, as far as it is known, and how they are."""

    tokens: int
    source: str


def in_use(transcript: Transcript, count: Counter, given: int | None = None) -> InUse:
    """The tokens that a transcript takes as it was read. An overhead that the user names goes before usage."""
    usage = _standing(transcript) if given is None else None
    if usage is None:
        return InUse(count.transcript(transcript) + overhead_of(transcript, count, given)[0], ESTIMATED)
    said = sum(count.message(message) for message in transcript.messages if message.index == usage.message)
    # What is recorded while an answer streams counts only its beginning.
    answered = max(usage.output_tokens, said)
    following = sum(count.message(message) for message in transcript.messages if message.index > usage.message)
    return InUse(usage.input_tokens + answered + following, RECORDED)


def beside_messages(transcript: Transcript, count: Counter, given: int | None = None) -> tuple[int, str]:
    """What is in use besides the messages as they are counted, and how that is known. It makes up for miscounting."""
    found = in_use(transcript, count, given)
    return found.tokens - count.transcript(transcript), found.source


def overhead_of(transcript: Transcript, count: Counter, given: int | None = None) -> tuple[int, str]:
    """Tokens that every request carries besides the messages, and where that is known from.

    What the user names goes before what the file tells. Usage counts tool definitions too, which a file may not hold.
    """
    if given is not None:
        return given, GIVEN
    if transcript.is_envelope_whole:
        return count(transcript.envelope), SNAPSHOT
    usage, first = transcript.first_usage, transcript.first_request
    if usage is not None:
        sent = [message for message in transcript.messages if message.index < usage.message]
        # Where a summary of ours stands there by now, the usage counted what that took the place of.
        if not any(map(_has_our_summary, sent)):
            return max(0, usage.input_tokens - sum(map(count.message, sent))), RECORDED
    if first is not None:
        return max(0, first.input_tokens - sum(map(count.message, first.messages))), RECORDED
    if transcript.envelope:
        return count(transcript.envelope), "request"
    return 0, "unknown"


def _standing(transcript: Transcript) -> Usage | None:
    """The newest usage, unless what stands before it has changed since it was recorded.

    Whoever cuts a text leaves a mark there. Usage that was recorded behind the mark, by a client that went on, shows
    by a request which took less than the one before.
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
    """Whether something of a message was left out, or a reference stands in it.

    A summary is a mark of its own, but where the format tells which usage is older than it.
    """
    if besides_summary and _has_our_summary(message):
        return False
    return any(
        (PREFIX in block.content or REFERENCE_PREFIX in block.content) and _MARK.search(block.text)
        for block in message.blocks
    )


def _has_our_summary(message: Message) -> bool:
    return any(block.is_summary and parse_summary(block.text) for block in message.blocks)
