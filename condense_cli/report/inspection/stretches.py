"""The messages that a summary stands for: in the original, or before the summary in a file that grew by it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from ...core.markers import find_stretch, parse_summary
from ...core.transcript import Message, Transcript
from ...core.values import Container
from ...errors import TranscriptError
from ...formats import parse
from ...lossless.decode import decode


def summarized(transcript: Transcript, wanted: str) -> tuple[Transcript, tuple[Message, ...]]:
    """The messages that a summary with this hash stands for, and the conversation that they are in; or no messages."""
    for conversation in (transcript, *_before_summaries(transcript)):
        hashes = [message.hash for message in decode(conversation.messages).messages]
        found = find_stretch(hashes, wanted)
        if found:
            return conversation, conversation.messages[found[0] : found[1] + 1]
    return transcript, ()


def summary_counts(transcript: Transcript, wanted: str) -> int:
    """How many messages the summary with this hash says that it stands for; 0 where there is none."""
    marks = (parse_summary(block.text) for _, block in transcript.blocks() if block.summarizes)
    return next((mark.messages for mark in marks if mark and mark.hash == wanted), 0)


def _before_summaries(transcript: Transcript) -> Iterator[Transcript]:
    """The conversation as it was before each of its summaries: some clients leave that in the file and append to it."""
    end = _end_before_summary(transcript)
    if end <= 0 or transcript.source.container is not Container.LINES:
        return
    data = transcript.source.data[: transcript.source.spans[end][0]]
    with suppress(TranscriptError):
        before = parse(data, format=transcript.format, lenient=True)
        yield before
        yield from _before_summaries(before)


def _end_before_summary(transcript: Transcript) -> int:
    """The record where what was written with a summary begins; 0 where there is none."""
    records = [block.place.record for _, block in transcript.blocks()]
    summaries = [block.place.record for _, block in transcript.blocks() if block.summarizes]
    if not summaries:
        return 0
    # Claude Code sends what follows the last boundary; there copies of earlier messages may stand before the summary.
    return min(records) - 1 if transcript.format == "claude-code" else summaries[0]
