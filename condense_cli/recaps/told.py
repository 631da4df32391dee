"""Recap a transcript, or what its last compaction lost, in the model's own tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from ..core.arguments import COUNT, COUNTER, a_transcript, with_arguments
from ..core.factor import Factor, factor_of
from ..core.tokens import BUILT_IN, Counter, CounterName
from ..core.transcript import Message, Transcript
from ..errors import CondenseError, UsageError
from ..formats.compacted import CompactionKind, compactions, stretches
from ..lossless.decode import decode
from .recap import LEAST, Recap
from .recap import recap as _recap

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


def lost_of(transcript: Transcript) -> Lost | None:
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


TOKENS: Final = 4_000
"""What a recap may have where nobody says how much."""

ENOUGH: Final = 1_200
"""As few as any model can do with, whatever its tokens are."""


class Told(Struct, frozen=True):
    """A recap with the `budget` it was given, both in the model's tokens, and how those are known."""

    recap: Recap
    budget: int
    tokens: int
    factor: Factor


@with_arguments(tokens=COUNT, counter=COUNTER)
def recap(
    transcript: Transcript, tokens: int | str = TOKENS, *, lost: bool = False, counter: CounterName = BUILT_IN
) -> Told:
    """What someone who goes on needs of all that a file holds; with `lost`, what the last compaction lost of it.

    The user's words come as instructions, all else as data behind a fence that no text can close. Raises UsageError
    for a budget that has no room for anything, and CondenseError where `lost` and the file records no compaction.
    """
    assert not isinstance(tokens, str)  # Of 4k the decorator makes a number.
    count = Counter.of(a_transcript(transcript), counter)
    factor = factor_of(transcript, count)
    if factor.bare(tokens) < LEAST:
        least = factor.shown(LEAST)
        raise UsageError(f"{tokens:,} tokens are too few for a recap.", f"Use {least:,} or more.")
    if lost:
        sides = lost_of(transcript)
        if sides is None:
            raise CondenseError(
                "The file records no compaction that can be compared with what came before.",
                "Without --lost, the recap covers the whole file.",
            )
        found = _recap(sides.before, factor.bare(tokens), count, sides.since)
    else:
        found = _recap(whole(transcript), factor.bare(tokens), count)
    return Told(found, tokens, factor.shown(found.tokens), factor)
