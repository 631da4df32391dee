"""Say why lines of a text went or stayed, as a receipt carries it."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace


class Reason(StrEnum):
    """Why a line went, and from `OWN_WORDS` on why one stayed."""

    SEEN_AGAIN = "seen_again"
    REPEATED = "repeated"
    REPLACED = "replaced"
    OVERWRITTEN = "overwritten"
    UNNAMED = "unnamed"
    NAMED_ELSEWHERE = "named_elsewhere"
    LESS_WORTH = "less_worth"
    OWN_WORDS = "own_words"
    UNSOLVED_ERROR = "unsolved_error"
    EDITED_LATER = "edited_later"
    NEWEST_STATE = "newest_state"
    NAMED_AGAIN = "named_again"
    ASKED_FOR = "asked_for"
    NAMED_BEFORE = "named_before"
    SAID_HERE_ONLY = "said_here_only"
    DECISION = "decision"
    BESIDE = "beside"
    LIKELY = "likely"


class LineReason(Struct, frozen=True):
    """A reason, and how many lines have it.

    `message` is the index of the message that it points to, None where it points to none; `name` is what that one
    names, or what nothing else does.
    """

    reason: Reason
    message: int | None = None
    name: str = ""
    lines: int = 1


class ReasonedLine(Struct, frozen=True):
    """A line of a text that was cut: whether it stays, and why."""

    text: str
    stays: bool
    why: LineReason


def tally(reasons: Iterable[LineReason]) -> tuple[LineReason, ...]:
    """Reasons with what they point to, each once with the number of its lines, that of the most lines first."""
    lines: Tally[tuple[Reason, int | None]] = Tally()
    first: dict[tuple[Reason, int | None], LineReason] = {}
    for why in reasons:
        lines[why.reason, why.message] += why.lines
        first.setdefault((why.reason, why.message), why)
    return tuple(replace(first[key], lines=number) for key, number in lines.most_common())
