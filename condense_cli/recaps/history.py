"""The whole conversation that a file holds, also what its client has compacted; and the two sides of a compaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from ..core.transcript import Message, Transcript
from ..formats.compacted import CompactionKind, compactions, stretches
from ..lossless.decode import decode

_MOST: Final = 8
"""Compactions that are gone behind. Each takes one more reading of the file; what was before is in their summaries."""


class Lost(Struct, frozen=True):
    """What stood before the last compaction, and what the model was given since: what was left of that, and new."""

    before: Sequence[Message]
    since: Sequence[Message]


def whole(transcript: Transcript) -> Sequence[Message]:
    """All that was said in a file, in order, without the summaries of its client, references resolved."""
    found = compactions(transcript.source, transcript.format) or []
    messages: list[Message] = []
    for number, stretch in enumerate(stretches(transcript, found[-_MOST:])):
        if number == 0:
            messages += stretch.before.messages if stretch.before else stretch.after
        messages += stretch.later
    return decode(messages or transcript.messages).messages


def lost(transcript: Transcript) -> Lost | None:
    """The two sides of the last compaction that left less; None where the file records none that can be looked into."""
    found = [
        one for one in compactions(transcript.source, transcript.format) or [] if one.kind is not CompactionKind.CLEARED
    ]
    for stretch in stretches(transcript, found[-1:]):
        if stretch.before is not None and not stretch.is_undone:
            return Lost(decode(stretch.before.messages).messages, decode([*stretch.after, *stretch.later]).messages)
    return None


def ends_in_compaction(transcript: Transcript) -> bool:
    """Whether the newest a file holds is a compaction, with nothing said since."""
    found = compactions(transcript.source, transcript.format) or []
    return any(
        one.compacted.kind is not CompactionKind.CLEARED
        and one.before is not None
        and not one.is_undone
        and not one.later
        for one in stretches(transcript, found[-1:])
    )
