"""The recap of a transcript, or of what its last compaction lost, in the model's own tokens."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from ..core.arguments import COUNT, COUNTER, a_transcript, with_arguments
from ..core.factor import Factor, factor_of
from ..core.tokens import BUILT_IN, Counter, CounterName
from ..core.transcript import Transcript
from ..errors import CondenseError, UsageError
from .history import lost as lost_of
from .history import whole
from .recap import LEAST, Recap
from .recap import recap as _recap

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
